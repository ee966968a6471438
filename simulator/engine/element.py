"""One element in one cycle: its main thread, then at most one element of one DSD operation.

The datapath serves one wavelet operation per cycle; ready microthreads take turns
(engines.md §1). An operation on memory alone keeps the main thread busy and leaves that
slot to the microthreads (wafer.md §4.1: asynchronous data movement belongs to the fabric's time).
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.datapath import do_element
from tilewright.simulator.engine.fabric import await_space, has_space, head_ready, schedule
from tilewright.simulator.engine.jit import address, inner_kernel, part_kernel, use
from tilewright.simulator.engine.operations import (
    complete,
    fail,
    last_element,
    load_operands,
    record,
    run_memory,
)
from tilewright.simulator.run.trace import BUSY, IDLE, WAIT_INPUT, WAIT_OUTPUT


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


@part_kernel
def queues_ready(store: Table, e: int, thread: int, now: int) -> Word:
    """Return BUSY if the operation's next element can go now, else what it waits for.

    The element is woken when that changes.
    """
    thread = address(thread)
    op = address(store[thread + at.T_OP])
    for which in range(3):
        row = store[op + at.O_OPERANDS + which]
        if row < 0:
            continue
        row = address(row)
        if store[row + at.D_KIND] == at.MEMORY:
            continue
        queue = address(store[thread + at.T_POSITIONS + which])
        if store[row + at.D_KIND] == at.FABRIC_OUT:
            if not has_space(store, queue, now):
                await_space(store, queue, e, now)
                return WAIT_OUTPUT
            continue
        if store[queue + at.F_COUNT] == 0:
            return WAIT_INPUT
        ready = head_ready(store, queue)
        if ready > now:
            schedule(store, e, ready)
            return WAIT_INPUT
    return BUSY


@part_kernel
def fire(store: Table, memory: Memory, e: int, thread: int, now: int) -> Word:
    """Do the next element of a running thread if its queues allow; return the mood."""
    if store[store[address(thread) + at.T_OP] + at.O_SPECIAL] == 1:
        return use(store, memory, at.FEATURE_SPECIAL, (e, thread, now, 0))
    mood = queues_ready(store, e, thread, now)
    if mood != BUSY:
        return mood
    do_element(store, memory, thread, now)
    thread = address(thread)
    op = address(store[thread + at.T_OP])
    pace = store[op + at.O_CYCLES]
    per = store[op + at.O_DENOMINATOR]
    if per != 1:
        pace += store[thread + at.T_FRACTION]
        store[thread + at.T_FRACTION] = pace % per
        pace //= per
    store[thread + at.T_NEXT] = now + pace
    store[thread + at.T_LEFT] -= 1
    schedule(store, e, store[thread + at.T_NEXT])
    if store[thread + at.T_LEFT] == 0:
        last_element(store, e, thread, now)
    return BUSY


@part_kernel
def run_threads(store: Table, memory: Memory, e: int, now: int) -> Word:
    """Serve the running threads by priority, those of one priority in turn; return the mood."""
    e = address(e)
    first = store[e + at.E_THREADS]
    count = store[e + at.E_THREAD_COUNT]
    levels = store[e + at.E_LEVELS]
    ranked = levels & (levels - 1) != 0
    mood = IDLE
    fired = False
    for step in range(at.LEVELS):
        rank = at.LEVELS - 1 - step
        if levels >> rank & 1 == 0:
            continue
        turn = store[e + at.E_TURN + rank]
        for i in range(1, count + 1):
            slot = turn + i if turn + i < count else turn + i - count
            thread = address(first + slot * at.T_WIDTH)
            state = store[thread + at.T_STATE]
            if state in (at.FREE, at.MAPPING, at.PAUSED) or (
                ranked and store[thread + at.T_PRIORITY] != rank
            ):
                continue
            due = store[thread + at.T_NEXT]
            if due > now or (fired and state == at.RUNNING):
                schedule(store, e, max(due, now + 1))
                mood = BUSY
                continue
            if state == at.RUNNING:
                found = fire(store, memory, e, thread, now)
                fired = found == BUSY
                if fired:
                    store[e + at.E_TURN + rank] = slot
                mood = BUSY if fired or mood == BUSY else max(mood, found)
            state = store[thread + at.T_STATE]
            if state == at.COMPLETING:
                if store[thread + at.T_NEXT] <= now:
                    complete(store, e, thread)
                else:
                    schedule(store, e, store[thread + at.T_NEXT])
    return mood


@part_kernel
def visit_element(store: Table, memory: Memory, e: int, now: int) -> None:
    """Account the time since the last visit, then run the element's main thread and threads."""
    e = address(e)
    store[e + at.E_CYCLES + store[e + at.E_CYCLE_STATE]] += now - store[e + at.E_SINCE]
    store[e + at.E_SINCE] = now
    if store[e + at.E_STATE] != at.M_SYNC:
        advance_main(store, memory, e, now)
    mood = IDLE
    if store[e + at.E_RUNNING] > 0:
        mood = run_threads(store, memory, e, now)
        if store[e + at.E_STATE] != at.M_SYNC:
            advance_main(store, memory, e, now)
    if store[e + at.E_STATE] == at.M_MAP:
        mood = (
            max(mood, store[store[e + at.E_THREADS] + at.T_CYCLE_STATE]) if mood != BUSY else BUSY
        )
    if store[e + at.E_STATE] in (at.M_READY, at.M_DISPATCH):
        schedule(store, e, store[e + at.E_UNTIL])
        mood = BUSY
    store[e + at.E_CYCLE_STATE] = mood
