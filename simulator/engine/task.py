"""The main thread of an element: tasks, control instructions and the dispatch of operations."""

from __future__ import annotations

from tilewright.simulator.engine import layout as at
from tilewright.simulator.engine.datapath import do_memory, read_word, write_word
from tilewright.simulator.engine.jit import kernel
from tilewright.simulator.engine.layout import Memory, Table, Word


@kernel
def record(store: Table, e: int, row: int, start: int, end: int) -> None:
    """Append an operation (its address) or a task (-1 - number) to the timeline, if asked."""
    if store[at.S_RECORD] == 0:
        return
    n = store[at.S_EVENTS]
    event = store[at.S_EVENT] + n * at.V_WIDTH
    store[event + at.V_ELEMENT] = e
    store[event + at.V_ROW] = row
    store[event + at.V_THREAD] = store[row + at.O_THREAD] if row >= 0 else 0
    store[event + at.V_START] = start
    store[event + at.V_END] = end
    store[at.S_EVENTS] = n + 1


@kernel
def fail(store: Table, error: int, e: int, row: int, value: int) -> None:
    """Note the first error of the run."""
    if store[at.S_ERROR] == at.OK:
        store[at.S_ERROR] = error
        store[at.S_ERROR_ELEMENT] = e
        store[at.S_ERROR_ROW] = row
        store[at.S_ERROR_VALUE] = value


@kernel
def start_of(store: Table, e: int, row: int) -> Word:
    """Return an operand's first word in the memory of all, or its queue; check the bounds."""
    base = store[row + at.D_BASE]
    if store[row + at.D_KIND] != at.MEMORY:
        return store[e + at.E_QUEUES + base]
    first = store[e + at.E_VARIABLES]
    for i in range(store[row + at.D_TERMS]):
        value = store[first + store[row + at.D_VARIABLE + i]]
        base += value * store[row + at.D_FACTOR + i]
    low = base + store[row + at.D_LOW]
    high = base + store[row + at.D_HIGH]
    if low < store[row + at.D_FIRST] or high > store[row + at.D_LAST]:
        fail(store, at.ERROR_BOUNDS, e, row, base)
        return -1
    return store[e + at.E_MEMORY] + base


@kernel
def load_operands(store: Table, memory: Memory, where: tuple[int, int], op: int) -> Word:
    """Fill a thread's operands for an operation; return False on an error."""
    e, thread = where
    for which in range(3):
        row = store[op + at.O_OPERANDS + which]
        if row < 0:
            continue
        column = at.T_OPERANDS + which * at.T_OPERAND_WIDTH
        position = start_of(store, e, row)
        if position < 0:
            return False
        store[thread + column] = position
        for counter in range(1, at.T_OPERAND_WIDTH):
            store[thread + column + counter] = 0
    store[thread + at.T_SCALAR] = store[op + at.O_SCALAR]
    row = store[op + at.O_SCALAR_ROW]
    if row >= 0:
        position = start_of(store, e, row)
        if position < 0:
            return False
        store[thread + at.T_SCALAR] = read_word(memory, position, store[row + at.D_WIDE])
    if store[op + at.O_REDUCTION] == 1:
        wide = store[store[op + at.O_OPERANDS] + at.D_WIDE]
        write_word(memory, store[thread + at.T_OPERANDS], wide, store[thread + at.T_SCALAR])
    return True


@kernel
def run_memory(store: Table, memory: Memory, where: tuple[int, int], now: int) -> None:
    """Do a memory operation and keep the main thread busy for its cycles."""
    e, thread = where
    op = store[thread + at.T_OP]
    do_memory(store, memory, thread, now)
    extent = store[op + at.O_EXTENT]
    group = store[op + at.O_GROUP]
    groups = (extent + group - 1) // group
    per = store[op + at.O_DENOMINATOR]
    busy = max(1, (groups * store[op + at.O_CYCLES] + per - 1) // per)
    store[store[e + at.E_RUNS] + store[op + at.O_NUMBER]] += extent
    store[e + at.E_STATE] = at.M_READY
    store[e + at.E_UNTIL] = now + busy
    end = now + busy + store[at.K_MEMORY_COMPLETION]
    record(store, e, op, now, end)


@kernel
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
    if not load_operands(store, memory, (e, thread), op):
        return
    if store[op + at.O_FABRIC] == 0:
        run_memory(store, memory, (e, thread), now)
        return
    store[thread + at.T_STATE] = at.RUNNING
    store[thread + at.T_LEFT] = store[op + at.O_EXTENT]
    store[thread + at.T_NEXT] = now
    store[thread + at.T_FRACTION] = 0
    store[thread + at.T_START] = now
    store[e + at.E_RUNNING] += 1
    store[e + at.E_QUEUES_BUSY] |= queues
    store[e + at.E_STATE] = at.M_READY if store[op + at.O_ASYNC] == 1 else at.M_SYNC
    store[e + at.E_UNTIL] = now + store[at.K_ISSUE]


@kernel
def end_task(store: Table, e: int, now: int) -> None:
    """End the running task; its last instruction executes some cycles after its dispatch."""
    end = now + store[at.K_EXECUTE]
    store[at.S_END] = max(store[at.S_END], end)
    record(store, e, -1 - store[e + at.E_TASK], store[e + at.E_TASK_START], now)
    store[e + at.E_STATE] = at.M_IDLE
    store[e + at.E_UNTIL] = now


@kernel
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


@kernel
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


@kernel
def control(store: Table, e: int) -> Word:
    """Do an instruction on tasks or counters; return its cycles."""
    pc = store[e + at.E_PC]
    code = store[pc]
    store[e + at.E_PC] = pc + at.I_WIDTH
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


@kernel
def execute(store: Table, e: int, now: int) -> None:
    """Do the instruction at the program counter."""
    pc = store[e + at.E_PC]
    code = store[pc]
    if code == at.I_OPERATION:
        store[e + at.E_STATE] = at.M_DISPATCH
        store[e + at.E_UNTIL] = now + store[store[pc + 1] + at.O_LOAD]
    elif code == at.I_END:
        end_task(store, e, now)
    elif code == at.I_JUMP:
        store[e + at.E_PC] = store[pc + 3]
        store[e + at.E_UNTIL] = now + store[at.K_TAKEN]
    else:
        store[e + at.E_UNTIL] = now + control(store, e)


@kernel
def next_task(store: Table, e: int, now: int) -> Word:
    """Start the first runnable task, if there is one."""
    runnable = store[e + at.E_ACTIVE] & ~store[e + at.E_BLOCKED]
    if runnable == 0:
        return False
    task = 0
    while runnable & (1 << task) == 0:
        task += 1
    store[e + at.E_ACTIVE] &= ~(1 << task)
    store[e + at.E_TASK] = task
    store[e + at.E_PC] = store[store[e + at.E_TASKS] + task]
    store[e + at.E_STATE] = at.M_READY
    store[e + at.E_UNTIL] = now + store[at.K_SWITCH]
    store[e + at.E_TASK_START] = store[e + at.E_UNTIL]
    return True


@kernel
def advance_main(store: Table, memory: Memory, e: int, now: int) -> None:
    """Run the main thread until it needs a later cycle or waits."""
    while store[at.S_ERROR] == at.OK:
        if store[e + at.E_STATE] == at.M_SYNC:
            return
        if store[e + at.E_STATE] == at.M_IDLE and not next_task(store, e, now):
            return
        if store[e + at.E_UNTIL] > now:
            return
        if store[e + at.E_STATE] == at.M_DISPATCH:
            dispatch(store, memory, e, now)
        else:
            execute(store, e, now)
