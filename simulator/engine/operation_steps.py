"""Start and end of operations: operands, whole operations on memory, completion, timeline, errors.

Plain and special operations share these kernels. An operation on memory alone runs whole at its
dispatch and keeps the main thread busy for its cycles; an operation with queues goes value by value
and ends with `finish`.
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.jit import address, inline_kernel, inner_kernel, part_kernel, use
from tilewright.simulator.engine.values.datapath import do_memory, start_walk
from tilewright.simulator.engine.values.memory_words import read_word, write_word


@inner_kernel
def record(store: Table, element: int, row: int, start: int, end: int) -> None:
    """Append an event to the timeline, if the events of the processing element are recorded.

    The event is (element, row, thread, start, end, 0). row: address of an operation, -1 - number of
    a task, or V_WAITS + a cycle state; start, end: cycles.
    """
    if store[element + at.E_RECORD] == 0:
        return
    count = store[at.S_EVENTS]
    event = store[at.S_EVENT] + count * at.V_WIDTH
    store[event + at.V_ELEMENT] = element
    store[event + at.V_ROW] = row
    store[event + at.V_THREAD] = store[row + at.O_THREAD] if row >= 0 else 0
    store[event + at.V_START] = start
    store[event + at.V_END] = end
    store[event + at.V_STALLED] = 0
    store[at.S_EVENTS] = count + 1


@inner_kernel
def fail(store: Table, error: int, element: int, row: int, value: int) -> None:
    """Record an error of the run, unless there is one already; the run ends then.

    error: its code (ERROR_...); element: address of the processing element; row, value: two numbers
    that the error's message needs, mostly the address of the operation and a value that is wrong.
    """
    if store[at.S_ERROR] == at.OK:
        store[at.S_ERROR] = error
        store[at.S_ERROR_ELEMENT] = element
        store[at.S_ERROR_ROW] = row
        store[at.S_ERROR_VALUE] = value


@inner_kernel
def start_of(store: Table, element: int, row: int) -> Word:
    """Return where an operand begins: a word in the memory of all elements, or a queue's FIFO.

    element, row: addresses of the element and of the operand. The word is an address in 16-bit
    words, with the counters of the offset added up. A vector that leaves its buffer is an error of
    the run, and gives -1.
    """
    base = store[row + at.D_BASE]
    if store[row + at.D_KIND] != at.MEMORY:
        return store[element + at.E_QUEUES + base]
    first = store[element + at.E_VARIABLES]
    for i in range(store[row + at.D_TERMS]):
        value = store[first + store[row + at.D_VARIABLE + i]]
        base += value * store[row + at.D_FACTOR + i]
    low = base + store[row + at.D_LOW]
    high = base + store[row + at.D_HIGH]
    last = store[row + at.D_LAST]
    # low > last: a sum of counters that is beyond 64 bits
    if low < store[row + at.D_FIRST] or low > last or high > last:
        fail(store, at.ERROR_BOUNDS, element, row, base)
        return -1
    return store[element + at.E_MEMORY] + base


@inner_kernel
def load_operands(store: Table, memory: Memory, element: int, thread: int, op: int) -> Word:
    """Set a thread's first positions and scalar for an operation; return False on an error.

    element, thread, op: addresses. The destination of a reduction is set to its start value.
    """
    for operand in range(3):
        row = store[op + at.O_OPERANDS + operand]
        if row < 0:
            continue
        position = start_of(store, element, row)
        if position < 0:
            return False
        start_walk(store, thread + at.T_POSITIONS + operand, position)
        store[thread + at.T_ORIGIN + operand] = position
    store[thread + at.T_SCALAR] = store[op + at.O_SCALAR]
    row = store[op + at.O_SCALAR_ROW]
    if row >= 0:
        position = start_of(store, element, row)
        if position < 0:
            return False
        store[thread + at.T_SCALAR] = read_word(memory, position, store[row + at.D_WIDE])
    if store[op + at.O_REDUCTION] == 1:
        wide = store[store[op + at.O_OPERANDS] + at.D_WIDE]
        write_word(memory, store[thread + at.T_POSITIONS], wide, store[thread + at.T_SCALAR])
    return True


@inline_kernel
def look_at_operands(store: Table, memory: Memory, element: int, thread: int) -> None:
    """Check an operation that begins for races and unwritten memory, if the run asks for it.

    A race is with an operation that runs beside it (races.py); unwritten memory: see unwritten.py.
    element, thread: addresses; the thread's operands are loaded.
    """
    if store[element + at.E_RUNNING] > 0 and store[at.S_FEATURES + at.FEATURE_RACES] != 0:
        use(store, memory, at.FEATURE_RACES, (element, thread, 0, 0))
    if store[at.S_WRITTEN] != 0:
        use(store, memory, at.FEATURE_UNWRITTEN, (element, thread, 0, 0))


@part_kernel
def groups_of(store: Table, op: int, extent: int) -> Word:
    """Return in how many groups an operation on memory goes; a group is the values that go at once.

    op: address of the operation; extent: number of values. A group ends with a row.
    """
    group = store[op + at.O_GROUP]
    length = max(1, min(extent, store[op + at.O_ROW]))
    groups = extent // length * ((length + group - 1) // group)
    return groups + (extent % length + group - 1) // group


@inner_kernel
def memory_cycles(store: Table, memory: Memory, thread: int, rows: int, extent: int) -> Word:
    """Return the cycles of a thread's operation on memory, at least 1.

    thread: its address; rows: address of the three words that name its operands' rows; extent:
    values per vector. It is groups (values that go at once, cut at the end of each row) times
    cycles per group, plus those of groups whose two reads meet on a memory bank, rounded up. The
    thread gets the cycles that are stalls among them.
    """
    op = store[thread + at.T_OP]
    groups = groups_of(store, op, extent)
    cycles = groups * store[op + at.O_CYCLES]
    if store[op + at.O_BANKS]:
        arguments = (thread, store[rows + 1], store[rows + 2], extent)
        cycles += store[op + at.O_BANKS] * use(store, memory, at.FEATURE_BANKS, arguments)
    per = store[op + at.O_DENOMINATOR]
    busy = max(1, (cycles + per - 1) // per)
    free = max(1, (groups * store[op + at.O_FREE] + per - 1) // per)
    store[thread + at.T_STALLED] = busy - free
    return busy


@inner_kernel
def run_memory(store: Table, memory: Memory, element: int, thread: int, now: int) -> None:
    """Do a whole operation on memory at its dispatch; the main thread is busy for its cycles.

    element, thread: addresses; now: cycle of the dispatch. An operation that takes more cycles than
    the whole run may is an error of the run.
    """
    op = store[thread + at.T_OP]
    extent = store[op + at.O_EXTENT]
    busy = memory_cycles(store, memory, thread, op + at.O_OPERANDS, extent)
    if busy > store[at.S_MOST]:
        fail(store, at.ERROR_LONG, element, op, busy)
        return
    do_memory(store, memory, thread, now)
    store[store[element + at.E_RUNS] + store[op + at.O_NUMBER]] += extent
    hold_datapath(store, element, thread, now, now + busy)


@inner_kernel
def hold_datapath(store: Table, element: int, thread: int, now: int, until: int) -> None:
    """Let an operation on memory alone have the issue slot of a processing element for some cycles.

    element, thread: addresses; now: cycle of its dispatch; until: cycle of its end. Each word that
    a microthread of a higher priority passes in the meantime delays the end by one cycle.
    """
    store[element + at.E_STATE] = at.M_MEMORY
    store[element + at.E_UNTIL] = until
    store[element + at.E_HOLDER] = thread
    store[thread + at.T_START] = now
    stalled = store[element + at.E_RUNS] + store[store[thread + at.T_OP] + at.O_STALLED]
    store[stalled] += store[thread + at.T_STALLED]


@part_kernel
def end_memory(store: Table, element: int) -> None:
    """End the main thread's operation on memory, whose cycles have passed, and record it."""
    store[element + at.E_STATE] = at.M_READY
    thread = store[element + at.E_HOLDER]
    end = store[element + at.E_UNTIL] + store[at.K_MEMORY_COMPLETION]
    record(store, element, store[thread + at.T_OP], store[thread + at.T_START], end)
    if store[element + at.E_RECORD]:
        event = store[at.S_EVENT] + (store[at.S_EVENTS] - 1) * at.V_WIDTH
        store[event + at.V_THREAD] = 0  # whatever its registers hold at other times
        store[event + at.V_STALLED] = store[thread + at.T_STALLED]


