"""Wavelets that carry two 16-bit values: groups of elements that go at once, or not at all.

A group is as wide as the mode of the operation's queues and FIFOs says; where one of its queues
has no mode, elements go one by one and a half wavelet waits in the thread (`T_HALF_VALUE`).
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.arithmetic import combine
from tilewright.simulator.engine.fabric import await_space, has_space, pop, push, schedule
from tilewright.simulator.engine.jit import What, inner_kernel
from tilewright.simulator.engine.special_operations import pool_waits, put_special, take_special
from tilewright.simulator.run.trace import BUSY, WAIT_INPUT, WAIT_OUTPUT


@inner_kernel
def wavelets_of(store: Table, thread: int, which: int, width: int) -> Word:
    """Return how many wavelets a queue operand needs for a group of so many elements."""
    if store[store[thread + at.T_ROWS + which] + at.D_FLAGS] & at.PAIRS == 0:
        return width
    if width > 1:
        return width // 2
    half = store[thread + at.T_HALF + which]
    return half if which == 0 else 1 - half


@inner_kernel
def second_space(store: Table, where: tuple[int, int], now: int) -> Word:
    """Return whether a queue with space could take a second entry, too; else wake the element.

    where = (element, queue). The queue belongs to one operation, so nobody else waits for it.
    """
    e, queue = where
    if store[queue + at.F_COUNT] + 2 > store[queue + at.F_CAP]:
        store[queue + at.F_WAITER] = e
        return False
    slot = store[queue + at.F_HEAD] + store[queue + at.F_COUNT] + 1
    if slot >= store[queue + at.F_CAP]:
        slot -= store[queue + at.F_CAP]
    free = store[store[queue + at.F_RING] + 2 * slot] + store[queue + at.F_CREDIT]
    if free > now:
        schedule(store, e, free)
    return free <= now


@inner_kernel
def queue_gives(store: Table, where: tuple[int, int, int], count: int, now: int) -> Word:
    """Return BUSY if so many wavelets are ready, or have space: where = (element, row, queue)."""
    e, row, queue = where
    if store[row + at.D_KIND] == at.FABRIC_OUT:
        if not has_space(store, queue, now):
            await_space(store, queue, e, now)
            return WAIT_OUTPUT
        if count == 1 or second_space(store, (e, queue), now):
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
    schedule(store, e, ready)
    return WAIT_INPUT


@inner_kernel
def group_ready(store: Table, where: tuple[int, int], width: int, now: int) -> Word:
    """Return BUSY if a group of so many elements can go, WAIT_..., or -1 - action of a FIFO."""
    e, thread = where
    store[thread + at.T_GROUP] = width
    for step in range(3):
        which = 2 - step
        row = store[thread + at.T_ROWS + which]
        if row < 0:
            continue
        kind = store[row + at.D_KIND]
        mood = BUSY
        if kind in (at.FABRIC_IN, at.FABRIC_OUT):
            count = wavelets_of(store, thread, which, width)
            queue = store[thread + at.T_POSITIONS + which]
            if count > 0:
                mood = queue_gives(store, (e, row, queue), count, now)
        elif kind == at.POOL:
            mood = pool_waits(store, (e, thread, which), store[thread + at.T_ASYNC])
        if mood != BUSY:
            return mood
    return BUSY


@inner_kernel
def simd_ready(store: Table, memory: Memory, what: What) -> Word:  # noqa: ARG001
    """Return the mood of the next group: what = (element, thread, cycle, -)."""
    e, thread, now, _ = what
    mode = store[thread + at.T_SIMD]
    if mode != at.SIMD_EITHER:
        return group_ready(store, (e, thread), mode, now)
    if store[thread + at.T_LEFT] >= 4:
        mood = group_ready(store, (e, thread), 4, now)
        if mood == BUSY:
            return mood
    return group_ready(store, (e, thread), 2, now)


@inner_kernel
def take_half(store: Table, memory: Memory, where: tuple[int, int, int], now: int) -> Word:
    """Return the next value of a source; the other half of a wavelet waits in the thread."""
    _, thread, which = where
    row = store[thread + at.T_ROWS + which]
    if store[row + at.D_FLAGS] & at.PAIRS == 0 or store[row + at.D_KIND] != at.FABRIC_IN:
        return take_special(store, memory, where, now)
    if store[thread + at.T_HALF + which] == 1:
        store[thread + at.T_HALF + which] = 0
        return store[thread + at.T_HALF_VALUE + which]
    queue = store[thread + at.T_POSITIONS + which]
    payload = pop(store, queue, now)
    store[thread + at.T_HALF + which] = 1
    store[thread + at.T_HALF_VALUE + which] = payload >> 16 & 0xFFFF
    return payload & 0xFFFF


@inner_kernel
def put_half(store: Table, memory: Memory, where: tuple[int, int], value: tuple[int, int]) -> None:
    """Give a value (bits, cycle) to the destination; of a pair the first waits for the second."""
    e, thread = where
    bits, now = value
    row = store[thread + at.T_ROWS]
    if store[row + at.D_FLAGS] & at.PAIRS == 0 or store[row + at.D_KIND] != at.FABRIC_OUT:
        put_special(store, memory, (e, thread, 0), value)
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
def simd_group(store: Table, memory: Memory, what: What) -> Word:
    """Do the group that is ready: what = (element, thread, cycle, -). Returns its elements."""
    e, thread, now, _ = what
    op = store[thread + at.T_OP]
    scalar = store[thread + at.T_SCALAR]
    for _element in range(store[thread + at.T_GROUP]):
        a = b = scalar
        if store[thread + at.T_ROWS + 1] >= 0:
            a = take_half(store, memory, (e, thread, 1), now)
        if store[thread + at.T_ROWS + 2] >= 0:
            b = take_half(store, memory, (e, thread, 2), now)
        bits = combine(store[op + at.O_ARITHMETIC], store[op + at.O_TYPE], (a, b, scalar))
        put_half(store, memory, (e, thread), (bits, now))
        store[store[e + at.E_RUNS] + store[op + at.O_NUMBER]] += 1
        store[thread + at.T_LEFT] -= store[thread + at.T_STEP]
    return store[thread + at.T_GROUP]
