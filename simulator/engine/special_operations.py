"""Operations with more than plain vectors: control wavelets, indices, FIFOs, circular buffers.

Slower than the plain datapath and general: the thread holds its operands' rows (`T_ROWS`), which
registers may have changed since the program was compiled.
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.arithmetic import combine
from tilewright.simulator.engine.datapath import read_word, start_walk, step_position, write_word
from tilewright.simulator.engine.fabric import (
    await_space,
    has_space,
    head_ready,
    pop,
    push,
    schedule,
)
from tilewright.simulator.engine.jit import What, address, inner_kernel, use
from tilewright.simulator.engine.operations import fail, finish, memory_cycles, record
from tilewright.simulator.engine.special_start import check_halves, load_special
from tilewright.simulator.isa.operations import ADD_CARRY, DROP
from tilewright.simulator.run.trace import BUSY, WAIT_INPUT, WAIT_OUTPUT


@inner_kernel
def pool_push(store: Table, memory: Memory, where: tuple[int, int], bits: int) -> None:
    """Append a value to the element's FIFO; wake the task that waits for enough data."""
    e, pool = where
    tail = store[pool + at.Q_HEAD] + store[pool + at.Q_COUNT]
    if tail >= store[pool + at.Q_CAP]:
        tail -= store[pool + at.Q_CAP]
    wide = store[pool + at.Q_WIDE]
    write_word(memory, store[pool + at.Q_BASE] + tail * wide, wide, bits)
    store[pool + at.Q_COUNT] += 1
    needed = store[pool + at.Q_EMPTY]
    if needed > 0 and store[pool + at.Q_COUNT] >= needed:
        store[pool + at.Q_EMPTY] = 0
        if store[pool + at.Q_PUSH_TASK] >= 0:
            store[e + at.E_ACTIVE] |= 1 << store[pool + at.Q_PUSH_TASK]


@inner_kernel
def pool_pop(store: Table, memory: Memory, where: tuple[int, int]) -> Word:
    """Take the oldest value of the element's FIFO; wake the task that waits for space."""
    e, pool = where
    wide = store[pool + at.Q_WIDE]
    head = store[pool + at.Q_HEAD]
    bits = read_word(memory, store[pool + at.Q_BASE] + head * wide, wide)
    store[pool + at.Q_HEAD] = head + 1 if head + 1 < store[pool + at.Q_CAP] else 0
    store[pool + at.Q_COUNT] -= 1
    needed = store[pool + at.Q_FULL]
    if needed > 0 and store[pool + at.Q_CAP] - store[pool + at.Q_COUNT] >= needed:
        store[pool + at.Q_FULL] = 0
        if store[pool + at.Q_POP_TASK] >= 0:
            store[e + at.E_ACTIVE] |= 1 << store[pool + at.Q_POP_TASK]
    return bits


@inner_kernel
def pool_stops(store: Table, where: tuple[int, int], needed: int, asynchronous: int) -> Word:
    """Note a full or empty event for so many elements: where = (FIFO, 0 for a push).

    Returns the action: SUSPEND, TERMINATE, FAULT, or TEST.
    """
    pool, reads = where
    action = store[pool + (at.Q_EMPTY_ACTION if reads else at.Q_FULL_ACTION)]
    store[pool + (at.Q_EMPTY if reads else at.Q_FULL)] = needed
    if action == at.TEST_OR_SUSPEND and asynchronous:
        return at.SUSPEND
    return action


@inner_kernel
def step_special(store: Table, thread: int, which: int) -> None:
    """Move a memory operand to its next element, around the end of a circular buffer."""
    row = store[thread + at.T_ROWS + which]
    column = thread + at.T_POSITIONS + which
    if store[row + at.D_STRIDE_ROW] >= 0:
        store[column] += store[thread + at.T_STRIDE + which]
        return
    step_position(store, column, row)
    wrap = store[row + at.D_WRAP]
    if wrap > 0:
        # a one-dimensional operand does not use its counters: the first holds the way gone
        gone = column + at.COUNTERS
        store[gone] += store[row + at.D_STRIDE]
        if store[gone] >= wrap:
            store[column] -= wrap
            store[gone] -= wrap