@inner_kernel
def complete(store: Table, element: int, thread: int) -> None:
    """End a thread's operation: free the thread and its queues, activate or unblock its task.

    element, thread: addresses. The task is the one that the operation names for its end, if any.
    """
    thread = address(thread)
    op = address(store[thread + at.T_OP])
    store[thread + at.T_STATE] = at.FREE
    store[element + at.E_RUNNING] -= 1
    store[element + at.E_QUEUES_BUSY] &= ~store[thread + at.T_QUEUES]
    action, task = store[op + at.O_ACTION], store[op + at.O_ACTION_TASK]
    if store[op + at.O_SPECIAL] == 1:
        action, task = store[thread + at.T_ACTION], store[thread + at.T_ACTION_TASK]
    if action == at.ACTIVATE:
        store[element + at.E_ACTIVE] |= 1 << task
    elif action == at.UNBLOCK:
        store[element + at.E_BLOCKED] &= ~(1 << task)


@inner_kernel
def finish(store: Table, element: int, thread: int, now: int) -> None:
    """Complete an operation whose last value went in cycle `now`, or let it complete later.

    On the main thread it completes at once; on a microthread K_COMPLETION cycles later. element,
    thread: addresses of the processing element and of the thread.
    """
    thread = address(thread)
    op = address(store[thread + at.T_OP])
    end = max(now + 1, now + store[at.K_COMPLETION])
    store[at.S_END] = max(store[at.S_END], end)
    record(store, element, op, store[thread + at.T_START], end)
    if thread != store[element + at.E_THREADS]:
        store[thread + at.T_STATE] = at.COMPLETING
        store[thread + at.T_NEXT] = now + store[at.K_COMPLETION]
        return
    store[element + at.E_STATE] = at.M_ISSUED
    store[element + at.E_UNTIL] = store[thread + at.T_NEXT]
    complete(store, element, thread)


@part_kernel
def last_element(store: Table, element: int, thread: int, now: int) -> None:
    """End an operation whose last value went in cycle `now`, and count the values that it did.

    element, thread: addresses of the processing element and of the thread.
    """
    op = address(store[address(thread) + at.T_OP])
    store[store[element + at.E_RUNS] + store[op + at.O_NUMBER]] += store[op + at.O_EXTENT]
    finish(store, element, thread, now)
