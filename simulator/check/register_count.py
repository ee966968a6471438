"""How many data-structure registers a code needs, those included that a compiler would allocate.

Named registers and FIFOs keep theirs for the whole program. The operations of a microthread share
registers, and so do those of the main thread: they load what they need before every operation.
A lone source is in file src1, of two sources the first is in src0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tilewright.simulator.check.register_check import used_registers
from tilewright.simulator.descriptors.register_use import RegisterUse
from tilewright.simulator.instructions.table import kind_of
from tilewright.simulator.isa.dsd import FILES, Fifo
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.code_parts import all_instructions, all_loads
from tilewright.simulator.program.program import ElementCode

KINDS: Final = (*FILES, "extended", "stride")


@dataclass(frozen=True, slots=True)
class RegisterNeed:
    """How many registers of one kind a code needs.

    `kind`: dest, src0, src1, extended or stride; `named`: by the program; `fifos`: for FIFOs
    without explicit registers; `operations`: for operations on descriptors that are not loaded by
    hand.
    """

    kind: str
    named: int
    fifos: int
    operations: int

    @property
    def total(self) -> int:
        """Registers of this kind in all: named ones, of FIFOs, and of operations."""
        return self.named + self.fifos + self.operations


def register_needs(code: ElementCode) -> tuple[RegisterNeed, ...]:
    """Return how many registers of each kind (dest, src0, src1, extended, stride) a code needs.

    Operations of one thread (the main one or a microthread) share their registers.
    """
    named = _named(code)
    fifos = sum(isinstance(d, Fifo) and d.dest is None for d in code.dsds)
    greatest: dict[tuple[int, str], int] = {}
    for use in _register_uses(code):
        for kind, count in use.counts.items():
            key = (use.thread, kind)
            greatest[key] = max(greatest.get(key, 0), count)
    return tuple(
        RegisterNeed(
            kind,
            len(named[kind]),
            fifos if kind in ("dest", "src1", "extended") else 0,
            sum(count for (_, used), count in greatest.items() if used == kind),
        )
        for kind in KINDS
    )


def check_register_count(code: ElementCode, profile: Profile) -> None:
    """Raise ProgramError if a code needs more registers than an element of the machine has."""
    for need in register_needs(code):
        limit = {"extended": profile.xdsr_registers, "stride": profile.stride_registers}.get(
            need.kind, profile.dsr_registers
        )
        if need.total > limit:
            registers = (
                f"registers of file {need.kind}" if need.kind in FILES else f"{need.kind} registers"
            )
            raise ProgramError(
                f"code {code.name}: needs {need.total} {registers} ({need.named} named, "
                f"{need.fifos} of FIFOs, {need.operations} of operations), "
                f"an element of {profile.name} has {limit}",
                value=need.total,
                instead="fewer named registers, FIFOs or microthreads",
            )


def _named(code: ElementCode) -> dict[str, set[int]]:
    named: dict[str, set[int]] = {kind: set() for kind in KINDS}
    for register, _ in used_registers(code):
        named[register.file].add(register.id)
    for load in all_loads(code):
        named["extended"] |= set() if load.xdsr is None else {load.xdsr}
        named["stride"] |= set(load.strides)
    named["extended"] |= {d.xdsr for d in code.dsds if isinstance(d, Fifo) and d.xdsr is not None}
    return named


def _register_uses(code: ElementCode) -> Iterator[RegisterUse]:
    """Yield what the instructions take beside the registers that they name."""
    for task, instruction in all_instructions(code):
        registers = kind_of(instruction).registers
        use = None if registers is None else registers(instruction, code, task.name)
        if use is not None:
            yield use
