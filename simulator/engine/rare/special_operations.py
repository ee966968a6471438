"""Special operations value by value: control wavelets, indices, FIFOs, circular buffers.

They are slower and more general than the plain datapath: the thread names its operand rows
(`T_ROWS`), which registers may have changed since the program was compiled. A value goes when all
queues and FIFOs of the operation are ready. A full or an empty FIFO suspends or ends the operation.
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.fabric import (
    await_space,
    has_space,
    head_ready,
    pop,
    push,
    schedule,
)
from tilewright.simulator.engine.jit import FeatureArguments, address, inner_kernel, use
from tilewright.simulator.engine.operation_steps import (
    fail,
    finish,
    hold_datapath,
    look_at_operands,
    memory_cycles,
)
from tilewright.simulator.engine.rare.special_start import check_halves, load_special
from tilewright.simulator.engine.values.datapath import start_walk, step_position, value_of
from tilewright.simulator.engine.values.lines import do_special_lines, has_lines
from tilewright.simulator.engine.values.memory_words import read_word, write_word
from tilewright.simulator.engine.values.places import (
    Computation,
    OperandBits,
    OperandPlace,
    ThreadPlace,
)
from tilewright.simulator.isa.operations import ADD_CARRY, DROP
from tilewright.simulator.run.trace import BUSY, WAIT_INPUT, WAIT_OUTPUT


@inner_kernel
def fifo_push(store: Table, memory: Memory, element: int, fifo: int, bits: int) -> None:
    """Append a value to a FIFO in a processing element's memory, which must have space.

    element, fifo: addresses; bits: of the value. Activates the FIFO's task that waits for enough
    values, once they are there.
    """
    tail = store[fifo + at.Q_HEAD] + store[fifo + at.Q_COUNT]
    if tail >= store[fifo + at.Q_CAP]:
        tail -= store[fifo + at.Q_CAP]
    wide = store[fifo + at.Q_WIDE]
    write_word(memory, store[fifo + at.Q_BASE] + tail * wide, wide, bits)
    store[fifo + at.Q_COUNT] += 1
    needed = store[fifo + at.Q_EMPTY]
    if needed > 0 and store[fifo + at.Q_COUNT] >= needed:
        store[fifo + at.Q_EMPTY] = 0
        if store[fifo + at.Q_PUSH_TASK] >= 0:
            store[element + at.E_ACTIVE] |= 1 << store[fifo + at.Q_PUSH_TASK]


@inner_kernel
def fifo_pop(store: Table, memory: Memory, element: int, fifo: int) -> Word:
    """Take the oldest value of a FIFO in a processing element's memory; return its bits.

    It must not be empty. Activates the FIFO's task that waits for space, once there is enough.
    """
    wide = store[fifo + at.Q_WIDE]
    head = store[fifo + at.Q_HEAD]
    bits = read_word(memory, store[fifo + at.Q_BASE] + head * wide, wide)
    store[fifo + at.Q_HEAD] = head + 1 if head + 1 < store[fifo + at.Q_CAP] else 0
    store[fifo + at.Q_COUNT] -= 1
    needed = store[fifo + at.Q_FULL]
    if needed > 0 and store[fifo + at.Q_CAP] - store[fifo + at.Q_COUNT] >= needed:
        store[fifo + at.Q_FULL] = 0
        if store[fifo + at.Q_POP_TASK] >= 0:
            store[element + at.E_ACTIVE] |= 1 << store[fifo + at.Q_POP_TASK]
    return bits


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
def step_special(store: Table, thread: int, operand: int) -> None:
    """Move a memory operand of a thread to its next value; a circular buffer wraps around.

    thread: its address; operand: 0 is the destination, 1 and 2 are the sources.
    """
    row = store[thread + at.T_ROWS + operand]
    column = thread + at.T_POSITIONS + operand
    if store[row + at.D_STRIDE_ROW] >= 0:
        store[column] += store[thread + at.T_STRIDE + operand]
        return
    step_position(store, column, row)
    wrap = store[row + at.D_WRAP]
    if wrap > 0:
        # a one-dimensional operand uses no counters: the first one keeps the ring offset
        ring_offset = column + at.COUNTERS
        store[ring_offset] += store[row + at.D_STRIDE]
        if store[ring_offset] >= wrap:
            store[column] -= wrap
            store[ring_offset] -= wrap


@inner_kernel
def marked(payload: int) -> Word:
    """Return a wavelet's lower 30 bits; the two upper bits are set for a control wavelet.

    So a program can see, in a 32-bit value, which wavelets were control ones.
    """
    return (payload & 0x3FFFFFFF) | (0xC0000000 if payload & at.IS_CONTROL else 0)


@inner_kernel
def take_special(store: Table, memory: Memory, place: OperandPlace, now: int) -> Word:
    """Take the next value of a source: of a queue, a FIFO in memory, or memory; return its bits.

    place: addresses of element and thread, and which operand; now: the cycle. The value must be
    there.
    """
    element, thread, operand = place
    row = store[thread + at.T_ROWS + operand]
    position = store[thread + at.T_POSITIONS + operand]
    kind = store[row + at.D_KIND]
    if kind == at.FABRIC_IN:
        payload = pop(store, position, now)
        if store[row + at.D_FLAGS] & at.TRANSFORMS:
            if payload >> 30 & 0xFFFF:  # commands of a control wavelet too
                fail(
                    store, at.ERROR_TOP_BITS, element, store[thread + at.T_OP], payload & 0xFFFFFFFF
                )
            return marked(payload)
        return payload & 0xFFFFFFFF
    store[row + at.D_READS] += 1
    if kind == at.POOL:
        return fifo_pop(store, memory, element, position)
    bits = read_word(memory, position, store[row + at.D_WIDE])
    step_special(store, thread, operand)
    return bits


@inner_kernel
def wavelet_of(store: Table, thread: int, bits: int) -> Word:
    """Return the wavelet that a thread's output sends for a value.

    By the output's descriptor it carries an index in its upper 16 bits, is a control wavelet, or
    makes the first router advance its switch (the last value only). thread: address; bits: of the
    value.
    """
    flags = store[store[thread + at.T_ROWS] + at.D_FLAGS]
    if flags & at.INDEXED:
        bits = (bits & 0xFFFF) | (store[thread + at.T_INDEX] & 0xFFFF) << 16
    if flags & at.SENDS_CONTROL:
        bits |= at.IS_CONTROL
    elif flags & at.TRANSFORMS:
        control = bits >> 30 & 3 == 3
        bits = bits & 0x3FFFFFFF | (at.IS_CONTROL if control else 0)
    if flags & at.ADVANCES and store[thread + at.T_LEFT] == 1:
        bits |= at.LAST_ADVANCES
    return bits


@inner_kernel
def put_special(store: Table, memory: Memory, place: ThreadPlace, bits: int, now: int) -> None:
    """Give a value to a thread's destination: send it, push it to a FIFO, or write it to memory.

    place: addresses of element and thread; bits: of the value; now: the cycle. The queue or FIFO
    must have space.
    """
    element, thread = place
    row = store[thread + at.T_ROWS]
    position = store[thread + at.T_POSITIONS]
    kind = store[row + at.D_KIND]
    if kind == at.FABRIC_OUT:
        if store[row + at.D_FLAGS] & at.TRANSFORMS and bits >> 30 & 3 in (1, 2):
            fail(store, at.ERROR_TOP_BITS, element, store[thread + at.T_OP], bits & 0xFFFFFFFF)
        push(store, position, wavelet_of(store, thread, bits), now)
        return
    store[row + at.D_WRITES] += 1
    if kind == at.POOL:
        fifo_push(store, memory, element, position, bits)
    else:
        write_word(memory, position, store[row + at.D_WIDE], bits)
        step_special(store, thread, 0)


@inner_kernel
def clear_source(store: Table, memory: Memory, thread: int) -> None:
    """Set to zero the memory vector of one source of an operation, if its output asks for it.

    The output's descriptor names the source by its field `zero`. thread: address.
    """
    operand = store[store[thread + at.T_OP] + at.O_ZERO]
    row = store[thread + at.T_ROWS + operand]
    if operand == 0 or row < 0 or store[row + at.D_KIND] != at.MEMORY:
        return
    column = thread + at.T_POSITIONS + operand
    start_walk(store, column, store[thread + at.T_ORIGIN + operand])
    store[column + at.COUNTERS] = store[thread + at.T_RING_OFFSET + operand]
    store[row + at.D_WRITES] += store[thread + at.T_EXTENT]
    for _ in range(store[thread + at.T_EXTENT]):
        write_word(memory, store[column], store[row + at.D_WIDE], 0)
        step_special(store, thread, operand)


@inner_kernel
def add_carry(store: Table, thread: int, a: int, b: int) -> Word:
    """Return the lower 16 bits of a + b + the carry of the last values; keep the new carry.

    thread: address of the thread, which keeps it; an operation starts with carry 0.
    """
    total = (a & 0xFFFF) + (b & 0xFFFF) + store[thread + at.T_CARRY]
    store[thread + at.T_CARRY] = total >> 16
    return total & 0xFFFF


@inner_kernel
def drop_wavelet(store: Table, element: int, thread: int, now: int) -> None:
    """Remove a wavelet from an operation's input queue; only control wavelets count.

    The operation drops wavelets until as many control wavelets have come as its length says.
    """
    payload = pop(store, store[thread + at.T_POSITIONS + 1], now)
    if payload & at.IS_CONTROL:
        op = store[thread + at.T_OP]
        store[store[element + at.E_RUNS] + store[op + at.O_NUMBER]] += 1
        store[thread + at.T_LEFT] -= 1


@inner_kernel
def do_special(store: Table, memory: Memory, element: int, thread: int, now: int) -> None:
    """Do a special operation on its next values; its queues and FIFOs must be ready.

    A special operation uses registers, FIFOs in memory, indices or control wavelets. It takes the
    sources, computes, and sends or writes the result; now: the cycle.
    """
    op = store[thread + at.T_OP]
    if store[op + at.O_ARITHMETIC] == DROP:
        drop_wavelet(store, element, thread, now)
        return
    a = b = scalar = store[thread + at.T_SCALAR]
    if store[thread + at.T_ROWS + 1] >= 0:
        a = take_special(store, memory, OperandPlace(element, thread, 1), now)
    if store[thread + at.T_ROWS + 2] >= 0:
        b = take_special(store, memory, OperandPlace(element, thread, 2), now)
    if store[op + at.O_ARITHMETIC] == ADD_CARRY:
        bits = add_carry(store, thread, a, b)
    else:
        computation = Computation(op, store[op + at.O_ARITHMETIC], store[op + at.O_TYPE])
        bits = value_of(store, memory, computation, OperandBits(a, b, scalar))
    put_special(store, memory, ThreadPlace(element, thread), bits, now)
    store[store[element + at.E_RUNS] + store[op + at.O_NUMBER]] += 1
    store[thread + at.T_LEFT] -= store[thread + at.T_STEP]


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


@inner_kernel
def end_by_control(store: Table, element: int, thread: int) -> None:
    """Activate or unblock a task after a control wavelet has ended a thread's operation.

    The operation names the task; it may also name none.
    """
    bit = 1 << store[thread + at.T_CONTROL_TASK]
    if store[thread + at.T_ON_CONTROL] == at.CONTROL_ACTIVATES:
        store[element + at.E_ACTIVE] |= bit
    elif store[thread + at.T_ON_CONTROL] == at.CONTROL_UNBLOCKS:
        store[element + at.E_BLOCKED] &= ~bit


@inner_kernel
def end_early(store: Table, memory: Memory, element: int, thread: int, completed: int) -> None:
    """Keep what is left of an operation that a full or empty FIFO in memory ended.

    The number of values not done becomes the FIFO's length, a scalar destination gets its old value
    back, and the operation's result counter gets `completed`: 1 if it counts as complete, else 0.
    """
    op = store[thread + at.T_OP]
    for operand in range(3):
        row = store[thread + at.T_ROWS + operand]
        if row >= 0 and store[row + at.D_KIND] == at.POOL:
            fifo = store[thread + at.T_POSITIONS + operand]
            column = fifo + (at.Q_READ_LENGTH if operand else at.Q_WRITE_LENGTH)
            if store[column] > 0:
                store[column] = store[thread + at.T_LEFT]
    if store[op + at.O_POINTER] == 1:
        wide = store[store[thread + at.T_ROWS] + at.D_WIDE]
        write_word(memory, store[thread + at.T_ORIGIN], wide, store[thread + at.T_SAVED])
    if store[op + at.O_RESULT] >= 0:
        store[store[element + at.E_VARIABLES] + store[op + at.O_RESULT]] = completed


@inner_kernel
def streams(store: Table, thread: int) -> Word:
    """Return 2 if an operand of a thread is a queue, else 1 if one is a FIFO in memory, else 0.

    With 0 the operation is done whole at its dispatch.
    """
    stream = 0
    for operand in range(3):
        row = store[thread + at.T_ROWS + operand]
        if row < 0:
            continue
        if store[row + at.D_KIND] in (at.FABRIC_IN, at.FABRIC_OUT):
            stream = 2
        elif store[row + at.D_KIND] == at.POOL:
            stream = max(stream, 1)
    return stream


@inner_kernel
def steps_covered(store: Table, column: int, row: int, at_end: int) -> Word:
    """Return how many steps of its outermost dimension an operand in memory has begun.

    column: address of its position in the thread, with a counter per dimension; row: address of its
    operand row. At the end of an operation all counters are 0 again, as at its start; with at_end =
    1 that counts as all steps. Example: rows of 4 values, ended after 6 values: 2 steps.
    """
    last = store[row + at.D_DIMENSIONS] - 1
    begun = 0
    for d in range(last):
        if store[column + at.COUNTERS + at.OPERANDS * d] > 0:
            begun = 1
    steps = store[column + at.COUNTERS + at.OPERANDS * last] + begun
    return store[row + at.D_EXTENT + last] if at_end and steps == 0 else steps


@inner_kernel
def save_positions(store: Table, element: int, thread: int, at_end: int) -> None:
    """Move registers that save their address behind the values that an operation covered.

    A register holds a descriptor; one that saves its address lets the next operation go on there.
    With several dimensions it moves by whole steps of the outermost one; a step that has begun
    counts. at_end: 0 for an operation that ended before its last value, else 1.
    """
    op = store[thread + at.T_OP]
    for operand in range(3):
        row = store[op + at.O_OPERANDS + operand]
        if row < 0 or store[row + at.D_KIND] != at.REGISTER:
            continue
        register = store[element + at.E_REGISTERS] + store[row + at.D_BASE] * at.R_WIDTH
        loaded_row = store[thread + at.T_ROWS + operand]
        if store[register + at.R_SAVES] == 0 or store[loaded_row + at.D_KIND] != at.MEMORY:
            continue
        column = thread + at.T_POSITIONS + operand
        position = store[column]
        if store[loaded_row + at.D_DIMENSIONS] > 1:
            steps = steps_covered(store, column, loaded_row, at_end)
            position = store[thread + at.T_ORIGIN + operand] + steps * store[loaded_row + at.D_SAVE]
        store[register + at.R_POSITION] = position
        if store[loaded_row + at.D_WRAP] > 0:
            store[register + at.R_RING_OFFSET] = store[column + at.COUNTERS]


@inner_kernel
def run_special_memory(store: Table, memory: Memory, element: int, thread: int, now: int) -> None:
    """Do a whole special operation on memory; the main thread is busy for its cycles.

    A special operation uses registers, indices or lengths that are known only in the run. One that
    takes longer than the whole run may is an error. now: cycle of its dispatch.
    """
    op = store[thread + at.T_OP]
    extent = store[thread + at.T_EXTENT]
    busy = memory_cycles(store, memory, thread, thread + at.T_ROWS, extent)
    if busy > store[at.S_MOST]:
        fail(store, at.ERROR_LONG, element, op, busy)
        return
    if has_lines(store, thread):
        do_special_lines(store, memory, element, thread)
    else:
        for _ in range(extent):
            do_special(store, memory, element, thread, now)
    if extent:
        save_positions(store, element, thread, 1)
    hold_datapath(store, element, thread, now, now + busy)


@inner_kernel
def launch(store: Table, memory: Memory, arguments: FeatureArguments) -> Word:
    """Start a special operation: one whose operands are known only in the run, or rarely used ones.

    `arguments` are (addresses of the element and of a free thread, cycle, 0). Returns 0.
    """
    element, thread, now, _ = arguments
    op = store[thread + at.T_OP]
    if not load_special(store, memory, element, thread, op):
        return 0
    look_at_operands(store, memory, element, thread)
    store[store[element + at.E_RUNS] + store[op + at.O_RUNS]] += 1
    if store[op + at.O_RESULT] >= 0:
        store[store[element + at.E_VARIABLES] + store[op + at.O_RESULT]] = 1
    stream = streams(store, thread)
    if stream == 0:
        run_special_memory(store, memory, element, thread, now)
        return 0
    queues = store[thread + at.T_QUEUES]
    if store[element + at.E_QUEUES_BUSY] & queues:
        fail(store, at.ERROR_QUEUE_BUSY, element, op, store[element + at.E_QUEUES_BUSY] & queues)
        return 0
    store[thread + at.T_STATE] = at.PAUSED if store[thread + at.T_BLOCKED] else at.RUNNING
    store[thread + at.T_NEXT] = now
    store[thread + at.T_FRACTION] = 0
    store[thread + at.T_START] = now
    store[element + at.E_RUNNING] += 1
    store[element + at.E_QUEUES_BUSY] |= queues
    store[element + at.E_STATE] = at.M_ISSUED if store[op + at.O_ASYNC] == 1 else at.M_SYNC
    store[element + at.E_UNTIL] = now + store[at.K_ISSUE]
    return 0


@inner_kernel
def fire_special(store: Table, memory: Memory, element: int, thread: int, now: int) -> Word:
    """Do a running special operation on its next value, or SIMD group, if that can go.

    A special operation uses registers, FIFOs in memory, indices, control wavelets or SIMD modes. A
    control wavelet or a FIFO may end it. Returns the cycle state BUSY, WAIT_INPUT or WAIT_OUTPUT.
    """
    op = store[thread + at.T_OP]
    if store[thread + at.T_EXTENT] == 0:
        store[thread + at.T_NEXT] = now + 1
        finish(store, element, thread, now)
        return BUSY
    if meets_control(store, thread, now):
        store[thread + at.T_NEXT] = now + 1
        save_positions(store, element, thread, 0)
        check_halves(store, element, thread)
        end_by_control(store, element, thread)
        finish(store, element, thread, now)
        return BUSY
    simd = store[thread + at.T_SIMD]
    if simd:
        cycle_state = use(store, memory, at.FEATURE_SIMD_READY, (element, thread, now, 0))
    else:
        cycle_state = special_ready(store, element, thread, now)
    if cycle_state < 0:
        store[thread + at.T_NEXT] = now + 1
        save_positions(store, element, thread, 0)
        check_halves(store, element, thread)
        end_early(store, memory, element, thread, cycle_state == -1 - at.TERMINATE)
        finish(store, element, thread, now)
        return BUSY
    if cycle_state != BUSY:
        return cycle_state
    pace = store[op + at.O_CYCLES]
    if simd:
        pace *= use(store, memory, at.FEATURE_SIMD, (element, thread, now, 0))
    else:
        do_special(store, memory, element, thread, now)
    per = store[op + at.O_DENOMINATOR]
    if per != 1:
        pace += store[thread + at.T_FRACTION]
        store[thread + at.T_FRACTION] = pace % per
        pace //= per
    store[thread + at.T_NEXT] = now + max(1, pace)
    if store[thread + at.T_LEFT] == 0:
        save_positions(store, element, thread, 1)
        clear_source(store, memory, thread)
        finish(store, element, thread, now)
    return BUSY


@inner_kernel
def serve_special(store: Table, memory: Memory, arguments: FeatureArguments) -> Word:
    """Serve a running special operation in one cycle; return BUSY, WAIT_INPUT or WAIT_OUTPUT.

    A special operation uses registers, FIFOs in memory, indices, control wavelets or SIMD modes;
    its FIFOs may wake other threads and tasks. `arguments` are (addresses of element and thread,
    cycle, 0).
    """
    element, thread, now, _ = arguments
    cycle_state = fire_special(store, memory, element, thread, now)
    if cycle_state == BUSY:
        schedule(store, element, now + 1)
    return cycle_state
