"""What memory banks and strides cost: pure functions on addresses, used by tables and tests.

An element's SRAM has 8 banks, successive 16-bit words in successive banks; two reads of one cycle
must not fall on banks that are equal modulo 4 (wafer.md §2.1). Strides limit the elements per
cycle (wafer.md §2.2).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from tilewright.simulator.isa.dsd import DTYPES, Mem4d
from tilewright.simulator.isa.operands import ResolvedOperand, ResolvedOperation
from tilewright.simulator.profiles.profile import Profile

PERIOD: Final = 4
"""Words after which two reads meet again."""
STRIDE_LIMITS: Final = ("none", "documentation", "inverse")
"""Of elements per cycle: none; the SDK's appendix; 8 words divided by the stride."""


def meetings(distance: int, step: int, groups: int) -> int:
    """Return how many of the groups read banks that meet: (distance + g * step) % 4 == 0."""
    return sum(
        (groups - g + PERIOD - 1) // PERIOD
        for g in range(min(PERIOD, groups))
        if (distance + g * step) % PERIOD == 0
    )


def stride_limit(stride: int, wide: int, rule: str) -> Fraction | None:
    """Return the most elements (of `wide` words) per cycle with a stride, None: no limit."""
    size = abs(stride)
    if rule == "none" or size <= 1:
        return None
    if rule == "inverse":
        return max(Fraction(1), Fraction(8, wide * size))
    return {1: Fraction(2), 7: Fraction(2), 0: Fraction(1), 4: Fraction(2)}.get(size % 8)


def strided(
    resolved: ResolvedOperation, profile: Profile, cycles: Fraction, group: int
) -> Fraction:
    """Return the cycles of a group with the strides of its memory operands."""
    limits = [
        stride_limit(o.strides()[0], DTYPES[o.buffer.dtype], profile.stride_limits)
        for o in resolved.operands
        if o.is_memory_stream and o.buffer is not None and o.dsd is not None
    ]
    return max([cycles, *(group / limit for limit in limits if limit is not None)])


def bank_cycles(
    resolved: ResolvedOperation, profile: Profile, group: int, cycles: Fraction
) -> tuple[Fraction, Fraction]:
    """Return (cycles per group, more cycles per group whose reads meet).

    The second is 0 where it is known that all groups meet or none; the first contains it then.
    """
    sources = [o for o in resolved.sources if o.is_memory_stream]
    if len(sources) != 2 or profile.bank_conflict_factor == 1 or resolved.is_fabric:
        return cycles, Fraction(0)
    timing = profile.operations[resolved.operation.name]
    met = max(cycles, timing.cycles[1] * profile.bank_conflict_factor)
    if met == cycles:
        return cycles, Fraction(0)
    first, second = sources
    step = group * (_step(first) - _step(second))
    if step % PERIOD or not all(map(_is_known, sources)):
        return cycles, met - cycles
    return (met if (_first(first) - _first(second)) % PERIOD == 0 else cycles), Fraction(0)


def _step(operand: ResolvedOperand) -> int:
    """Return the words from element to element; 0 of a multi-dimensional operand."""
    if operand.buffer is None or isinstance(operand.dsd, Mem4d):
        return 0
    return operand.strides()[0] * DTYPES[operand.buffer.dtype]


def _first(operand: ResolvedOperand) -> int:
    assert operand.buffer is not None
    wide = DTYPES[operand.buffer.dtype]
    return operand.buffer.address + (operand.base + operand.offset.constant) * wide


def _is_known(operand: ResolvedOperand) -> bool:
    """Return whether the first bank, modulo 4, is known before the run."""
    if operand.buffer is None or operand.register is not None or operand.is_special:
        return False
    wide = DTYPES[operand.buffer.dtype]
    factors: Iterable[int] = (factor * wide for _, factor in operand.offset.terms)
    return all(factor % PERIOD == 0 for factor in factors)
