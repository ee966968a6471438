"""The extent of a special operation: how many values it takes, how many of them go at once.

A special operation is one whose operands are known only at run time (`O_SPECIAL`). An operation
that would leave a buffer, or end inside a group of SIMD values, is an error of the run.
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Table, Word
from tilewright.simulator.engine.jit import inner_kernel, part_kernel
from tilewright.simulator.engine.operation_steps import fail
from tilewright.simulator.engine.values.places import OperandPlace


@inner_kernel
def length_of(store: Table, thread: int, operand: int) -> Word:
    """Return the number of values of a thread's operand, 0 if it has no length of its own.

    A length that was set to 0 values is EMPTY instead. thread: address; operand: 0 is the
    destination, 1 and 2 are the sources. A FIFO in memory has the length that was set for its reads
    or writes.
    """
    row = store[thread + at.T_ROWS + operand]
    if store[row + at.D_KIND] == at.POOL:
        fifo = store[thread + at.T_POSITIONS + operand]
        return store[fifo + (at.Q_READ_LENGTH if operand else at.Q_WRITE_LENGTH)]
    if store[row + at.D_LENGTH_ROW] >= 0:
        return store[thread + at.T_CHANGED_LENGTH + operand]
    return store[row + at.D_LENGTH]


@inner_kernel
def stays_in_buffer(store: Table, place: OperandPlace, row: int, position: int) -> Word:
    """Return whether a memory operand that starts at `position` touches words of its buffer only.

    position: address in 16-bit words, in the memory of all elements; row: address of the operand.
    If instructions have changed its length or stride, the new ones count.
    """
    element, thread, operand = place
    if length_of(store, thread, operand) == at.EMPTY:
        return True
    base = position - store[element + at.E_MEMORY] - store[thread + at.T_RING_OFFSET + operand]
    low, high = base + store[row + at.D_LOW], base + store[row + at.D_HIGH]
    changes = store[row + at.D_LENGTH_ROW] >= 0 or store[row + at.D_STRIDE_ROW] >= 0
    if changes and store[row + at.D_WRAP] == 0:
        stride = store[row + at.D_STRIDE]
        if store[row + at.D_STRIDE_ROW] >= 0:
            stride = store[thread + at.T_STRIDE + operand]
        end = base + stride * (length_of(store, thread, operand) - 1)
        low, high = min(base, end), max(base, end)
    return low >= store[row + at.D_FIRST] and high <= store[row + at.D_LAST]


@part_kernel
def simd_mode(store: Table, thread: int) -> Word:
    """Return the SIMD mode of a thread's operation: the narrowest one of its operands.

    A mode says how many 16-bit values go at once. SIMD_NONE: no operand has a mode. SIMD_MIXED: an
    operand has one, but a queue has none, so values go one by one.
    """
    mode = at.SIMD_NONE
    mixed = False
    for operand in range(3):
        row = store[thread + at.T_ROWS + operand]
        if row < 0:
            continue
        operand_mode = store[row + at.D_SIMD]
        if operand_mode != at.SIMD_NONE:
            mode = operand_mode if mode == at.SIMD_NONE else min(mode, operand_mode)
        elif store[row + at.D_KIND] in (at.FABRIC_IN, at.FABRIC_OUT):
            mixed = True
    return at.SIMD_MIXED if mixed and mode != at.SIMD_NONE else mode


@part_kernel
def group_of(store: Table, thread: int, mode: int) -> Word:
    """Return the number of values (1, 2 or 4) of which an operation's length must be a multiple.

    thread: address; mode: SIMD mode of the operation. It is the number of values that go at once,
    or the number that the mode of one of its queues takes, if that is more.
    """
    group = 4 if mode == at.SIMD_64 else 1 if mode in (at.SIMD_NONE, at.SIMD_MIXED) else 2
    for operand in range(3):
        row = store[thread + at.T_ROWS + operand]
        if row >= 0 and store[row + at.D_FLAGS] & at.PAIRS:
            group = max(group, 4 if store[row + at.D_SIMD] == at.SIMD_64 else 2)
    return group


@part_kernel
def endless_in_buffers(store: Table, thread: int) -> Word:
    """Return whether an endless operation stays in its buffers for ever.

    It does if all its operands in memory have stride 0 or are circular buffers.
    """
    for operand in range(3):
        row = store[thread + at.T_ROWS + operand]
        if row < 0 or store[row + at.D_KIND] != at.MEMORY or store[row + at.D_WRAP] > 0:
            continue
        stride = store[row + at.D_STRIDE]
        if store[row + at.D_STRIDE_ROW] >= 0:
            stride = store[thread + at.T_STRIDE + operand]
        if store[row + at.D_DIMENSIONS] > 1 or stride != 0:
            return False
    return True


@inner_kernel
def common_length(store: Table, element: int, thread: int) -> Word:
    """Return the number of values that a thread's operands share, 0 on an error of the run.

    Different lengths are an error, and so is an operation none of whose operands has a length.
    """
    op = store[thread + at.T_OP]
    extent = 0
    for operand in range(3):
        if store[thread + at.T_ROWS + operand] < 0:
            continue
        length = length_of(store, thread, operand)
        if extent and length and length != extent:
            fail(store, at.ERROR_EXTENTS, element, op, extent << 16 | length)
            return 0
        extent = max(extent, length)
    if extent == 0:
        fail(store, at.ERROR_NO_LENGTH, element, op, 0)
    return extent


@inner_kernel
def set_extent(store: Table, element: int, thread: int) -> Word:
    """Set the number of values and the SIMD mode of a thread; return False on an error.

    Errors of the run: lengths that differ or are no multiple of what goes at once, an endless
    operation that would leave a buffer.
    """
    op = store[thread + at.T_OP]
    extent = common_length(store, element, thread)
    if extent == 0:
        return False
    if extent == at.EMPTY:
        extent = 0
    mode = simd_mode(store, thread)
    endless = extent == at.ENDLESS and store[thread + at.T_QUEUES] != 0
    if endless and not endless_in_buffers(store, thread):
        fail(store, at.ERROR_ENDLESS, element, op, extent)
        return False
    group = group_of(store, thread, mode)
    if not endless and extent % group != 0:
        fail(store, at.ERROR_GROUP, element, op, extent << 16 | group)
        return False
    store[thread + at.T_SIMD] = mode
    store[thread + at.T_EXTENT] = extent
    store[thread + at.T_LEFT] = extent
    store[thread + at.T_STEP] = 0 if endless else 1
    return True


@inner_kernel
def check_halves(store: Table, element: int, thread: int) -> None:
    """Report as an error of the run an operation that ends early and keeps half a wavelet.

    With SIMD modes a wavelet carries two values; the second one would be lost.
    """
    for operand in range(3):
        if store[thread + at.T_HALF + operand]:
            op = store[thread + at.T_OP]
            done = store[thread + at.T_EXTENT] - store[thread + at.T_LEFT]
            fail(store, at.ERROR_HALF, element, op, done)
