"""Wavelets that start tasks: data tasks of input queues, control tasks of entries."""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.fabric import head_ready, pop, schedule
from tilewright.simulator.engine.jit import What, inner_kernel


@inner_kernel
def task_of(store: Table, e: int, slot: int, now: int) -> Word:
    """Return the task that the head of an input queue starts now, or -1."""
    queue = store[e + at.E_QUEUES + slot]
    if queue < 0 or store[e + at.E_QUEUES_BUSY] >> slot & 1 or store[queue + at.F_COUNT] == 0:
        return -1
    ready = head_ready(store, queue)
    if ready > now:
        schedule(store, e, ready)
        return -1
    payload = store[store[queue + at.F_RING] + 2 * store[queue + at.F_HEAD] + 1]
    bindings = store[e + at.E_BINDINGS]
    if payload & at.IS_CONTROL:
        data = store[bindings + slot]
        if data >= 0 and store[e + at.E_BLOCKED] >> data & 1:
            return -1  # what blocks a queue's data task blocks its control wavelets too
        entry = payload >> at.ENTRY_AT & 63
        return store[bindings + at.BIND_CONTROL + entry]
    return store[bindings + slot]


@inner_kernel
def arrivals(store: Table, memory: Memory, what: What) -> Word:  # noqa: ARG001
    """Return the tasks that wavelets at the heads of input queues can start, a bit each.

    what = (element, cycle, -, -).
    """
    e, now, _, _ = what
    found = 0
    for slot in range(8):
        if store[e + at.E_LISTEN] >> slot & 1:
            task = task_of(store, e, slot, now)
            if task >= 0:
                found |= 1 << task
    if store[e + at.E_LISTEN] >> at.FLUSHED:
        found |= emptied(store, e)
    return found


@inner_kernel
def emptied(store: Table, e: int) -> Word:
    """Make the tasks active that wait for the emptying of a queue; return them, a bit each."""
    found = 0
    for slot in range(16):
        if store[e + at.E_LISTEN] >> (at.FLUSHED + slot) & 1 == 0:
            continue
        queue = store[e + at.E_QUEUES + slot]
        if store[queue + at.F_COUNT] == 0:
            found |= 1 << store[store[e + at.E_BINDINGS] + at.BIND_EMPTY + slot]
            store[e + at.E_LISTEN] &= ~(1 << (at.FLUSHED + slot))
        elif slot >= at.OUTPUT_SLOT:
            store[queue + at.F_WAITER] = e  # the router's taking wakes the element
    store[e + at.E_ACTIVE] |= found
    return found


@inner_kernel
def receive(store: Table, memory: Memory, what: What) -> Word:  # noqa: ARG001
    """Take the wavelet that starts a task from the first queue that has one for it.

    what = (element, task, cycle, -).
    """
    e, task, now, _ = what
    for slot in range(8):
        if store[e + at.E_LISTEN] >> slot & 1 and task_of(store, e, slot, now) == task:
            store[e + at.E_ARGUMENT] = pop(store, store[e + at.E_QUEUES + slot], now)
            break
    return 0
