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
from tilewright.simulator.compile.buffer_memory import BufferMap
from tilewright.simulator.compile.code.code_tables import compile_codes
from tilewright.simulator.compile.fabric.network import FifoNetwork
from tilewright.simulator.compile.fabric.topology import network_of
from tilewright.simulator.compile.store import (
    ProgramStore,
)
from tilewright.simulator.compile.store_layout import (
    StoreLayout,
)
from tilewright.simulator.compile.table_blocks import CodeLayout, ProgramTables
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.text.text_places import place_in_text


@dataclass(frozen=True, eq=False)
class CompiledProgram:
    """The result of `compile_program`: one program on the machine of one profile."""

    program: Program
    profile: Profile
    tables: ProgramTables
    """Operations, operands and instructions of every code."""
    layouts: tuple[CodeLayout, ...]
    """What the rows of each code's tables stand for, in the order of `program.codes`."""
    network: FifoNetwork
    """Queues, router buffers and edge ports as FIFOs that feed each other."""

    @cached_property
    def program_store(self) -> ProgramStore:
        """The words of the tables and the network in one array, laid out at the first use."""
        return ProgramStore(self.program, self.layouts, self.tables, self.network)

    @property
    def parts(self) -> StoreLayout:
        """Where each table begins in the store."""
        return self.program_store.parts

    @property
    def store(self) -> at.Table:
        """The store at cycle 0, before data are loaded; a run works on a copy."""
        return self.program_store.store

    @property
    def buffers(self) -> BufferMap:
        """Where the buffers of every element are in the SRAM of all elements."""
        return BufferMap(self.program, self.parts.element.view(self.store)[:, at.E_MEMORY])

    @property
    def rebinds_queues(self) -> bool:
        """Whether a code looks at what is in its queues while it runs: they cannot be merged."""
        return any(layout.rebinds for layout in self.layouts)


def compile_program(program: Program, profile: Profile) -> CompiledProgram:
    """Check a program against a profile and compile it.

    Raises ProgramError, with the line of the program's text if it was read from one.
    """
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
