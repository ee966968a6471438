"""FIFOs in the memory of an element: push, pop, and what a full or an empty one does."""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.datapath import read_word, write_word
from tilewright.simulator.engine.jit import inner_kernel


@inner_kernel
def pool_push(store: Table, memory: Memory, where: tuple[int, int], bits: int) -> None:
    """Append a value to the element's FIFO; wake the task that waits for enough data."""
    e, pool = where
    tail = store[pool + at.Q_HEAD] + store[pool + at.Q_COUNT]
    if tail >= store[pool + at.Q_CAP]:
        tail -= store[pool + at.Q_CAP]
    wide = store[pool + at.Q_WIDE]
    write_word(memory, store[pool + at.Q_BASE] + tail * wide, wide, bits)
    store[pool + at.Q_COUNT] += 1
    needed = store[pool + at.Q_EMPTY]
    if needed > 0 and store[pool + at.Q_COUNT] >= needed:
        store[pool + at.Q_EMPTY] = 0
        if store[pool + at.Q_PUSH_TASK] >= 0:
            store[e + at.E_ACTIVE] |= 1 << store[pool + at.Q_PUSH_TASK]


@inner_kernel
def pool_pop(store: Table, memory: Memory, where: tuple[int, int]) -> Word:
    """Take the oldest value of the element's FIFO; wake the task that waits for space."""
    e, pool = where
    wide = store[pool + at.Q_WIDE]
    head = store[pool + at.Q_HEAD]
    bits = read_word(memory, store[pool + at.Q_BASE] + head * wide, wide)
    store[pool + at.Q_HEAD] = head + 1 if head + 1 < store[pool + at.Q_CAP] else 0
    store[pool + at.Q_COUNT] -= 1
    needed = store[pool + at.Q_FULL]
    if needed > 0 and store[pool + at.Q_CAP] - store[pool + at.Q_COUNT] >= needed:
        store[pool + at.Q_FULL] = 0
        if store[pool + at.Q_POP_TASK] >= 0:
            store[e + at.E_ACTIVE] |= 1 << store[pool + at.Q_POP_TASK]
    return bits


@inner_kernel
def pool_stops(store: Table, where: tuple[int, int], needed: int, asynchronous: int) -> Word:
    """Note a full or empty event for so many elements: where = (FIFO, 0 for a push).

    Returns the action: SUSPEND, TERMINATE, FAULT, or TEST.
    """
    pool, reads = where
    action = store[pool + (at.Q_EMPTY_ACTION if reads else at.Q_FULL_ACTION)]
    store[pool + (at.Q_EMPTY if reads else at.Q_FULL)] = needed
    if action == at.TEST_OR_SUSPEND and asynchronous:
        return at.SUSPEND
    return action