@inner_kernel
def marked(payload: int) -> Word:
    """Return a wavelet as a value whose two top bits say that it is a control wavelet."""
    return (payload & 0x3FFFFFFF) | (0xC0000000 if payload & at.IS_CONTROL else 0)


@inner_kernel
def take_special(store: Table, memory: Memory, where: tuple[int, int, int], now: int) -> Word:
    """Return the next value of a source: where = (element, thread, operand)."""
    e, thread, which = where
    row = store[thread + at.T_ROWS + which]
    position = store[thread + at.T_POSITIONS + which]
    kind = store[row + at.D_KIND]
    if kind == at.FABRIC_IN:
        payload = pop(store, position, now)
        if store[row + at.D_FLAGS] & at.TRANSFORMS:
            if payload >> 30 & 0xFFFF:  # commands of a control wavelet too
                fail(store, at.ERROR_TOP_BITS, e, store[thread + at.T_OP], payload & 0xFFFFFFFF)
            return marked(payload)
        return payload & 0xFFFFFFFF
    store[row + at.D_READS] += 1
    if kind == at.POOL:
        return pool_pop(store, memory, (e, position))
    bits = read_word(memory, position, store[row + at.D_WIDE])
    step_special(store, thread, which)
    return bits


@inner_kernel
def wavelet_of(store: Table, thread: int, bits: int) -> Word:
    """Return the wavelet that a fabric destination sends for a value."""
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
def put_special(
    store: Table, memory: Memory, where: tuple[int, int, int], value: tuple[int, int]
) -> None:
    """Give a value to the destination: where = (element, thread, 0), value = (bits, cycle)."""
    e, thread, _ = where
    bits, now = value
    row = store[thread + at.T_ROWS]
    position = store[thread + at.T_POSITIONS]
    kind = store[row + at.D_KIND]
    if kind == at.FABRIC_OUT:
        if store[row + at.D_FLAGS] & at.TRANSFORMS and bits >> 30 & 3 in (1, 2):
            fail(store, at.ERROR_TOP_BITS, e, store[thread + at.T_OP], bits & 0xFFFFFFFF)
        push(store, position, wavelet_of(store, thread, bits), now)
        return
    store[row + at.D_WRITES] += 1
    if kind == at.POOL:
        pool_push(store, memory, (e, position), bits)
    else:
        write_word(memory, position, store[row + at.D_WIDE], bits)
        step_special(store, thread, 0)


@inner_kernel
def clear_source(store: Table, memory: Memory, thread: int) -> None:
    """Set the memory vector of the source that a fabout zeroes to zero, at the operation's end."""
    which = store[store[thread + at.T_OP] + at.O_ZERO]
    row = store[thread + at.T_ROWS + which]
    if which == 0 or row < 0 or store[row + at.D_KIND] != at.MEMORY:
        return
    column = thread + at.T_POSITIONS + which
    start_walk(store, column, store[thread + at.T_ORIGIN + which])
    store[column + at.COUNTERS] = store[thread + at.T_RING_OFFSET + which]
    store[row + at.D_WRITES] += store[thread + at.T_EXTENT]
    for _ in range(store[thread + at.T_EXTENT]):
        write_word(memory, store[column], store[row + at.D_WIDE], 0)
        step_special(store, thread, which)


@inner_kernel
def add_carry(store: Table, thread: int, a: int, b: int) -> Word:
    """Add two 16-bit numbers and the carry of the element before; keep the new carry."""
    total = (a & 0xFFFF) + (b & 0xFFFF) + store[thread + at.T_CARRY]
    store[thread + at.T_CARRY] = total >> 16
    return total & 0xFFFF


@inner_kernel
def drop_wavelet(store: Table, where: tuple[int, int], now: int) -> None:
    """Take a wavelet away; control wavelets count as the operation's elements."""
    e, thread = where
    payload = pop(store, store[thread + at.T_POSITIONS + 1], now)
    if payload & at.IS_CONTROL:
        op = store[thread + at.T_OP]
        store[store[e + at.E_RUNS] + store[op + at.O_NUMBER]] += 1
        store[thread + at.T_LEFT] -= 1


