"""Every instruction of a code, in text order: checks and compilers look at them many times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tilewright.simulator.isa.memo import IdentityCache
from tilewright.simulator.program.program import (
    DsdOperation,
    ElementCode,
    If,
    Instruction,
    Loop,
    Map,
    Task,
)

_LISTED: Final = IdentityCache(64)


def instructions(code: ElementCode) -> tuple[tuple[Task, Instruction], ...]:
    """Return every instruction of a code, those of bodies inside others too, and its task."""
    found: tuple[tuple[Task, Instruction], ...] = _LISTED.of(
        code, "all", lambda: tuple((t, i) for t in code.tasks for i in _inside(t.body))
    )
    return found


def operations(code: ElementCode) -> tuple[tuple[Task, DsdOperation], ...]:
    """Return every DSD operation of a code and its task."""
    found: tuple[tuple[Task, DsdOperation], ...] = _LISTED.of(
        code,
        "operations",
        lambda: tuple((t, i) for t, i in instructions(code) if isinstance(i, DsdOperation)),
    )
    return found


def _inside(body: Iterable[Instruction]) -> Iterator[Instruction]:
    for instruction in body:
        yield instruction
        if isinstance(instruction, Loop | Map):
            yield from _inside(instruction.body)
        elif isinstance(instruction, If):
            yield from _inside((*instruction.then, *instruction.otherwise))
