"""Count the bank conflicts of an operation on memory: groups whose two reads are of one bank.

A group is the values that go at once (wafer.md §2.1). The same rule as
`compile/code/bank_costs.py`, which counts what is known before the run.
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.jit import FeatureArguments, inner_kernel, part_kernel
from tilewright.simulator.engine.values.places import ReadPair


@part_kernel
def word_of(store: Table, row: int, element: int) -> Word:
    """Return the distance in 16-bit words from the first value of a memory operand to another one.

    row: address of the operand; element: number of the other value in the vector, from 0.
    """
    moved = 0
    passed = element
    last = store[row + at.D_DIMENSIONS] - 1
    for d in range(last):
        outer = passed // store[row + at.D_EXTENT + d]
        moved += store[row + at.D_STRIDE + d] * (passed - outer)
        passed = outer
    return moved + store[row + at.D_STRIDE + last] * passed


@part_kernel
def reads_meet(store: Table, pair: ReadPair, element: int, elements: int) -> Word:
    """Return whether the two reads of a group of values touch one memory bank, a bank conflict.

    pair: both sources; element: number of the group's first value in the vector; elements: values
    of a full group.
    """
    first, second, distance = pair
    apart = distance + word_of(store, first, element) - word_of(store, second, element)
    reach = (elements - 1) * store[first + at.D_STRIDE]
    other_reach = (elements - 1) * store[second + at.D_STRIDE]
    apart = (apart + min(reach, 0) - min(other_reach, 0)) % at.BANKS
    words = store[first + at.D_WIDE] + abs(reach)
    return apart < store[second + at.D_WIDE] + abs(other_reach) or apart > at.BANKS - words


@part_kernel
def is_regular(store: Table, pair: ReadPair, group: int, length: int) -> Word:
    """Return whether the distance of both sources stays the same, modulo the banks, in a row.

    pair: both sources; group: values that go at once; length: values of a row. If so, one group
    decides for the whole row.
    """
    first, second, _ = pair
    for row in (first, second):
        if store[row + at.D_DIMENSIONS] > 1 and store[row + at.D_EXTENT] % length != 0:
            return False
    return group * (store[first + at.D_STRIDE] - store[second + at.D_STRIDE]) % at.BANKS == 0


@inner_kernel
def bank_conflicts(store: Table, memory: Memory, arguments: FeatureArguments) -> Word:  # noqa: ARG001
    """Count the groups of an operation whose two reads are of the same memory bank.

    A group is the values that go at once, and ends with a row (wafer.md §2.1). `arguments` are
    (address of the thread, operand rows of both sources, number of values); the thread's positions
    are those of the first value. 0 unless both sources are in memory.
    """
    thread, first, second, extent = arguments
    if store[first + at.D_KIND] != at.MEMORY or store[second + at.D_KIND] != at.MEMORY:
        return 0
    op = store[thread + at.T_OP]
    group = store[op + at.O_GROUP]
    length = max(1, min(extent, store[op + at.O_ROW]))
    column = thread + at.T_POSITIONS + 1
    pair = ReadPair(first, second, store[column] - store[column + 1])
    regular = is_regular(store, pair, group, length)
    conflicts = 0
    start = 0
    while start < extent:
        end = min(start + length, extent)
        if regular:
            conflicts += (end - start + group - 1) // group * reads_meet(store, pair, start, group)
        else:
            for k in range(start, end, group):
                conflicts += reads_meet(store, pair, k, group)
        start = end
    return conflicts
