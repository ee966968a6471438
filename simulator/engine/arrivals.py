"""Tasks that are started by wavelets at the heads of input queues, or by emptied queues.

A data wavelet at the head of an input queue starts the queue's data task, a control wavelet the
task of its entry; a task may also wait until a queue is empty.
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.fabric import head_ready, pop, schedule
from tilewright.simulator.engine.jit import FeatureArguments, inner_kernel


@inner_kernel
def task_of(store: Table, element: int, slot: int, now: int) -> Word:
    """Return the task that the wavelet at the head of an input queue starts now, or -1.

    element: its address in the store; slot: 0 to 7, the queue; now: the cycle. A data wavelet
    starts the task bound to the queue, a control wavelet the task of its entry. -1 also while an
    operation uses the queue; the element is visited again when a wavelet on its way is ready.
    """
    queue = store[element + at.E_QUEUES + slot]
    if queue < 0 or store[element + at.E_QUEUES_BUSY] >> slot & 1 or store[queue + at.F_COUNT] == 0:
        return -1
    ready = head_ready(store, queue)
    if ready > now:
        schedule(store, element, ready)
        return -1
    payload = store[store[queue + at.F_RING] + 2 * store[queue + at.F_HEAD] + 1]
    bindings = store[element + at.E_BINDINGS]
    if payload & at.IS_CONTROL:
        data = store[bindings + slot]
        if data >= 0 and store[element + at.E_BLOCKED] >> data & 1:
            return -1  # a blocked data task blocks the control wavelets of its queue, too
        entry = payload >> at.ENTRY_AT & 63
        return store[bindings + at.BIND_CONTROL + entry]
    return store[bindings + slot]


@inner_kernel
def arrivals(store: Table, memory: Memory, arguments: FeatureArguments) -> Word:  # noqa: ARG001
    """Return the tasks that wavelets in the input queues can start now, one bit each.

    Tasks that waited until a queue is empty are activated and returned, too. `arguments` are
    (address of the element, cycle, 0, 0).
    """
    element, now, _, _ = arguments
    tasks = 0
    for slot in range(8):
        if store[element + at.E_LISTEN] >> slot & 1:
            task = task_of(store, element, slot, now)
            if task >= 0:
                tasks |= 1 << task
    if store[element + at.E_LISTEN] >> at.FLUSHED:
        tasks |= activate_emptied(store, element)
    return tasks


@inner_kernel
def activate_emptied(store: Table, element: int) -> Word:
    """Activate the tasks that waited until a queue is empty and now find it so; return their bits.

    element: its address in the store. For an output queue that still holds words the element is
    visited again when one leaves.
    """
    tasks = 0
    for slot in range(16):
        if store[element + at.E_LISTEN] >> (at.FLUSHED + slot) & 1 == 0:
            continue
        queue = store[element + at.E_QUEUES + slot]
        if store[queue + at.F_COUNT] == 0:
            tasks |= 1 << store[store[element + at.E_BINDINGS] + at.BIND_EMPTY + slot]
            store[element + at.E_LISTEN] &= ~(1 << (at.FLUSHED + slot))
        elif slot >= at.OUTPUT_SLOT:
            store[queue + at.F_WAITER] = element  # woken when the router takes a word
    store[element + at.E_ACTIVE] |= tasks
    return tasks


@inner_kernel
def receive(store: Table, memory: Memory, arguments: FeatureArguments) -> Word:  # noqa: ARG001
    """Take the wavelet that starts a task from the first input queue that has one for it.

    The wavelet is kept in the element, for the task's arguments. `arguments` are (address of the
    element, number of the task, cycle, 0). Returns 0.
    """
    element, task, now, _ = arguments
    for slot in range(8):
        if store[element + at.E_LISTEN] >> slot & 1 and task_of(store, element, slot, now) == task:
            store[element + at.E_ARGUMENT] = pop(store, store[element + at.E_QUEUES + slot], now)
            break
    return 0
