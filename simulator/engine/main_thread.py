"""The main thread of an element: tasks, control instructions and the dispatch of operations."""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.indirect import use
from tilewright.simulator.engine.jit import inner_kernel, part_kernel
from tilewright.simulator.engine.shared_state import (
    fail,
    load_operands,
    record,
    run_memory,
)


@inner_kernel
def dispatch(store: Table, memory: Memory, e: int, now: int) -> None:
    """Start the operation that the program counter points at."""
    op = store[store[e + at.E_PC] + 1]
    store[e + at.E_PC] += at.I_WIDTH
    thread = store[e + at.E_THREADS] + store[op + at.O_THREAD] * at.T_WIDTH
    queues = store[op + at.O_QUEUES]
    if store[e + at.E_QUEUES_BUSY] & queues:
        fail(store, at.ERROR_QUEUE_BUSY, e, op, store[e + at.E_QUEUES_BUSY] & queues)
        return
    if store[thread + at.T_STATE] != at.FREE:
        fail(store, at.ERROR_THREAD_BUSY, e, op, store[thread + at.T_OP])
        return
    store[thread + at.T_OP] = op
    store[thread + at.T_PRIORITY] = store[op + at.O_PRIORITY]
    if store[op + at.O_SPECIAL] == 1:
        use(store, memory, at.FEATURE_LAUNCH, (e, thread, now, 0))
        return
    store[thread + at.T_QUEUES] = queues
    if not load_operands(store, memory, (e, thread), op):
        return
    if store[op + at.O_FABRIC] == 0:
        run_memory(store, memory, (e, thread), now)
        return
    store[thread + at.T_STATE] = at.PAUSED if store[thread + at.T_BLOCKED] else at.RUNNING
    store[thread + at.T_LEFT] = store[op + at.O_EXTENT]
    store[thread + at.T_NEXT] = now
    store[thread + at.T_FRACTION] = 0
    store[thread + at.T_START] = now
    store[e + at.E_RUNNING] += 1
    store[e + at.E_QUEUES_BUSY] |= queues
    store[e + at.E_STATE] = at.M_READY if store[op + at.O_ASYNC] == 1 else at.M_SYNC
    store[e + at.E_UNTIL] = now + store[at.K_ISSUE]


@part_kernel
def end_task(store: Table, e: int, now: int) -> None:
    """End the running task; its last instruction executes some cycles after its dispatch."""
    end = now + store[at.K_EXECUTE]
    store[at.S_END] = max(store[at.S_END], end)
    record(store, e, -1 - store[e + at.E_TASK], store[e + at.E_TASK_START], now)
    store[e + at.E_STATE] = at.M_IDLE
    store[e + at.E_UNTIL] = now


@part_kernel
def control_task(store: Table, e: int, code: int, task: int) -> Word:
    """Activate, block or unblock a task; return the cycles."""
    bit = 1 << task
    if code == at.I_ACTIVATE:
        store[e + at.E_ACTIVE] |= bit
    elif code == at.I_BLOCK:
        store[e + at.E_BLOCKED] |= bit
    else:
        store[e + at.E_BLOCKED] &= ~bit
    return store[at.K_CONTROL]


@part_kernel
def branch(store: Table, e: int, pc: int, slot: int) -> Word:
    """End a loop's turn or test a counter; return the cycles."""
    loop = store[pc] == at.I_END_LOOP
    if loop:
        store[slot] += 1
    below = store[slot] < store[pc + 2]
    if below == loop:
        store[e + at.E_PC] = store[pc + 3]
        return store[at.K_LOOP] if loop else store[at.K_TAKEN]
    return store[at.K_NOT_TAKEN]


@inner_kernel
def control(store: Table, memory: Memory, e: int) -> Word:
    """Do an instruction on tasks, counters, scalars or registers; return its cycles."""
    pc = store[e + at.E_PC]
    code = store[pc]
    store[e + at.E_PC] = pc + at.I_WIDTH
    if code >= at.I_ARGUMENT:
        return use(store, memory, at.FEATURE_CONTROL, (e, pc, 0, 0))
    if code in (at.I_ACTIVATE, at.I_BLOCK, at.I_UNBLOCK):
        return control_task(store, e, code, store[pc + 1])
    slot = store[e + at.E_VARIABLES] + store[pc + 1]
    if code in (at.I_END_LOOP, at.I_UNLESS_BELOW):
        return branch(store, e, pc, slot)
    if code == at.I_ADD:
        store[slot] += store[pc + 2]
    else:
        store[slot] = store[pc + 2]
    return store[at.K_COUNTER]


@inner_kernel
def execute(store: Table, memory: Memory, e: int, now: int) -> None:
    """Do the instruction at the program counter."""
    pc = store[e + at.E_PC]
    code = store[pc]
    if code == at.I_OPERATION:
        store[e + at.E_STATE] = at.M_DISPATCH
        store[e + at.E_UNTIL] = now + store[store[pc + 1] + at.O_LOAD]
    elif code >= at.I_MAP_START:
        use(store, memory, at.FEATURE_MAP, (e, now, 0, 0))
    elif code == at.I_END:
        end_task(store, e, now)
    elif code == at.I_JUMP:
        store[e + at.E_PC] = store[pc + 3]
        store[e + at.E_UNTIL] = now + store[at.K_TAKEN]
    else:
        store[e + at.E_UNTIL] = now + control(store, memory, e)


@inner_kernel
def next_task(store: Table, memory: Memory, e: int, now: int) -> Word:
    """Start the first runnable task, if there is one."""
    runnable = store[e + at.E_ACTIVE]
    if store[e + at.E_LISTEN]:
        runnable |= use(store, memory, at.FEATURE_ARRIVALS, (e, now, 0, 0))
    runnable &= ~store[e + at.E_BLOCKED]
    if runnable == 0:
        return False
    task = 0
    while runnable & (1 << task) == 0:
        task += 1
    if store[e + at.E_ACTIVE] >> task & 1:
        store[e + at.E_ACTIVE] &= ~(1 << task)
    else:
        use(store, memory, at.FEATURE_RECEIVE, (e, task, now, 0))
    store[e + at.E_TASK] = task
    store[e + at.E_PC] = store[store[e + at.E_TASKS] + task]
    store[e + at.E_STATE] = at.M_READY
    store[e + at.E_UNTIL] = now + store[at.K_SWITCH]
    store[e + at.E_TASK_START] = store[e + at.E_UNTIL]
    return True


@inner_kernel
def advance_main(store: Table, memory: Memory, e: int, now: int) -> None:
    """Run the main thread until it needs a later cycle or waits."""
    while store[at.S_ERROR] == at.OK:
        if store[e + at.E_STATE] == at.M_SYNC:
            return
        if store[e + at.E_STATE] == at.M_MAP:
            going = use(store, memory, at.FEATURE_MAP, (e, now, 0, 0))
            if not going:
                return
        if store[e + at.E_STATE] == at.M_IDLE and not next_task(store, memory, e, now):
            return
        if store[e + at.E_UNTIL] > now:
            return
        if store[e + at.E_STATE] == at.M_DISPATCH:
            dispatch(store, memory, e, now)
        else:
            execute(store, memory, e, now)
