"""Whether a special operation can go on: what its queues and its FIFOs in memory wait for."""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Table, Word
from tilewright.simulator.engine.fabric import await_space, has_space, head_ready, pop, schedule
from tilewright.simulator.engine.jit import address, inner_kernel
from tilewright.simulator.engine.operation_steps import fail
from tilewright.simulator.run.trace import BUSY, WAIT_INPUT, WAIT_OUTPUT


@inner_kernel
def fifo_event(store: Table, fifo: int, reads: int, needed: int, asynchronous: int) -> Word:
    """Note that a FIFO in memory lacks space or values for an operation; return its action.

    reads: whether values are missing, else space; needed: for how many values. The action is
    SUSPEND, TERMINATE, FAULT or TEST_OR_SUSPEND; for an asynchronous operation the last one becomes
    SUSPEND.
    """
    action = store[fifo + (at.Q_EMPTY_ACTION if reads else at.Q_FULL_ACTION)]
    store[fifo + (at.Q_EMPTY if reads else at.Q_FULL)] = needed
    if action == at.TEST_OR_SUSPEND and asynchronous:
        return at.SUSPEND
    return action


@inner_kernel
def queue_waits(store: Table, element: int, row: int, queue: int, now: int) -> Word:
    """Say whether a queue operand is ready: BUSY, or WAIT_INPUT or WAIT_OUTPUT.

    It waits for a wavelet, or for space; the element is visited again when that changes. row,
    queue: addresses of operand and FIFO.
    """
    queue = address(queue)
    if store[row + at.D_KIND] == at.FABRIC_OUT:
        if has_space(store, queue, now):
            return BUSY
        await_space(store, queue, element, now)
        return WAIT_OUTPUT
    if store[queue + at.F_COUNT] == 0:
        return WAIT_INPUT
    ready = head_ready(store, queue)
    if ready <= now:
        return BUSY
    schedule(store, element, ready)
    return WAIT_INPUT


@inner_kernel
def fifo_waits(store: Table, element: int, thread: int, operand: int, asynchronous: int) -> Word:
    """Say whether a FIFO in memory is ready for a thread: BUSY, WAIT_INPUT or WAIT_OUTPUT.

    It must hold the values that go at once, or have the space for them. A FIFO whose lack ends the
    operation gives -1 - its action. asynchronous: whether the operation runs on a microthread.
    """
    fifo = store[thread + at.T_POSITIONS + operand]
    count = store[fifo + at.Q_COUNT]
    needed = store[thread + at.T_GROUP]
    if operand > 0 and count >= needed:
        return BUSY
    if operand == 0 and count + needed <= store[fifo + at.Q_CAP]:
        return BUSY
    op = store[thread + at.T_OP]
    declared = store[op + at.O_OPERANDS + operand]
    typed = store[declared + at.D_KIND] == at.POOL or store[declared + at.D_FLAGS] & at.FIFO_TYPED
    if not typed and not asynchronous:
        fail(store, at.ERROR_FIFO_REGISTER, element, op, operand)
        return -1 - at.FAULT
    action = fifo_event(store, fifo, operand, needed, asynchronous)
    if action == at.SUSPEND:
        return WAIT_INPUT if operand else WAIT_OUTPUT
    if action == at.FAULT:
        fail(store, at.ERROR_FIFO, element, op, operand)
    return -1 - action


@inner_kernel
def special_ready(store: Table, element: int, thread: int, now: int) -> Word:
    """Say whether a thread's next value can go: BUSY, or WAIT_INPUT or WAIT_OUTPUT.

    All queues and FIFOs in memory of its operation must be ready. A FIFO whose lack ends the
    operation gives -1 - its action.
    """
    asynchronous = store[thread + at.T_ASYNC]
    for step in range(3):
        operand = 2 - step
        row = store[thread + at.T_ROWS + operand]
        if row < 0:
            continue
        kind = store[row + at.D_KIND]
        cycle_state = BUSY
        if kind in (at.FABRIC_IN, at.FABRIC_OUT):
            queue = store[thread + at.T_POSITIONS + operand]
            cycle_state = queue_waits(store, element, row, queue, now)
        elif kind == at.POOL:
            cycle_state = fifo_waits(store, element, thread, operand, asynchronous)
        if cycle_state != BUSY:
            return cycle_state
    return BUSY


@inner_kernel
def meets_control(store: Table, thread: int, now: int) -> Word:
    """Take the control wavelet that ends a thread's operation, and return True, if it is next.

    It is if the operation ends by control wavelets, and one is ready at the head of an input queue.
    now: the cycle.
    """
    if store[thread + at.T_ON_CONTROL] == at.CONTROL_IS_DATA:
        return False
    for operand in range(1, 3):
        row = store[thread + at.T_ROWS + operand]
        if row < 0 or store[row + at.D_KIND] != at.FABRIC_IN:
            continue
        if store[thread + at.T_HALF + operand]:
            continue  # its value comes first
        queue = store[thread + at.T_POSITIONS + operand]
        head = store[queue + at.F_RING] + 2 * store[queue + at.F_HEAD]
        if store[queue + at.F_COUNT] > 0 and store[head] <= now and store[head + 1] & at.IS_CONTROL:
            pop(store, queue, now)
            return True
    return False