@inner_kernel
def do_special(store: Table, memory: Memory, where: tuple[int, int], now: int) -> None:
    """Do one element; its queues and FIFOs are ready."""
    e, thread = where
    op = store[thread + at.T_OP]
    if store[op + at.O_ARITHMETIC] == DROP:
        drop_wavelet(store, where, now)
        return
    a = b = scalar = store[thread + at.T_SCALAR]
    if store[thread + at.T_ROWS + 1] >= 0:
        a = take_special(store, memory, (e, thread, 1), now)
    if store[thread + at.T_ROWS + 2] >= 0:
        b = take_special(store, memory, (e, thread, 2), now)
    if store[op + at.O_ARITHMETIC] == ADD_CARRY:
        bits = add_carry(store, thread, a, b)
    else:
        bits = combine(store[op + at.O_ARITHMETIC], store[op + at.O_TYPE], (a, b, scalar))
    put_special(store, memory, (e, thread, 0), (bits, now))
    store[store[e + at.E_RUNS] + store[op + at.O_NUMBER]] += 1
    store[thread + at.T_LEFT] -= store[thread + at.T_STEP]


@inner_kernel
def queue_waits(store: Table, where: tuple[int, int, int], now: int) -> Word:
    """Return BUSY if a queue operand is ready, else the mood: where = (element, row, queue)."""
    e, row, queue = where
    queue = address(queue)
    if store[row + at.D_KIND] == at.FABRIC_OUT:
        if has_space(store, queue, now):
            return BUSY
        await_space(store, queue, e, now)
        return WAIT_OUTPUT
    if store[queue + at.F_COUNT] == 0:
        return WAIT_INPUT
    ready = head_ready(store, queue)
    if ready <= now:
        return BUSY
    schedule(store, e, ready)
    return WAIT_INPUT


@inner_kernel
def pool_waits(store: Table, where: tuple[int, int, int], asynchronous: int) -> Word:
    """Return BUSY if a FIFO operand is ready, else WAIT_...; -1 - action when it ends here.

    where = (element, thread, operand).
    """
    e, thread, which = where
    pool = store[thread + at.T_POSITIONS + which]
    count = store[pool + at.Q_COUNT]
    needed = store[thread + at.T_GROUP]
    if which > 0 and count >= needed:
        return BUSY
    if which == 0 and count + needed <= store[pool + at.Q_CAP]:
        return BUSY
    op = store[thread + at.T_OP]
    declared = store[op + at.O_OPERANDS + which]
    typed = store[declared + at.D_KIND] == at.POOL or store[declared + at.D_FLAGS] & at.FIFO_TYPED
    if not typed and not asynchronous:
        fail(store, at.ERROR_FIFO_REGISTER, e, op, which)
        return -1 - at.FAULT
    action = pool_stops(store, (pool, which), needed, asynchronous)
    if action == at.SUSPEND:
        return WAIT_INPUT if which else WAIT_OUTPUT
    if action == at.FAULT:
        fail(store, at.ERROR_FIFO, e, op, which)
    return -1 - action


@inner_kernel
def special_ready(store: Table, e: int, thread: int, now: int) -> Word:
    """Return BUSY if the next element can go, WAIT_... if not, or -1 - action of a FIFO."""
    asynchronous = store[thread + at.T_ASYNC]
    for step in range(3):
        which = 2 - step
        row = store[thread + at.T_ROWS + which]
        if row < 0:
            continue
        kind = store[row + at.D_KIND]
        mood = BUSY
        if kind in (at.FABRIC_IN, at.FABRIC_OUT):
            queue = store[thread + at.T_POSITIONS + which]
            mood = queue_waits(store, (e, row, queue), now)
        elif kind == at.POOL:
            mood = pool_waits(store, (e, thread, which), asynchronous)
        if mood != BUSY:
            return mood
    return BUSY


@inner_kernel
def meets_control(store: Table, thread: int, now: int) -> Word:
    """Take a control wavelet that ends the operation from its input queue, if one is next."""
    if store[thread + at.T_ON_CONTROL] == at.CONTROL_IS_DATA:
        return False
    for which in range(1, 3):
        row = store[thread + at.T_ROWS + which]
        if row < 0 or store[row + at.D_KIND] != at.FABRIC_IN:
            continue
        if store[thread + at.T_HALF + which]:
            continue  # its value comes first
        queue = store[thread + at.T_POSITIONS + which]
        head = store[queue + at.F_RING] + 2 * store[queue + at.F_HEAD]
        if store[queue + at.F_COUNT] > 0 and store[head] <= now and store[head + 1] & at.IS_CONTROL:
            pop(store, queue, now)
            return True
    return False


