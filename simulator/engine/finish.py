"""The end of operations that go element by element."""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Table
from tilewright.simulator.engine.jit import address, inner_kernel, part_kernel
from tilewright.simulator.engine.shared_state import record


@inner_kernel
def complete(store: Table, e: int, thread: int) -> None:
    """End an asynchronous operation: free its thread and queues, activate or unblock its task."""
    thread = address(thread)
    op = address(store[thread + at.T_OP])
    store[thread + at.T_STATE] = at.FREE
    store[e + at.E_RUNNING] -= 1
    store[e + at.E_QUEUES_BUSY] &= ~store[thread + at.T_QUEUES]
    action, task = store[op + at.O_ACTION], store[op + at.O_ACTION_TASK]
    if store[op + at.O_SPECIAL] == 1:
        action, task = store[thread + at.T_ACTION], store[thread + at.T_ACTION_TASK]
    if action == at.ACTIVATE:
        store[e + at.E_ACTIVE] |= 1 << task
    elif action == at.UNBLOCK:
        store[e + at.E_BLOCKED] &= ~(1 << task)


@inner_kernel
def finish(store: Table, e: int, thread: int, now: int) -> None:
    """Note the end of an operation whose last element went in this cycle."""
    thread = address(thread)
    op = address(store[thread + at.T_OP])
    end = max(now + 1, now + store[at.K_COMPLETION])
    store[at.S_END] = max(store[at.S_END], end)
    record(store, e, op, store[thread + at.T_START], end)
    if thread != store[e + at.E_THREADS]:
        store[thread + at.T_STATE] = at.COMPLETING
        store[thread + at.T_NEXT] = now + store[at.K_COMPLETION]
        return
    store[e + at.E_STATE] = at.M_READY
    store[e + at.E_UNTIL] = store[thread + at.T_NEXT]
    complete(store, e, thread)


@part_kernel
def last_element(store: Table, e: int, thread: int, now: int) -> None:
    """Count the elements of a plain operation and end it."""
    op = address(store[address(thread) + at.T_OP])
    store[store[e + at.E_RUNS] + store[op + at.O_NUMBER]] += store[op + at.O_EXTENT]
    finish(store, e, thread, now)
