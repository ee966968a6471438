"""The main thread of an element: tasks, control instructions and the dispatch of operations."""

from __future__ import annotations

from tilewright.simulator.engine import layout as at
from tilewright.simulator.engine.datapath import do_memory, read_word, write_word
from tilewright.simulator.engine.jit import inline_kernel, kernel
from tilewright.simulator.engine.layout import Codes, Elements, Fabric


@inline_kernel
def record(fabric: Fabric, elements: Elements, entry: tuple[int, int, int, int, int]) -> None:
    """Append (element, operation or -1 - task, thread, start, end) to the timeline, if asked."""
    if fabric.status[at.S_RECORD] == 0:
        return
    n = fabric.status[at.S_EVENTS]
    elements.event[n, 0] = entry[0]
    elements.event[n, 1] = entry[1]
    elements.event[n, 2] = entry[2]
    elements.event[n, 3] = entry[3]
    elements.event[n, 4] = entry[4]
    fabric.status[at.S_EVENTS] = n + 1


@inline_kernel
def fail(fabric: Fabric, error: int, e: int, row: int, value: int) -> None:
    """Note the first error of the run."""
    if fabric.status[at.S_ERROR] == at.OK:
        fabric.status[at.S_ERROR] = error
        fabric.status[at.S_ERROR_ELEMENT] = e
        fabric.status[at.S_ERROR_ROW] = row
        fabric.status[at.S_ERROR_VALUE] = value


@kernel
def start_of(fabric: Fabric, codes: Codes, elements: Elements, e: int, row: int) -> int:
    """Return an operand's first word in the memory of all, or its queue; check the bounds."""
    base = codes.operand[row, at.D_BASE]
    if codes.operand[row, at.D_KIND] != at.MEMORY:
        return elements.queue[e, base]
    first = elements.element[e, at.E_VARIABLES]
    for i in range(codes.operand[row, at.D_TERMS]):
        value = elements.variable[first + codes.operand[row, at.D_VARIABLE + i]]
        base += value * codes.operand[row, at.D_FACTOR + i]
    low = base + codes.operand[row, at.D_LOW]
    high = base + codes.operand[row, at.D_HIGH]
    if low < codes.operand[row, at.D_FIRST] or high > codes.operand[row, at.D_LAST]:
        fail(fabric, at.ERROR_BOUNDS, e, row, base)
        return -1
    return elements.element[e, at.E_MEMORY] + base


@kernel
def load_operands(
    fabric: Fabric, codes: Codes, elements: Elements, where: tuple[int, int], op: int
) -> bool:
    """Fill a thread's operands for an operation; return False on an error."""
    e, thread = where
    table = elements.thread
    for which in range(3):
        row = codes.operation[op, at.O_OPERANDS + which]
        if row < 0:
            continue
        column = at.T_OPERANDS + which * at.T_OPERAND_WIDTH
        position = start_of(fabric, codes, elements, e, row)
        if position < 0:
            return False
        table[thread, column] = position
        table[thread, column + 1 : column + at.T_OPERAND_WIDTH] = 0
    table[thread, at.T_SCALAR] = codes.operation[op, at.O_SCALAR]
    row = codes.operation[op, at.O_SCALAR_ROW]
    if row >= 0:
        position = start_of(fabric, codes, elements, e, row)
        if position < 0:
            return False
        table[thread, at.T_SCALAR] = read_word(
            elements, position, codes.operand[row, at.D_WIDE]
        )
    if codes.operation[op, at.O_REDUCTION] == 1:
        wide = codes.operand[codes.operation[op, at.O_OPERANDS], at.D_WIDE]
        write_word(elements, table[thread, at.T_OPERANDS], wide, table[thread, at.T_SCALAR])
    return True