@inner_kernel
def end_by_control(store: Table, e: int, thread: int) -> None:
    """Let the control wavelet that ended an operation act on its task."""
    bit = 1 << store[thread + at.T_CONTROL_TASK]
    if store[thread + at.T_ON_CONTROL] == at.CONTROL_ACTIVATES:
        store[e + at.E_ACTIVE] |= bit
    elif store[thread + at.T_ON_CONTROL] == at.CONTROL_UNBLOCKS:
        store[e + at.E_BLOCKED] &= ~bit


@inner_kernel
def end_early(store: Table, memory: Memory, where: tuple[int, int], completed: int) -> None:
    """Note what an operation that a FIFO ended leaves: lengths, the pointer's old value."""
    e, thread = where
    op = store[thread + at.T_OP]
    for which in range(3):
        row = store[thread + at.T_ROWS + which]
        if row >= 0 and store[row + at.D_KIND] == at.POOL:
            pool = store[thread + at.T_POSITIONS + which]
            column = pool + (at.Q_READ_LENGTH if which else at.Q_WRITE_LENGTH)
            if store[column] > 0:
                store[column] = store[thread + at.T_LEFT]
    if store[op + at.O_POINTER] == 1:
        wide = store[store[thread + at.T_ROWS] + at.D_WIDE]
        write_word(memory, store[thread + at.T_ORIGIN], wide, store[thread + at.T_SAVED])
    if store[op + at.O_RESULT] >= 0:
        store[store[e + at.E_VARIABLES] + store[op + at.O_RESULT]] = completed


@inner_kernel
def streams(store: Table, thread: int) -> Word:
    """Return 2 if an operand of a thread is a queue, 1 if one is a FIFO, else 0."""
    found = 0
    for which in range(3):
        row = store[thread + at.T_ROWS + which]
        if row < 0:
            continue
        if store[row + at.D_KIND] in (at.FABRIC_IN, at.FABRIC_OUT):
            found = 2
        elif store[row + at.D_KIND] == at.POOL:
            found = max(found, 1)
    return found


@inner_kernel
def steps_covered(store: Table, column: int, row: int, at_end: int) -> Word:
    """Return how many steps of its outermost dimension a walk has begun.

    At the end of the walk all counters are 0 again; before it, that is its start.
    """
    last = store[row + at.D_DIMENSIONS] - 1
    begun = 0
    for d in range(last):
        if store[column + at.COUNTERS + at.OPERANDS * d] > 0:
            begun = 1
    steps = store[column + at.COUNTERS + at.OPERANDS * last] + begun
    return store[row + at.D_EXTENT + last] if at_end and steps == 0 else steps


@inner_kernel
def save_positions(store: Table, e: int, thread: int, at_end: int) -> None:
    """Let registers that save their address point behind what the operation covered.

    Of several dimensions it is the outermost that moves; a step of it that has begun is covered.
    `at_end` is 0 for an operation that ended before its last element.
    """
    op = store[thread + at.T_OP]
    for which in range(3):
        row = store[op + at.O_OPERANDS + which]
        if row < 0 or store[row + at.D_KIND] != at.REGISTER:
            continue
        register = store[e + at.E_REGISTERS] + store[row + at.D_BASE] * at.R_WIDTH
        held = store[thread + at.T_ROWS + which]
        if store[register + at.R_SAVES] == 0 or store[held + at.D_KIND] != at.MEMORY:
            continue
        column = thread + at.T_POSITIONS + which
        position = store[column]
        if store[held + at.D_DIMENSIONS] > 1:
            steps = steps_covered(store, column, held, at_end)
            position = store[thread + at.T_ORIGIN + which] + steps * store[held + at.D_SAVE]
        store[register + at.R_POSITION] = position
        if store[held + at.D_WRAP] > 0:
            store[register + at.R_RING_OFFSET] = store[column + at.COUNTERS]


