"""The start of special operations: registers, indices, FIFOs, lengths known only now."""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.datapath import read_word, start_walk, write_word
from tilewright.simulator.engine.fabric import schedule
from tilewright.simulator.engine.finish import finish
from tilewright.simulator.engine.indirect import What, use
from tilewright.simulator.engine.jit import inner_kernel, part_kernel
from tilewright.simulator.engine.lengths import check_halves, inside, set_extent
from tilewright.simulator.engine.shared_state import fail, memory_cycles, record, start_of
from tilewright.simulator.engine.special_operations import (
    clear_source,
    do_special,
    end_by_control,
    end_early,
    meets_control,
    special_ready,
)
from tilewright.simulator.run.trace import BUSY


@part_kernel
def has_extras(store: Table, e: int, register: int, number: int) -> Word:
    """Return whether no later load took a register's extended and stride registers."""
    for i in range(at.R_WIDTH - at.R_EXTRAS):
        extra = store[register + at.R_EXTRAS + i] - 1
        owner = store[e + at.E_REGISTERS] + extra * at.R_WIDTH
        if extra >= 0 and store[owner + at.R_ROW] != number + 1:
            return False
    return True


@inner_kernel
def use_register(store: Table, e: int, thread: int, which: int) -> Word:
    """Give a thread what a register holds; return the operand row, or -1 on an error."""
    op = store[thread + at.T_OP]
    number = store[store[op + at.O_OPERANDS + which] + at.D_BASE]
    register = store[e + at.E_REGISTERS] + number * at.R_WIDTH
    row = store[register + at.R_ROW]
    if row == 0:
        fail(store, at.ERROR_NOT_LOADED, e, op, number)
        return -1
    declared = store[op + at.O_OPERANDS + which]
    if store[declared + at.D_FLAGS] & at.FIFO_TYPED and store[row + at.D_KIND] != at.POOL:
        fail(store, at.ERROR_NO_FIFO, e, op, number)
        return -1
    if not has_extras(store, e, register, number):
        fail(store, at.ERROR_EXTENDED, e, op, number)
        return -1
    if store[declared + at.D_TYPES] & store[row + at.D_TYPES] == 0:
        fail(store, at.ERROR_DTYPE, e, op, number)
        return -1
    if store[register + at.R_SINGLE] != store[thread + at.T_SINGLE]:
        single = store[register + at.R_SINGLE] == 1
        error = at.ERROR_SINGLE_STEP if single else at.ERROR_NO_SINGLE_STEP
        fail(store, error, e, op, number)
        return -1
    streams_in = store[row + at.D_KIND] in (at.FABRIC_IN, at.FABRIC_OUT)
    if streams_in and store[op + at.O_ASYNC] == 1 and store[register + at.R_ASYNC] == 0:
        fail(store, at.ERROR_NOT_ASYNC, e, op, number)
        return -1
    if store[register + at.R_ACTION] != at.NO_ACTION:
        store[thread + at.T_ACTION] = store[register + at.R_ACTION]
        store[thread + at.T_ACTION_TASK] = store[register + at.R_ACTION_TASK]
    if store[register + at.R_ON_CONTROL] != at.CONTROL_IS_DATA:
        store[thread + at.T_ON_CONTROL] = store[register + at.R_ON_CONTROL]
        store[thread + at.T_CONTROL_TASK] = store[register + at.R_CONTROL_TASK]
    return row


@inner_kernel
def change_operand(store: Table, memory: Memory, where: tuple[int, int, int], row: int) -> Word:
    """Note the length and stride that an operand has now; return False if it cannot have them."""
    e, thread, which = where
    op = store[thread + at.T_OP]
    if store[row + at.D_LENGTH_ROW] >= 0:
        length = value_of(store, memory, e, store[row + at.D_LENGTH_ROW])
        store[thread + at.T_CHANGED_LENGTH + which] = length
        if length == 0 or length > 0xFFFF:
            fail(store, at.ERROR_CHANGE, e, op, (length ^ 0x80000000) - 0x80000000)
            return False
    if store[row + at.D_STRIDE_ROW] >= 0:
        stride = value_of(store, memory, e, store[row + at.D_STRIDE_ROW])
        stride = (stride ^ 0x80000000) - 0x80000000
        store[thread + at.T_STRIDE + which] = stride * store[row + at.D_WIDE]
        if stride < -128 or stride > 127:
            fail(store, at.ERROR_STRIDE, e, op, stride)
            return False
    return True


@inner_kernel
def first_position(store: Table, e: int, declared: int, row: int) -> Word:
    """Return where an operand starts: a word, a queue or a FIFO; negative on an error."""
    kind = store[row + at.D_KIND]
    if kind == at.POOL:
        return store[e + at.E_POOLS] + store[row + at.D_BASE] * at.Q_WIDTH
    if store[declared + at.D_KIND] == at.REGISTER and kind == at.MEMORY:
        register = store[e + at.E_REGISTERS] + store[declared + at.D_BASE] * at.R_WIDTH
        return store[register + at.R_POSITION]
    return start_of(store, e, row)


@inner_kernel
def way_gone(store: Table, e: int, declared: int, row: int) -> Word:
    """Return the words that an operand starts behind the start of its circular buffer."""
    if store[row + at.D_WRAP] == 0 or store[declared + at.D_KIND] != at.REGISTER:
        return 0
    register = store[e + at.E_REGISTERS] + store[declared + at.D_BASE] * at.R_WIDTH
    return store[register + at.R_RING_OFFSET]


