"""What the registers of an operation may hold: its rate follows from that at its start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod
from typing import Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.isa.dsd import Circbuf, Dsd, Mem1d, Mem4d
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.operands import ResolvedOperand, ResolvedOperation
from tilewright.simulator.program.loads import all_loads
from tilewright.simulator.program.program import ElementCode, LoadRegister

MOST: Final = 1024
"""Combinations of loads that one operation's registers may hold."""
RATES: Final = (at.O_GROUP, at.O_CYCLES, at.O_DENOMINATOR, at.O_BANKS, at.O_SIMD)
"""The columns of an operation's row that follow from what its registers hold."""
Held = tuple[LoadRegister | None, ...]
"""The load that each operand's register holds; None for an operand that is no register."""


def held_operations(
    code: ElementCode, resolved: ResolvedOperation, where: str
) -> Iterator[tuple[ResolvedOperation, Held]]:
    """Yield an operation with what its registers may hold, and the loads that it is then.

    Raises ProgramError when there are too many.
    """
    choices = [_loads(code, operand) for operand in resolved.operands[:3]]
    if prod(map(len, choices)) > MOST:
        raise ProgramError(
            f"{where}: its registers are loaded with more than {MOST} combinations of descriptors",
            value=prod(map(len, choices)),
            instead="registers of its own",
        )
    for held in product(*choices):
        operands = [
            operand if load is None else holding(code, operand, code.dsd(load.dsd))
            for operand, load in zip(resolved.operands[:3], held, strict=True)
        ]
        sources = (*operands[1:], *resolved.operands[3:])
        yield replace(resolved, dest=operands[0], sources=sources), held


def holding(code: ElementCode, operand: ResolvedOperand, dsd: Dsd | None) -> ResolvedOperand:
    """Return the operand that a register is while it holds a descriptor."""
    buffer = code.buffer(dsd.buffer) if isinstance(dsd, Mem1d | Mem4d | Circbuf) else None
    return replace(operand, dsd=dsd, buffer=buffer)


def _loads(code: ElementCode, operand: ResolvedOperand) -> list[LoadRegister | None]:
    register = operand.register
    found: list[LoadRegister | None] = []
    if register is not None:
        found += [
            load
            for load in all_loads(code)
            if (load.register.file, load.register.id) == (register.file, register.id)
        ]
    return found or [None]
