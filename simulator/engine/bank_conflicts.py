"""Bank conflicts of operations on memory whose addresses are known only at run time."""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.indirect import What
from tilewright.simulator.engine.jit import inner_kernel


@inner_kernel
def bank_meetings(store: Table, memory: Memory, what: What) -> Word:  # noqa: ARG001
    """Return how many groups read banks that are equal modulo 4 (banks.meetings).

    what = (thread, operand rows of the two sources, elements); before the operation walks.
    """
    thread, row, other, extent = what
    if store[row + at.D_KIND] != at.MEMORY or store[other + at.D_KIND] != at.MEMORY:
        return 0
    group = store[store[thread + at.T_OP] + at.O_GROUP]
    groups = (extent + group - 1) // group
    first = thread + at.T_POSITIONS + 1
    distance = store[first] - store[first + 1]
    step = 0
    if store[row + at.D_DIMENSIONS] == 1:
        step += group * store[row + at.D_STRIDE]
    if store[other + at.D_DIMENSIONS] == 1:
        step -= group * store[other + at.D_STRIDE]
    found = 0
    for g in range(min(4, groups)):
        if (distance + g * step) & 3 == 0:
            found += (groups - g + 3) // 4
    return found
