"""What a code holds, listed once: every instruction, every operation, every load of a register.

Checks and compilers look at them many times, so the lists of the last codes are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tilewright.arch.memo import IdentityCache
from tilewright.simulator.isa.dsd import Dsd, Register
from tilewright.simulator.program.instruction import DsdOperation, Instruction, LoadRegister
from tilewright.simulator.program.program import ElementCode, Task

_LISTS: Final = IdentityCache(64)


def all_instructions(code: ElementCode) -> tuple[tuple[Task, Instruction], ...]:
    """Return (task, instruction) for every instruction of a code, in text order.

    A code is the program that all elements of one class run. Bodies of loops, branches and maps are
    included. The result is cached for the last codes.
    """
    pairs: tuple[tuple[Task, Instruction], ...] = _LISTS.of(
        code,
        "instructions",
        lambda: tuple((task, inner) for task in code.tasks for inner in walk(task.body)),
    )
    return pairs


def all_operations(code: ElementCode) -> tuple[tuple[Task, DsdOperation], ...]:
    """Return (task, operation) for every DSD operation of a code, in text order.

    A DSD operation is one on descriptors of memory vectors and queues, such as @fmacs.
    """
    pairs: tuple[tuple[Task, DsdOperation], ...] = _LISTS.of(
        code,
        "operations",
        lambda: tuple((t, i) for t, i in all_instructions(code) if isinstance(i, DsdOperation)),
    )
    return pairs


def all_loads(code: ElementCode) -> tuple[LoadRegister, ...]:
    """Return every load of a data-structure register in a code.

    Those before the start of the program come first, then those of the tasks in text order.
    """
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
    """Return the descriptors that a code ever loads into a register; empty for None."""
    if register is None:
        return []
    names = (
        load.dsd
        for load in all_loads(code)
        if (load.register.file, load.register.id) == (register.file, register.id)
    )
    return [dsd for dsd in map(code.dsd, names) if dsd is not None]


def walk(body: Iterable[Instruction]) -> Iterator[Instruction]:
    """Yield the instructions of a body and of all bodies nested in it, in text order.

    A body is the content of a task, loop, branch or map. Any depth works: no recursion is used.
    """
    pending = list(reversed(tuple(body)))
    while pending:
        instruction = pending.pop()
        yield instruction
        for inner in reversed(instruction.bodies):
            pending += reversed(inner)
