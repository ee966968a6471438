"""SIMD operations on wavelets that carry two 16-bit values: groups of values that go together.

The SIMD mode of the operation's queues and FIFOs gives the size of a group (2 or 4 values). If a
queue has no mode, values go one by one, and the thread keeps the other half of a wavelet
(`T_HALF_VALUE`). Example: in mode 64 an operation of 8 values takes two wavelets per group of 4.
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.fabric import await_space, has_space, pop, push, schedule
from tilewright.simulator.engine.jit import FeatureArguments, inner_kernel
from tilewright.simulator.engine.rare.special_values import put_special, take_special
from tilewright.simulator.engine.rare.special_waits import fifo_waits
from tilewright.simulator.engine.values.datapath import value_of
from tilewright.simulator.engine.values.places import (
    Computation,
    OperandBits,
    OperandPlace,
    QueuePlace,
    ThreadPlace,
)
from tilewright.simulator.run.trace import BUSY, WAIT_INPUT, WAIT_OUTPUT


@inner_kernel
def wavelets_of(store: Table, thread: int, operand: int, width: int) -> Word:
    """Return how many wavelets a queue operand passes for `width` values.

    With a SIMD mode a wavelet carries two values, without one it carries one. For one value it may
    be 0: a source still has half a wavelet left, or a destination waits for the second half.
    """
    if store[store[thread + at.T_ROWS + operand] + at.D_FLAGS] & at.PAIRS == 0:
        return width
    if width > 1:
        return width // 2
    half = store[thread + at.T_HALF + operand]
    return half if operand == 0 else 1 - half


@inner_kernel
def second_space(store: Table, element: int, queue: int, now: int) -> Word:
    """Return whether a queue that has space for one wavelet has space for a second one.

    If not, the element is visited again when it has. The queue belongs to one operation, so nobody
    else waits for its space.
    """
    if store[queue + at.F_COUNT] + 2 > store[queue + at.F_CAP]:
        store[queue + at.F_WAITER] = element
        return False
    slot = store[queue + at.F_HEAD] + store[queue + at.F_COUNT] + 1
    if slot >= store[queue + at.F_CAP]:
        slot -= store[queue + at.F_CAP]
    free = store[store[queue + at.F_RING] + 2 * slot] + store[queue + at.F_CREDIT]
    if free > now:
        schedule(store, element, free)
    return free <= now


@inner_kernel
def queue_gives(store: Table, place: QueuePlace, count: int, now: int) -> Word:
    """Say whether a queue has `count` wavelets ready, or space for them: BUSY if so.

    Else WAIT_INPUT or WAIT_OUTPUT; the processing element is visited again when it changes. place:
    its address, that of the operand and of the queue's FIFO.
    """
    element, row, queue = place
    if store[row + at.D_KIND] == at.FABRIC_OUT:
        if not has_space(store, queue, now):
            await_space(store, queue, element, now)
            return WAIT_OUTPUT
        if count == 1 or second_space(store, element, queue, now):
            return BUSY
        return WAIT_OUTPUT
    if store[queue + at.F_COUNT] < count:
        return WAIT_INPUT  # F_WAKE: the push of the second one wakes the element, too
    last = store[queue + at.F_HEAD] + count - 1
    if last >= store[queue + at.F_CAP]:
        last -= store[queue + at.F_CAP]
    ready = store[store[queue + at.F_RING] + 2 * last]
    if ready <= now:
        return BUSY
    schedule(store, element, ready)
    return WAIT_INPUT


@inner_kernel
def group_ready(store: Table, element: int, thread: int, width: int, now: int) -> Word:
    """Say whether `width` values of a thread's operation can go together in this cycle.

    All its queues and FIFOs in memory must have them, or space for them. Returns BUSY, WAIT_INPUT
    or WAIT_OUTPUT, or -1 - action if a full or empty FIFO ends the operation.
    """
    store[thread + at.T_GROUP] = width
    for step in range(3):
        operand = 2 - step
        row = store[thread + at.T_ROWS + operand]
        if row < 0:
            continue
        kind = store[row + at.D_KIND]
        cycle_state = BUSY
        if kind in (at.FABRIC_IN, at.FABRIC_OUT):
            count = wavelets_of(store, thread, operand, width)
            queue = store[thread + at.T_POSITIONS + operand]
            if count > 0:
                cycle_state = queue_gives(store, QueuePlace(element, row, queue), count, now)
        elif kind == at.POOL:
            cycle_state = fifo_waits(store, element, thread, operand, store[thread + at.T_ASYNC])
        if cycle_state != BUSY:
            return cycle_state
    return BUSY


@inner_kernel
def simd_ready(store: Table, memory: Memory, arguments: FeatureArguments) -> Word:  # noqa: ARG001
    """Say whether the next group of elements of a SIMD operation can go, and how large it is.

    Mode `simd_32_or_64` takes 4 elements if they are ready, else 2. `arguments` are (addresses of
    element and thread, cycle, 0). Returns BUSY, WAIT_INPUT, WAIT_OUTPUT, or -1 - action of a FIFO.
    """
    element, thread, now, _ = arguments
    mode = store[thread + at.T_SIMD]
    if mode != at.SIMD_EITHER:
        return group_ready(store, element, thread, mode, now)
    if store[thread + at.T_LEFT] >= 4:
        cycle_state = group_ready(store, element, thread, 4, now)
        if cycle_state == BUSY:
            return cycle_state
    return group_ready(store, element, thread, 2, now)


@inner_kernel
def take_half(store: Table, memory: Memory, place: OperandPlace, now: int) -> Word:
    """Take the next value of a source; of a wavelet with two values the thread keeps the second.

    place: addresses of element and thread, and which operand; now: the cycle. Returns its bits.
    """
    _, thread, operand = place
    row = store[thread + at.T_ROWS + operand]
    if store[row + at.D_FLAGS] & at.PAIRS == 0 or store[row + at.D_KIND] != at.FABRIC_IN:
        return take_special(store, memory, place, now)
    if store[thread + at.T_HALF + operand] == 1:
        store[thread + at.T_HALF + operand] = 0
        return store[thread + at.T_HALF_VALUE + operand]
    queue = store[thread + at.T_POSITIONS + operand]
    payload = pop(store, queue, now)
    store[thread + at.T_HALF + operand] = 1
    store[thread + at.T_HALF_VALUE + operand] = payload >> 16 & 0xFFFF
    return payload & 0xFFFF


@inner_kernel
def put_half(store: Table, memory: Memory, place: ThreadPlace, bits: int, now: int) -> None:
    """Give a value to a thread's destination; two that share a wavelet are sent with the second.

    place: addresses of element and thread; bits: of the value; now: the cycle.
    """
    thread = place.thread
    row = store[thread + at.T_ROWS]
    if store[row + at.D_FLAGS] & at.PAIRS == 0 or store[row + at.D_KIND] != at.FABRIC_OUT:
        put_special(store, memory, place, bits, now)
    elif store[thread + at.T_HALF] == 0:
        store[thread + at.T_HALF] = 1
        store[thread + at.T_HALF_VALUE] = bits & 0xFFFF
    else:
        store[thread + at.T_HALF] = 0
        pair = store[thread + at.T_HALF_VALUE] | (bits & 0xFFFF) << 16
        if store[row + at.D_FLAGS] & at.ADVANCES and store[thread + at.T_LEFT] == 1:
            pair |= at.LAST_ADVANCES
        push(store, store[thread + at.T_POSITIONS], pair, now)


@inner_kernel
def simd_group(store: Table, memory: Memory, arguments: FeatureArguments) -> Word:
    """Do the 2 or 4 values of a SIMD operation that are ready; return how many they are.

    In mode SIMD_MIXED it is 1. `arguments` are (addresses of processing element and thread, cycle,
    0).
    """
    element, thread, now, _ = arguments
    op = store[thread + at.T_OP]
    scalar = store[thread + at.T_SCALAR]
    for _element in range(store[thread + at.T_GROUP]):
        a = b = scalar
        if store[thread + at.T_ROWS + 1] >= 0:
            a = take_half(store, memory, OperandPlace(element, thread, 1), now)
        if store[thread + at.T_ROWS + 2] >= 0:
            b = take_half(store, memory, OperandPlace(element, thread, 2), now)
        computation = Computation(op, store[op + at.O_ARITHMETIC], store[op + at.O_TYPE])
        bits = value_of(store, memory, computation, OperandBits(a, b, scalar))
        put_half(store, memory, ThreadPlace(element, thread), bits, now)
        store[store[element + at.E_RUNS] + store[op + at.O_NUMBER]] += 1
        store[thread + at.T_LEFT] -= store[thread + at.T_STEP]
    return store[thread + at.T_GROUP]
