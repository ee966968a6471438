"""One processing element in one cycle: the next task, its main thread, then its other threads.

Which thread does its next value, `issue_slot.py` decides. An operation on memory alone keeps the
main thread busy and leaves that slot to the
microthreads (wafer.md §4.1: asynchronous data movement belongs to the fabric's time).
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.fabric import schedule
from tilewright.simulator.engine.issue_slot import run_threads
from tilewright.simulator.engine.jit import address, inner_kernel, part_kernel, use
from tilewright.simulator.engine.operation_steps import (
    end_memory,
    fail,
    load_operands,
    look_at_operands,
    record,
    run_memory,
)
from tilewright.simulator.run.trace import BUSY, IDLE, WAIT_INPUT


@inner_kernel
def dispatch(store: Table, memory: Memory, element: int, now: int) -> None:
    """Start the operation at a processing element's program counter, and move the counter on.

    An operation on memory alone is done at once and keeps the main thread busy; one with queues
    starts on its thread. now: the cycle. A queue or thread that is in use is an error of the run.
    """
    op = store[store[element + at.E_PC] + 1]
    store[element + at.E_PC] += at.I_WIDTH
    thread = store[element + at.E_THREADS] + store[op + at.O_THREAD] * at.T_WIDTH
    queues = store[op + at.O_QUEUES]
    if store[element + at.E_QUEUES_BUSY] & queues:
        fail(store, at.ERROR_QUEUE_BUSY, element, op, store[element + at.E_QUEUES_BUSY] & queues)
        return
    if store[thread + at.T_STATE] != at.FREE:
        fail(store, at.ERROR_THREAD_BUSY, element, op, store[thread + at.T_OP])
        return
    store[thread + at.T_OP] = op
    store[thread + at.T_PRIORITY] = store[op + at.O_PRIORITY]
    if store[op + at.O_SPECIAL] == 1:
        use(store, memory, at.FEATURE_LAUNCH, (element, thread, now, 0))
        return
    store[thread + at.T_QUEUES] = queues
    store[store[element + at.E_RUNS] + store[op + at.O_RUNS]] += 1
    if not load_operands(store, memory, element, thread, op):
        return
    look_at_operands(store, memory, element, thread)
    if store[op + at.O_FABRIC] == 0:
        run_memory(store, memory, element, thread, now)
        return
    store[thread + at.T_STATE] = at.PAUSED if store[thread + at.T_BLOCKED] else at.RUNNING
    store[thread + at.T_LEFT] = store[op + at.O_EXTENT]
    store[thread + at.T_NEXT] = now
    store[thread + at.T_FRACTION] = 0
    store[thread + at.T_START] = now
    store[element + at.E_RUNNING] += 1
    store[element + at.E_QUEUES_BUSY] |= queues
    store[element + at.E_STATE] = at.M_ISSUED if store[op + at.O_ASYNC] == 1 else at.M_SYNC
    store[element + at.E_UNTIL] = now + store[at.K_ISSUE]


@part_kernel
def end_task(store: Table, element: int, now: int) -> None:
    """End the running task of a processing element, and record it in the timeline.

    now: cycle of the dispatch of its last instruction, which executes K_EXECUTE cycles later; that
    may be the end of the run.
    """
    end = now + store[at.K_EXECUTE]
    store[at.S_END] = max(store[at.S_END], end)
    record(store, element, -1 - store[element + at.E_TASK], store[element + at.E_TASK_START], now)
    store[element + at.E_STATE] = at.M_IDLE
    store[element + at.E_UNTIL] = now + store[at.K_END]


@part_kernel
def control_task(store: Table, element: int, code: int, task: int) -> Word:
    """Activate, block or unblock a task of a processing element; return the instruction's cycles.

    code: I_ACTIVATE, I_BLOCK, or else unblock; task: its number.
    """
    bit = 1 << task
    if code == at.I_ACTIVATE:
        store[element + at.E_ACTIVE] |= bit
    elif code == at.I_BLOCK:
        store[element + at.E_BLOCKED] |= bit
    else:
        store[element + at.E_BLOCKED] &= ~bit
    return store[at.K_CONTROL]


@part_kernel
def branch(store: Table, element: int, pc: int, slot: int) -> Word:
    """Do the end of a loop's turn, or a test whether a counter is below a limit.

    element: address of the processing element; pc: of the instruction; slot: of the counter, a
    named integer. It jumps back to the loop's body, or over the branch that is not taken. Returns
    the cycles of the instruction.
    """
    loop = store[pc] == at.I_END_LOOP
    if loop:
        store[slot] += 1
    below = store[slot] < store[pc + 2]
    if below == loop:
        store[element + at.E_PC] = store[pc + 3]
        return store[at.K_LOOP] if loop else store[at.K_TAKEN]
    return store[at.K_NOT_TAKEN]


@inner_kernel
def control(store: Table, memory: Memory, element: int) -> Word:
    """Do an instruction that is no operation on descriptors; return its cycles.

    It is on tasks, counters, scalars, registers or the fabric. element: address of the processing
    element, whose program counter moves on.
    """
    pc = store[element + at.E_PC]
    code = store[pc]
    store[element + at.E_PC] = pc + at.I_WIDTH
    if code >= at.I_ARGUMENT:
        return use(store, memory, at.FEATURE_CONTROL, (element, pc, 0, 0))
    if code in (at.I_ACTIVATE, at.I_BLOCK, at.I_UNBLOCK):
        return control_task(store, element, code, store[pc + 1])
    slot = store[element + at.E_VARIABLES] + store[pc + 1]
    if code in (at.I_END_LOOP, at.I_UNLESS_BELOW):
        return branch(store, element, pc, slot)
    if code == at.I_ADD:
        store[slot] += store[pc + 2]
    else:
        store[slot] = store[pc + 2]
        store[slot + store[at.S_SETS]] += 1
    return store[at.K_COUNTER]


@inner_kernel
def execute(store: Table, memory: Memory, element: int, now: int) -> None:
    """Do the instruction at an element's program counter, or begin to fetch an operation.

    An operation is dispatched after its load cycles; any other instruction is done at once, and the
    next one is due after its cycles. now: the cycle.
    """
    pc = store[element + at.E_PC]
    code = store[pc]
    store[element + at.E_STATE] = at.M_READY
    if code == at.I_OPERATION:
        store[element + at.E_STATE] = at.M_DISPATCH
        store[element + at.E_UNTIL] = now + store[store[pc + 1] + at.O_LOAD]
    elif code >= at.I_MAP_START:
        use(store, memory, at.FEATURE_MAP, (element, now, 0, 0))
    elif code == at.I_END:
        end_task(store, element, now)
    elif code == at.I_JUMP:
        store[element + at.E_PC] = store[pc + 3]
        store[element + at.E_UNTIL] = now + store[at.K_TAKEN]
    else:
        store[element + at.E_UNTIL] = now + control(store, memory, element)


@inner_kernel
def next_task(store: Table, memory: Memory, element: int, now: int) -> Word:
    """Start the runnable task with the lowest number; return whether there is one.

    A task is runnable if it is active, or a wavelet for it is there, and it is not blocked.
    element: address of the processing element; now: the cycle. The task's first instruction is due
    after the cycles of a task switch.
    """
    runnable = store[element + at.E_ACTIVE]
    if store[element + at.E_LISTEN]:
        runnable |= use(store, memory, at.FEATURE_ARRIVALS, (element, now, 0, 0))
    runnable &= ~store[element + at.E_BLOCKED]
    if runnable == 0:
        return False
    task = 0
    while runnable & (1 << task) == 0:
        task += 1
    if store[element + at.E_ACTIVE] >> task & 1:
        store[element + at.E_ACTIVE] &= ~(1 << task)
    else:
        use(store, memory, at.FEATURE_RECEIVE, (element, task, now, 0))
    store[element + at.E_TASK] = task
    store[element + at.E_PC] = store[store[element + at.E_TASKS] + task]
    store[element + at.E_STATE] = at.M_READY
    store[element + at.E_UNTIL] = now + store[at.K_SWITCH]
    store[element + at.E_TASK_START] = store[element + at.E_UNTIL]
    return True


@inner_kernel
def advance_main(store: Table, memory: Memory, element: int, now: int) -> None:
    """Run a processing element's main thread until it waits or its next instruction is due later.

    element: its address in the store; now: the cycle. Instructions that take no cycles are done in
    one call; an error of the run ends it.
    """
    while store[at.S_ERROR] == at.OK:
        if store[element + at.E_STATE] == at.M_SYNC:
            return
        if store[element + at.E_STATE] == at.M_MAP and not use(
            store, memory, at.FEATURE_MAP, (element, now, 0, 0)
        ):
            return
        if store[element + at.E_UNTIL] > now:
            return
        if store[element + at.E_STATE] == at.M_IDLE:
            if not next_task(store, memory, element, now):
                return
            if store[element + at.E_UNTIL] > now:
                return
        if store[element + at.E_STATE] == at.M_MEMORY:
            end_memory(store, element)
        if store[element + at.E_STATE] == at.M_DISPATCH:
            dispatch(store, memory, element, now)
        else:
            execute(store, memory, element, now)


@part_kernel
def visit_element(store: Table, memory: Memory, element: int, now: int) -> None:
    """Do all that a processing element does in one cycle: its main thread, then its other threads.

    The cycles since the last visit are counted first, in the state that it had: idle, busy, waiting
    for input or for output.
    """
    element = address(element)
    since = now - store[element + at.E_SINCE]
    cycle_state = store[element + at.E_CYCLE_STATE]
    store[element + at.E_CYCLES + cycle_state] += since
    if cycle_state >= WAIT_INPUT and since > 0:
        record(store, element, at.V_WAITS + cycle_state, now - since, now)
    store[element + at.E_SINCE] = now
    if store[element + at.E_STATE] != at.M_SYNC:
        advance_main(store, memory, element, now)
    cycle_state = IDLE
    if store[element + at.E_RUNNING] > 0:
        cycle_state = run_threads(store, memory, element, now)
        if store[element + at.E_STATE] != at.M_SYNC:
            advance_main(store, memory, element, now)
    if store[element + at.E_STATE] == at.M_MAP and cycle_state != BUSY:
        map_thread = store[element + at.E_THREADS]
        cycle_state = max(cycle_state, store[map_thread + at.T_CYCLE_STATE])
    if store[element + at.E_STATE] >= at.M_ISSUED:
        schedule(store, element, store[element + at.E_UNTIL])
        cycle_state = BUSY
    elif store[element + at.E_STATE] == at.M_IDLE and store[element + at.E_UNTIL] > now:
        schedule(store, element, store[element + at.E_UNTIL])
    store[element + at.E_CYCLE_STATE] = cycle_state
