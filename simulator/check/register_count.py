"""How many data-structure registers a code needs, those included that a compiler would allocate.

Named registers and FIFOs keep theirs for the whole program. The operations of a microthread share
registers, and so do those of the main thread: they load what they need before every operation.
A lone source is in file src1, of two sources the first is in src0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from tilewright.simulator.check.load_check import registers_needed
from tilewright.simulator.check.register_check import used_registers
from tilewright.simulator.isa.dsd import FILES, Circbuf, Fabin, Fabout, Fifo, Mem4d
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.memo import ValueCache
from tilewright.simulator.isa.operands import (
    ResolvedOperand,
    ResolvedOperation,
    resolve,
    resolve_map,
)
from tilewright.simulator.isa.operations import MAP
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.instructions import instructions
from tilewright.simulator.program.loads import all_loads
from tilewright.simulator.program.program import DsdOperation, ElementCode, Map

_NEEDED: Final = ValueCache(1024)
KINDS: Final = (*FILES, "extended", "stride")


@dataclass(frozen=True, slots=True)
class RegisterNeed:
    """Registers of one kind: named by the program, of FIFOs, and of operations per thread."""

    kind: str
    named: int
    fifos: int
    operations: int

    @property
    def total(self) -> int:
        return self.named + self.fifos + self.operations


def register_needs(code: ElementCode) -> tuple[RegisterNeed, ...]:
    """Return what a code needs of each kind: dest, src0, src1, extended, stride."""
    named = _named(code)
    fifos = sum(isinstance(d, Fifo) and d.dest is None for d in code.dsds)
    most: dict[tuple[int, str], int] = {}
    for resolved in _operations(code):
        needed: dict[str, int] = _NEEDED.of(resolved, partial(_operation, resolved))
        for kind, count in needed.items():
            key = (_thread(resolved), kind)
            most[key] = max(most.get(key, 0), count)
    return tuple(
        RegisterNeed(
            kind,
            len(named[kind]),
            fifos if kind in ("dest", "src1", "extended") else 0,
            sum(count for (_, found), count in most.items() if found == kind),
        )
        for kind in KINDS
    )


def check_register_count(code: ElementCode, profile: Profile) -> None:
    """Refuse a code that needs more registers than an element has. Raises ProgramError."""
    for need in register_needs(code):
        limit = {"extended": profile.xdsr_registers, "stride": profile.stride_registers}.get(
            need.kind, profile.dsr_registers
        )
        if need.total > limit:
            what = (
                f"registers of file {need.kind}" if need.kind in FILES else f"{need.kind} registers"
            )
            raise ProgramError(
                f"code {code.name}: needs {need.total} {what} ({need.named} named, {need.fifos} of "
                f"FIFOs, {need.operations} of operations), "
                f"an element of {profile.name} has {limit}",
                value=need.total,
                instead="fewer named registers, FIFOs or microthreads",
            )


def _named(code: ElementCode) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {kind: set() for kind in KINDS}
    for register, _ in used_registers(code):
        found[register.file].add(register.id)
    for load in all_loads(code):
        found["extended"] |= set() if load.xdsr is None else {load.xdsr}
        found["stride"] |= set(load.strides)
    found["extended"] |= {d.xdsr for d in code.dsds if isinstance(d, Fifo) and d.xdsr is not None}
    return found


def _operations(code: ElementCode) -> Iterator[ResolvedOperation]:
    for task, instruction in instructions(code):
        if isinstance(instruction, DsdOperation):
            yield resolve(code, task.name, instruction)
        elif isinstance(instruction, Map):
            yield resolve_map(code, task.name, instruction)


def _thread(resolved: ResolvedOperation) -> int:
    """Return the microthread of an operation, -1 for the main thread."""
    source = resolved.source
    if not source.asynchronous:
        return -1
    queues = [o.dsd.queue for o in resolved.operands if isinstance(o.dsd, Fabin | Fabout)]
    return source.microthread if source.microthread is not None else (*queues, -1)[0]


def _operation(resolved: ResolvedOperation) -> dict[str, int]:
    """Return the registers that an operation's descriptors are loaded into, by kind."""
    sources = [source for source in resolved.sources if source.letter == "D"]
    placed = [("dest", resolved.dest)]
    files = FILES[-len(sources) :] if sources else ()
    if resolved.operation is MAP:  # every input has a register of its own
        files = ("src1",) * len(sources)
    placed += zip(files, sources, strict=True)
    found: dict[str, int] = {}
    for file, operand in placed:
        if operand.dsd is None or isinstance(operand.dsd, Fifo):
            continue
        for kind, count in _descriptor(file, operand):
            found[kind] = found.get(kind, 0) + count
    return found


def _descriptor(file: str, operand: ResolvedOperand) -> Iterator[tuple[str, int]]:
    yield file, 1
    if isinstance(operand.dsd, Mem4d | Circbuf):
        yield "extended", 1
    if isinstance(operand.dsd, Mem4d):
        yield "stride", registers_needed(operand.dsd)
