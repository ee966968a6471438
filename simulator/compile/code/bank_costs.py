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
    """Count the groups of an operation whose two memory reads meet on a bank.

    A group is the elements that one step of the operation does at once. Two reads in a cycle meet
    if their word addresses are equal modulo 4 (wafer.md §2.1). distance: difference of the first
    addresses, in 16-bit words; step: by how much it grows per group; groups: number of groups.
    Group g meets if (distance + g * step) % 4 == 0. Example: distance 0, step 2, 5 groups: 0, 2 and
    4 meet, 3.
    """
    return sum(
        (groups - g + PERIOD - 1) // PERIOD
        for g in range(min(PERIOD, groups))
        if (distance + g * step) % PERIOD == 0
    )


def stride_limit(stride: int, wide: int, rule: str) -> Fraction | None:
    """Return how many elements per cycle a strided memory operand allows at most; None: no limit.

    stride: distance of successive elements, in elements; wide: 16-bit words per element (1 or 2);
    rule: `none`, `documentation` (the vendor's table by stride modulo 8) or `inverse` (8 words
    divided by stride * wide, at least 1). Strides 0, 1 and -1 have no limit (wafer.md §2.2).
    """
    size = abs(stride)
    if rule == "none" or size <= 1:
        return None
    if rule == "inverse":
        return max(Fraction(1), Fraction(8, wide * size))
    return {1: Fraction(2), 7: Fraction(2), 0: Fraction(1), 4: Fraction(2)}.get(size % 8)


def strided(
    resolved: ResolvedOperation, profile: Profile, cycles: Fraction, group: int
) -> Fraction:
    """Return the cycles of one group of an operation, lengthened by the strides of memory operands.

    A group is the elements that go at once. cycles: those of the group with strides 1; group: its
    elements; profile: says by its `stride_limits` how many elements per cycle a stride allows. The
    result is the greatest of `cycles` and group / limit over the operands (wafer.md §2.2).
    """
    limits = [
        stride_limit(o.strides()[0], DTYPES[o.buffer.dtype], profile.stride_limits)
        for o in resolved.operands
        if o.is_memory_stream and o.buffer is not None and o.dsd is not None
    ]
    return max([cycles, *(group / limit for limit in limits if limit is not None)])


def bank_cycles(
    resolved: ResolvedOperation, profile: Profile, group: int, cycles: Fraction
) -> tuple[Fraction, Fraction]:
    """Return (cycles per group, further cycles per group whose two reads meet on a memory bank).

    A group is the elements of the operation that go at once; `cycles` are those of a group without
    conflicts. Only operations with two vectors in memory and no queue can conflict. If it is known
    before the run that all groups meet or that none does, the first number holds the result and the
    second is 0; else the engine adds the second number for each group that meets (wafer.md §2.1).
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