@kernel
def run_memory(
    fabric: Fabric, codes: Codes, elements: Elements, where: tuple[int, int], now: int
) -> None:
    """Do a memory operation and keep the main thread busy for its cycles."""
    e, thread = where
    op = elements.thread[thread, at.T_OP]
    row = elements.element[e]
    do_memory(fabric, codes, elements, thread)
    extent = codes.operation[op, at.O_EXTENT]
    group = codes.operation[op, at.O_GROUP]
    groups = (extent + group - 1) // group
    per = codes.operation[op, at.O_DENOMINATOR]
    busy = max(1, (groups * codes.operation[op, at.O_CYCLES] + per - 1) // per)
    elements.runs[row[at.E_RUNS] + op - row[at.E_OPS]] += extent
    row[at.E_STATE] = at.M_READY
    row[at.E_UNTIL] = now + busy
    end = now + busy + codes.cycles[at.K_MEMORY_COMPLETION]
    record(fabric, elements, (e, op, 0, now, end))


@kernel
def dispatch(fabric: Fabric, codes: Codes, elements: Elements, e: int, now: int) -> None:
    """Start the operation that the program counter points at."""
    row = elements.element[e]
    op = codes.instruction[row[at.E_PC], 1]
    row[at.E_PC] += 1
    thread = row[at.E_THREADS] + codes.operation[op, at.O_THREAD]
    queues = codes.operation[op, at.O_QUEUES]
    if row[at.E_QUEUES_BUSY] & queues:
        fail(fabric, at.ERROR_QUEUE_BUSY, e, op, row[at.E_QUEUES_BUSY] & queues)
        return
    if elements.thread[thread, at.T_STATE] != at.FREE:
        fail(fabric, at.ERROR_THREAD_BUSY, e, op, elements.thread[thread, at.T_OP])
        return
    elements.thread[thread, at.T_OP] = op
    if not load_operands(fabric, codes, elements, (e, thread), op):
        return
    if codes.operation[op, at.O_FABRIC] == 0:
        run_memory(fabric, codes, elements, (e, thread), now)
        return
    elements.thread[thread, at.T_STATE] = at.RUNNING
    elements.thread[thread, at.T_LEFT] = codes.operation[op, at.O_EXTENT]
    elements.thread[thread, at.T_NEXT] = now
    elements.thread[thread, at.T_FRACTION] = 0
    elements.thread[thread, at.T_START] = now
    row[at.E_RUNNING] += 1
    row[at.E_QUEUES_BUSY] |= queues
    row[at.E_STATE] = at.M_READY if codes.operation[op, at.O_ASYNC] == 1 else at.M_SYNC
    row[at.E_UNTIL] = now + codes.cycles[at.K_ISSUE]


@kernel
def end_task(fabric: Fabric, codes: Codes, elements: Elements, e: int, now: int) -> None:
    """End the running task; its last instruction executes some cycles after its dispatch."""
    row = elements.element[e]
    end = now + codes.cycles[at.K_EXECUTE]
    fabric.status[at.S_END] = max(fabric.status[at.S_END], end)
    record(fabric, elements, (e, -1 - row[at.E_TASK], 0, row[at.E_TASK_START], now))
    row[at.E_STATE] = at.M_IDLE
    row[at.E_UNTIL] = now


@kernel
def control(codes: Codes, elements: Elements, e: int) -> int:
    """Do an instruction on tasks or counters; return its cycles."""
    row = elements.element[e]
    pc = row[at.E_PC]
    code = codes.instruction[pc, 0]
    first = codes.instruction[pc, 1]
    row[at.E_PC] = pc + 1
    if code == at.I_ACTIVATE:
        row[at.E_ACTIVE] |= 1 << first
        return codes.cycles[at.K_CONTROL]
    if code == at.I_BLOCK:
        row[at.E_BLOCKED] |= 1 << first
        return codes.cycles[at.K_CONTROL]
    if code == at.I_UNBLOCK:
        row[at.E_BLOCKED] &= ~(1 << first)
        return codes.cycles[at.K_CONTROL]
    slot = row[at.E_VARIABLES] + first
    if code == at.I_SET or code == at.I_LOOP:
        elements.variable[slot] = codes.instruction[pc, 2]
        return codes.cycles[at.K_COUNTER]
    if code == at.I_ADD:
        elements.variable[slot] += codes.instruction[pc, 2]
        return codes.cycles[at.K_COUNTER]
    if code == at.I_END_LOOP:
        elements.variable[slot] += 1
    below = elements.variable[slot] < codes.instruction[pc, 2]
    if code == at.I_END_LOOP:
        if below:
            row[at.E_PC] = codes.instruction[pc, 3]
            return codes.cycles[at.K_LOOP]
        return codes.cycles[at.K_NOT_TAKEN]
    if below:
        return codes.cycles[at.K_NOT_TAKEN]
    row[at.E_PC] = codes.instruction[pc, 3]
    return codes.cycles[at.K_TAKEN]


@kernel
def execute(fabric: Fabric, codes: Codes, elements: Elements, e: int, now: int) -> None:
    """Do the instruction at the program counter."""
    row = elements.element[e]
    pc = row[at.E_PC]
    code = codes.instruction[pc, 0]
    if code == at.I_OPERATION:
        row[at.E_STATE] = at.M_DISPATCH
        row[at.E_UNTIL] = now + codes.operation[codes.instruction[pc, 1], at.O_LOAD]
    elif code == at.I_END:
        end_task(fabric, codes, elements, e, now)
    elif code == at.I_JUMP:
        row[at.E_PC] = codes.instruction[pc, 3]
        row[at.E_UNTIL] = now + codes.cycles[at.K_TAKEN]
    else:
        row[at.E_UNTIL] = now + control(codes, elements, e)


@kernel
def next_task(codes: Codes, elements: Elements, e: int, now: int) -> bool:
    """Start the first runnable task, if there is one."""
    row = elements.element[e]
    runnable = row[at.E_ACTIVE] & ~row[at.E_BLOCKED]
    if runnable == 0:
        return False
    task = 0
    while runnable & (1 << task) == 0:
        task += 1
    row[at.E_ACTIVE] &= ~(1 << task)
    row[at.E_TASK] = task
    row[at.E_PC] = codes.task[row[at.E_TASKS] + task, 0]
    row[at.E_STATE] = at.M_READY
    row[at.E_UNTIL] = now + codes.cycles[at.K_SWITCH]
    row[at.E_TASK_START] = row[at.E_UNTIL]
    return True


@kernel
def advance_main(fabric: Fabric, codes: Codes, elements: Elements, e: int, now: int) -> None:
    """Run the main thread until it needs a later cycle or waits."""
    row = elements.element[e]
    while fabric.status[at.S_ERROR] == at.OK:
        if row[at.E_STATE] == at.M_SYNC:
            return
        if row[at.E_STATE] == at.M_IDLE and not next_task(codes, elements, e, now):
            return
        if row[at.E_UNTIL] > now:
            return
        if row[at.E_STATE] == at.M_DISPATCH:
            dispatch(fabric, codes, elements, e, now)
        else:
            execute(fabric, codes, elements, e, now)