@inner_kernel
def run_special_memory(store: Table, memory: Memory, where: tuple[int, int], now: int) -> None:
    """Do a special operation on memory alone at once."""
    e, thread = where
    op = store[thread + at.T_OP]
    extent = store[thread + at.T_EXTENT]
    busy = memory_cycles(store, memory, (thread, thread + at.T_ROWS), extent)
    if busy > store[at.S_MOST]:
        fail(store, at.ERROR_LONG, e, op, busy)
        return
    for _ in range(extent):
        do_special(store, memory, (e, thread), now)
    save_positions(store, e, thread, 1)
    store[e + at.E_STATE] = at.M_READY
    store[e + at.E_UNTIL] = now + busy
    record(store, e, op, now, now + busy + store[at.K_MEMORY_COMPLETION])


@inner_kernel
def launch(store: Table, memory: Memory, what: What) -> Word:
    """Start a special operation on a free thread: what = (element, thread, cycle, -)."""
    e, thread, now, _ = what
    op = store[thread + at.T_OP]
    if not load_special(store, memory, (e, thread), op):
        return 0
    store[store[e + at.E_RUNS] + store[op + at.O_RUNS]] += 1
    if store[op + at.O_RESULT] >= 0:
        store[store[e + at.E_VARIABLES] + store[op + at.O_RESULT]] = 1
    stream = streams(store, thread)
    if stream == 0:
        run_special_memory(store, memory, (e, thread), now)
        return 0
    queues = store[thread + at.T_QUEUES]
    if store[e + at.E_QUEUES_BUSY] & queues:
        fail(store, at.ERROR_QUEUE_BUSY, e, op, store[e + at.E_QUEUES_BUSY] & queues)
        return 0
    store[thread + at.T_STATE] = at.PAUSED if store[thread + at.T_BLOCKED] else at.RUNNING
    store[thread + at.T_NEXT] = now
    store[thread + at.T_FRACTION] = 0
    store[thread + at.T_START] = now
    store[e + at.E_RUNNING] += 1
    store[e + at.E_QUEUES_BUSY] |= queues
    store[e + at.E_STATE] = at.M_READY if store[op + at.O_ASYNC] == 1 else at.M_SYNC
    store[e + at.E_UNTIL] = now + store[at.K_ISSUE]
    return 0


@inner_kernel
def fire_special(store: Table, memory: Memory, where: tuple[int, int], now: int) -> Word:
    """Do the next element of a running special operation if it can go; return the mood."""
    e, thread = where
    op = store[thread + at.T_OP]
    if meets_control(store, thread, now):
        store[thread + at.T_NEXT] = now + 1
        save_positions(store, e, thread, 0)
        check_halves(store, e, thread)
        end_by_control(store, e, thread)
        finish(store, e, thread, now)
        return BUSY
    simd = store[thread + at.T_SIMD]
    if simd:
        mood = use(store, memory, at.FEATURE_SIMD_READY, (e, thread, now, 0))
    else:
        mood = special_ready(store, e, thread, now)
    if mood < 0:
        store[thread + at.T_NEXT] = now + 1
        save_positions(store, e, thread, 0)
        check_halves(store, e, thread)
        end_early(store, memory, where, mood == -1 - at.TERMINATE)
        finish(store, e, thread, now)
        return BUSY
    if mood != BUSY:
        return mood
    pace = store[op + at.O_CYCLES]
    if simd:
        pace *= use(store, memory, at.FEATURE_SIMD, (e, thread, now, 0))
    else:
        do_special(store, memory, where, now)
    per = store[op + at.O_DENOMINATOR]
    if per != 1:
        pace += store[thread + at.T_FRACTION]
        store[thread + at.T_FRACTION] = pace % per
        pace //= per
    store[thread + at.T_NEXT] = now + max(1, pace)
    if store[thread + at.T_LEFT] == 0:
        save_positions(store, e, thread, 1)
        clear_source(store, memory, thread)
        finish(store, e, thread, now)
    return BUSY


@inner_kernel
def serve_special(store: Table, memory: Memory, what: What) -> Word:
    """Serve a running special operation; FIFOs may wake other threads and tasks.

    what = (element, thread, cycle, -). Returns the mood.
    """
    e, thread, now, _ = what
    mood = fire_special(store, memory, (e, thread), now)
    if mood == BUSY:
        schedule(store, e, now + 1)
    return mood
