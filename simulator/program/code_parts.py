"""What a code holds, listed once: every instruction, every operation, every load of a register.

Checks and compilers look at them many times, so the lists of the last codes are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tilewright.simulator.isa.dsd import Dsd, Register
from tilewright.simulator.isa.memo import IdentityCache
from tilewright.simulator.program.instruction import DsdOperation, Instruction, LoadRegister
from tilewright.simulator.program.program import (
    ElementCode,
    Task,
)

_LISTS: Final = IdentityCache(64)


def all_instructions(code: ElementCode) -> tuple[tuple[Task, Instruction], ...]:
    """Return every instruction of a code with its task, in text order, bodies inside included."""
    pairs: tuple[tuple[Task, Instruction], ...] = _LISTS.of(
        code,
        "instructions",
        lambda: tuple((task, inner) for task in code.tasks for inner in walk(task.body)),
    )
    return pairs


def all_operations(code: ElementCode) -> tuple[tuple[Task, DsdOperation], ...]:
    """Return every operation on descriptors of a code with its task, in text order."""
    pairs: tuple[tuple[Task, DsdOperation], ...] = _LISTS.of(
        code,
        "operations",
        lambda: tuple((t, i) for t, i in all_instructions(code) if isinstance(i, DsdOperation)),
    )
    return pairs


def all_loads(code: ElementCode) -> tuple[LoadRegister, ...]:
    """Return every load of a register, those before the start of the program first."""
    loads: tuple[LoadRegister, ...] = _LISTS.of(
        code,
        "loads",
        lambda: (
            *code.loads,
            *(i for _, i in all_instructions(code) if isinstance(i, LoadRegister)),
        ),
    )
    return loads


def loaded_descriptors(code: ElementCode, register: Register | None) -> list[Dsd]:
    """Return the descriptors that a code loads into a register."""
    if register is None:
        return []
    names = (
        load.dsd
        for load in all_loads(code)
        if (load.register.file, load.register.id) == (register.file, register.id)
    )
    return [dsd for dsd in map(code.dsd, names) if dsd is not None]


def walk(body: Iterable[Instruction]) -> Iterator[Instruction]:
    """Yield the instructions of a body and of the bodies inside, in text order.

    Bodies may be deeper than Python's stack: the check of their depth comes later.
    """
    pending = list(reversed(tuple(body)))
    while pending:
        instruction = pending.pop()
        yield instruction
        for inner in reversed(instruction.bodies):
            pending += reversed(inner)
