"""A program compiled for a profile: what the engines read, and where each thing of the program is.

The tables hold codes, the network holds queues and routers; the store joins both in one array of
words, in which tables refer to each other by address. The store is laid out when it is first asked
for: the fast engine finds the times of a program without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tilewright.simulator.check.resources import check_resources
from tilewright.simulator.check.validate import check_program
from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.assumed_figures import assumed_figures
from tilewright.simulator.compile.buffer_memory import BufferMap
from tilewright.simulator.compile.code.code_tables import compile_codes
from tilewright.simulator.compile.fabric.network import FifoNetwork
from tilewright.simulator.compile.fabric.queue_fusion import Ids, merge_queues
from tilewright.simulator.compile.fabric.topology import network_of
from tilewright.simulator.compile.store import ProgramStore, store_layout
from tilewright.simulator.compile.store_layout import StoreLayout
from tilewright.simulator.compile.table_blocks import CodeLayout, ProgramTables
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.text.text_places import place_in_text


@dataclass(frozen=True, eq=False)
class CompiledProgram:
    """Hold one program compiled for the machine of one profile, ready for both engines.

    - `program`: codes, placement, routes and edge ports.
    - `profile`: cycles and sizes of the machine.
    - `tables`: rows of operations, operands and instructions of every code.
    - `layouts`: per code, in the order of `program.codes`, what the rows stand for.
    - `network`: queues, router buffers and edge ports as FIFOs that feed each other.
    """

    program: Program
    profile: Profile
    tables: ProgramTables
    layouts: tuple[CodeLayout, ...]
    network: FifoNetwork

    @cached_property
    def program_store(self) -> ProgramStore:
        """The store: one int64 array with the tables and the network, laid out at the first use."""
        return self._store_of(self.network)

    @cached_property
    def merged(self) -> tuple[ProgramStore, Ids]:
        """A store in which lines of queues are merged, and the FIFO that each became part of.

        It has the same tables as `program_store`, at the same places (`merge_queues`).
        """
        network, ends = merge_queues(self.network)
        return self._store_of(network), ends

    @cached_property
    def assumed(self) -> tuple[str, ...]:
        """The assumed figures of the profile that results of the program rest on."""
        return assumed_figures(self.program, self.profile)

    @cached_property
    def parts(self) -> StoreLayout:
        """Where each table is in the store (the engine's int64 array): start, rows, width."""
        return store_layout(self.tables, self.network, self.program.placement.ravel())

    def _store_of(self, network: FifoNetwork) -> ProgramStore:
        codes = self.program.placement.ravel()
        return ProgramStore(codes, self.layouts, self.tables, network, self.parts)

    @property
    def store(self) -> at.Table:
        """The engine's int64 array at cycle 0, before data are loaded; a run works on a copy."""
        return self.program_store.store

    @property
    def buffers(self) -> BufferMap:
        """Where the named buffers of every element are in the memory of all elements."""
        return BufferMap(self.program, self.parts.element.view(self.store)[:, at.E_MEMORY])

    @property
    def rebinds_queues(self) -> bool:
        """Whether a code binds queues to other colors or waits until they are empty.

        Such a program looks at what is in its queues, so the engine may not merge lines of queues
        into one.
        """
        return any(layout.rebinds for layout in self.layouts)


def _check_kinds(program: object, profile: object) -> None:
    """Raise ProgramError for what is no program (such as its text) or no profile (its name)."""
    if not isinstance(program, Program):
        raise ProgramError(
            "this is no program",
            value=type(program).__name__,
            instead="parse_program(text), or what ProgramBuilder.build() returns",
        )
    if not isinstance(profile, Profile):
        raise ProgramError(
            "this is no machine profile", value=profile, instead='load_profile("wse3-sdk-sim")'
        )


def compile_program(program: Program, profile: Profile) -> CompiledProgram:
    """Check a program against the machine of a profile, and compile it for the engines.

    Raises ProgramError for what is not valid, or does not exist or fit on the machine; it names the
    line of the program's text if the program was read from one.
    """
    _check_kinds(program, profile)
    try:
        check_program(program)
        check_resources(program, profile)
        colors = {color.name: color.id for color in program.colors}
        tables, layouts = compile_codes(program.codes, profile, colors)
        network = network_of(program, layouts, profile)
    except ProgramError as error:
        error.where = error.where or place_in_text(program, error.what, error.about)
        raise
    return CompiledProgram(program, profile, tables, layouts, network)