@inner_kernel
def place_operand(store: Table, memory: Memory, where: tuple[int, int, int], row: int) -> Word:
    """Set an operand's start; return False on an error: where = (element, thread, operand)."""
    e, thread, which = where
    op = store[thread + at.T_OP]
    kind = store[row + at.D_KIND]
    declared = store[op + at.O_OPERANDS + which]
    position = first_position(store, e, declared, row)
    if position < 0:  # a register may point before the memory of the first element
        fail(store, at.ERROR_BOUNDS, e, row, position)
        return False
    gone = way_gone(store, e, declared, row)
    store[thread + at.T_RING_OFFSET + which] = gone
    if store[row + at.D_FLAGS] & at.INDEXED:
        if store[thread + at.T_INDEX] < 0:
            fail(store, at.ERROR_INDEX, e, op, which)
            return False
        if kind == at.MEMORY:
            position += store[thread + at.T_INDEX]
            if store[row + at.D_WIDE] == 2 and store[thread + at.T_INDEX] & 1:
                fail(store, at.ERROR_ODD, e, op, store[thread + at.T_INDEX])
                return False
    if not change_operand(store, memory, where, row):
        return False
    if kind == at.MEMORY and not inside(store, (e, thread, which), row, position):
        fail(store, at.ERROR_BOUNDS, e, row, position - store[e + at.E_MEMORY])
        return False
    if kind in (at.FABRIC_IN, at.FABRIC_OUT):
        store[thread + at.T_QUEUES] |= 1 << store[row + at.D_BASE]
    column = thread + at.T_POSITIONS + which
    start_walk(store, column, position)
    store[column + at.COUNTERS] = gone
    store[thread + at.T_ORIGIN + which] = position
    return True


@inner_kernel
def load_operand_rows(store: Table, memory: Memory, where: tuple[int, int], op: int) -> Word:
    """Give a thread its settings, rows and positions; return False on an error."""
    e, thread = where
    store[thread + at.T_ASYNC] = store[op + at.O_ASYNC]
    store[thread + at.T_ACTION] = store[op + at.O_ACTION]
    store[thread + at.T_ACTION_TASK] = store[op + at.O_ACTION_TASK]
    store[thread + at.T_ON_CONTROL] = store[op + at.O_ON_CONTROL]
    store[thread + at.T_CONTROL_TASK] = store[op + at.O_CONTROL_TASK]
    store[thread + at.T_INDEX] = -1
    store[thread + at.T_QUEUES] = 0
    index = store[op + at.O_INDEX]
    if index >= 0:
        given = value_of(store, memory, e, index)
        store[thread + at.T_INDEX] = given
        if given > 0xFFFF:
            fail(store, at.ERROR_FAR_INDEX, e, op, given)
            return False
    for which in range(3):
        row = store[op + at.O_OPERANDS + which]
        store[thread + at.T_ROWS + which] = row
        if row < 0:
            continue
        if store[row + at.D_KIND] == at.REGISTER:
            row = use_register(store, e, thread, which)
            store[thread + at.T_ROWS + which] = row
        if row < 0 or not place_operand(store, memory, (e, thread, which), row):
            return False
    return store[at.S_ERROR] == at.OK


@part_kernel
def choose_variant(store: Table, thread: int) -> None:
    """Give a thread the row whose rates are those of what its registers hold, if there is one."""
    op = store[thread + at.T_OP]
    for number in range(store[op + at.O_VARIANTS]):
        variant = store[op + at.O_VARIANT] + number * at.O_WIDTH
        same = True
        for which in range(3):
            held = store[variant + at.O_HELD + which]
            same &= held < 0 or held == store[thread + at.T_ROWS + which]
        if same:
            store[thread + at.T_OP] = variant
            return


@inner_kernel
def load_special(store: Table, memory: Memory, where: tuple[int, int], op: int) -> Word:
    """Fill a thread for a special operation; return False on an error."""
    e, thread = where
    store[thread + at.T_SINGLE] = 0
    store[thread + at.T_CARRY] = 0
    store[thread + at.T_GROUP] = 1
    for i in range(3):
        store[thread + at.T_HALF + i] = 0
    if not load_operand_rows(store, memory, where, op):
        return False
    choose_variant(store, thread)
    store[thread + at.T_SCALAR] = store[op + at.O_SCALAR]
    row = store[op + at.O_SCALAR_ROW]
    if row >= 0:
        store[thread + at.T_SCALAR] = value_of(store, memory, e, row)
    if store[op + at.O_POINTER] == 1:
        wide = store[store[thread + at.T_ROWS] + at.D_WIDE]
        store[thread + at.T_SAVED] = read_word(memory, store[thread + at.T_ORIGIN], wide)
        if store[op + at.O_REDUCTION] == 1:
            write_word(memory, store[thread + at.T_ORIGIN], wide, store[thread + at.T_SCALAR])
    return store[at.S_ERROR] == at.OK and set_extent(store, e, thread)


@inner_kernel
def value_of(store: Table, memory: Memory, e: int, row: int) -> Word:
    """Return a scalar operand: bits of a value in memory, or a counter's value."""
    if store[row + at.D_KIND] == at.VARIABLE:
        value = 0
        for i in range(store[row + at.D_TERMS]):
            slot = store[e + at.E_VARIABLES] + store[row + at.D_VARIABLE + i]
            value += store[slot] * store[row + at.D_FACTOR + i]
        value += store[row + at.D_BASE]
        return value & (0xFFFFFFFF if store[row + at.D_WIDE] == 2 else 0xFFFF)
    position = start_of(store, e, row)
    store[row + at.D_READS] += 1
    return 0 if position < 0 else read_word(memory, position, store[row + at.D_WIDE])


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
