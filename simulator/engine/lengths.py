"""The lengths of a special operation's operands, and what they let it touch.

No operation goes on that could leave a buffer or end within a group of SIMD values.
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Table, Word
from tilewright.simulator.engine.jit import inner_kernel, part_kernel
from tilewright.simulator.engine.shared_state import fail


@inner_kernel
def inside(store: Table, where: tuple[int, int, int], row: int, position: int) -> Word:
    """Return whether a memory operand that starts at a position stays in its buffer."""
    e, thread, which = where
    base = position - store[e + at.E_MEMORY] - store[thread + at.T_RING_OFFSET + which]
    low, high = base + store[row + at.D_LOW], base + store[row + at.D_HIGH]
    changes = store[row + at.D_LENGTH_ROW] >= 0 or store[row + at.D_STRIDE_ROW] >= 0
    if changes and store[row + at.D_WRAP] == 0:
        stride = store[row + at.D_STRIDE]
        if store[row + at.D_STRIDE_ROW] >= 0:
            stride = store[thread + at.T_STRIDE + which]
        end = base + stride * (length_of(store, thread, which) - 1)
        low, high = min(base, end), max(base, end)
    return low >= store[row + at.D_FIRST] and high <= store[row + at.D_LAST]


@inner_kernel
def length_of(store: Table, thread: int, which: int) -> Word:
    """Return an operand's own length, 0 for none."""
    row = store[thread + at.T_ROWS + which]
    if store[row + at.D_KIND] == at.POOL:
        pool = store[thread + at.T_POSITIONS + which]
        return store[pool + (at.Q_READ_LENGTH if which else at.Q_WRITE_LENGTH)]
    if store[row + at.D_LENGTH_ROW] >= 0:
        return store[thread + at.T_CHANGED_LENGTH + which]
    return store[row + at.D_LENGTH]


@part_kernel
def simd_mode(store: Table, thread: int) -> Word:
    """Return the narrowest mode of a thread's operands; SIMD_MIXED where a queue has none."""
    mode = at.SIMD_NONE
    mixed = False
    for which in range(3):
        row = store[thread + at.T_ROWS + which]
        if row < 0:
            continue
        own = store[row + at.D_SIMD]
        if own != at.SIMD_NONE:
            mode = own if mode == at.SIMD_NONE else min(mode, own)
        elif store[row + at.D_KIND] in (at.FABRIC_IN, at.FABRIC_OUT):
            mixed = True
    return at.SIMD_MIXED if mixed and mode != at.SIMD_NONE else mode


@part_kernel
def group_of(store: Table, thread: int, mode: int) -> Word:
    """Return of how many values a thread's length is a multiple (compile/code/simd_modes.py)."""
    group = 4 if mode == at.SIMD_64 else 1 if mode in (at.SIMD_NONE, at.SIMD_MIXED) else 2
    for which in range(3):
        row = store[thread + at.T_ROWS + which]
        if row >= 0 and store[row + at.D_FLAGS] & at.PAIRS:
            group = max(group, 4 if store[row + at.D_SIMD] == at.SIMD_64 else 2)
    return group


@part_kernel
def stays_inside(store: Table, thread: int) -> Word:
    """Return whether the memory operands of an endless operation never leave their buffers."""
    for which in range(3):
        row = store[thread + at.T_ROWS + which]
        if row < 0 or store[row + at.D_KIND] != at.MEMORY or store[row + at.D_WRAP] > 0:
            continue
        still = store[row + at.D_STRIDE]
        if store[row + at.D_STRIDE_ROW] >= 0:
            still = store[thread + at.T_STRIDE + which]
        if store[row + at.D_DIMENSIONS] > 1 or still != 0:
            return False
    return True


@inner_kernel
def common_length(store: Table, e: int, thread: int) -> Word:
    """Return the common length of a thread's operands, 0 on an error."""
    op = store[thread + at.T_OP]
    extent = 0
    for which in range(3):
        if store[thread + at.T_ROWS + which] < 0:
            continue
        length = length_of(store, thread, which)
        if extent and length and length != extent:
            fail(store, at.ERROR_EXTENTS, e, op, extent << 16 | length)
            return 0
        extent = max(extent, length)
    if extent == 0:
        fail(store, at.ERROR_NO_LENGTH, e, op, 0)
    return extent


@inner_kernel
def set_extent(store: Table, e: int, thread: int) -> Word:
    """Give a thread the common length of its operands; return False when it cannot have it."""
    op = store[thread + at.T_OP]
    extent = common_length(store, e, thread)
    if extent == 0:
        return False
    mode = simd_mode(store, thread)
    endless = extent == at.ENDLESS and store[thread + at.T_QUEUES] != 0
    if endless and not stays_inside(store, thread):
        fail(store, at.ERROR_ENDLESS, e, op, extent)
        return False
    group = group_of(store, thread, mode)
    if not endless and extent % group != 0:
        fail(store, at.ERROR_GROUP, e, op, extent << 16 | group)
        return False
    store[thread + at.T_SIMD] = mode
    store[thread + at.T_EXTENT] = extent
    store[thread + at.T_LEFT] = extent
    store[thread + at.T_STEP] = 0 if endless else 1
    return True


@inner_kernel
def check_halves(store: Table, e: int, thread: int) -> None:
    """Refuse an early end of an operation that has half a wavelet in its hands."""
    for which in range(3):
        if store[thread + at.T_HALF + which]:
            op = store[thread + at.T_OP]
            fail(
                store, at.ERROR_HALF, e, op, store[thread + at.T_EXTENT] - store[thread + at.T_LEFT]
            )
