"""The start of special operations: registers, indices, FIFOs, lengths known only now."""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.datapath import read_word, start_walk, write_word
from tilewright.simulator.engine.jit import inner_kernel, part_kernel
from tilewright.simulator.engine.operations import fail, start_of


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
def inside(store: Table, where: tuple[int, int, int], row: int, position: int) -> Word:
    """Return whether a memory operand that starts at a position stays in its buffer."""
    e, thread, which = where
    base = position - store[e + at.E_MEMORY] - store[thread + at.T_RING_OFFSET + which]
    low, high = base + store[row + at.D_LOW], base + store[row + at.D_HIGH]
    changes = store[row + at.D_LENGTH_ROW] >= 0 or store[row + at.D_STRIDE_ROW] >= 0
    if changes and store[row + at.D_WRAP] == 0:
        stride = store[row + at.D_STRIDE]
        if store[row + at.D_STRIDE_ROW] >= 0:
            stride = store[thread + at.T_STRIDE + which]
        end = base + stride * (length_of(store, thread, which) - 1)
        low, high = min(base, end), max(base, end)
    return low >= store[row + at.D_FIRST] and high <= store[row + at.D_LAST]


@inner_kernel
def length_of(store: Table, thread: int, which: int) -> Word:
    """Return an operand's own length, 0 for none."""
    row = store[thread + at.T_ROWS + which]
    if store[row + at.D_KIND] == at.POOL:
        pool = store[thread + at.T_POSITIONS + which]
        return store[pool + (at.Q_READ_LENGTH if which else at.Q_WRITE_LENGTH)]
    if store[row + at.D_LENGTH_ROW] >= 0:
        return store[thread + at.T_CHANGED_LENGTH + which]
    return store[row + at.D_LENGTH]


@part_kernel
def simd_mode(store: Table, thread: int) -> Word:
    """Return the narrowest mode of a thread's operands; SIMD_MIXED where a queue has none."""
    mode = at.SIMD_NONE
    mixed = False
    for which in range(3):
        row = store[thread + at.T_ROWS + which]
        if row < 0:
            continue
        own = store[row + at.D_SIMD]
        if own != at.SIMD_NONE:
            mode = own if mode == at.SIMD_NONE else min(mode, own)
        elif store[row + at.D_KIND] in (at.FABRIC_IN, at.FABRIC_OUT):
            mixed = True
    return at.SIMD_MIXED if mixed and mode != at.SIMD_NONE else mode


@part_kernel
def group_of(store: Table, thread: int, mode: int) -> Word:
    """Return of how many values a thread's length is a multiple (compile/code/simd_modes.py)."""
    group = 4 if mode == at.SIMD_64 else 1 if mode in (at.SIMD_NONE, at.SIMD_MIXED) else 2
    for which in range(3):
        row = store[thread + at.T_ROWS + which]
        if row >= 0 and store[row + at.D_FLAGS] & at.PAIRS:
            group = max(group, 4 if store[row + at.D_SIMD] == at.SIMD_64 else 2)
    return group


@part_kernel
def stays_inside(store: Table, thread: int) -> Word:
    """Return whether the memory operands of an endless operation never leave their buffers."""
    for which in range(3):
        row = store[thread + at.T_ROWS + which]
        if row < 0 or store[row + at.D_KIND] != at.MEMORY or store[row + at.D_WRAP] > 0:
            continue
        still = store[row + at.D_STRIDE]
        if store[row + at.D_STRIDE_ROW] >= 0:
            still = store[thread + at.T_STRIDE + which]
        if store[row + at.D_DIMENSIONS] > 1 or still != 0:
            return False
    return True


@inner_kernel
def common_length(store: Table, e: int, thread: int) -> Word:
    """Return the common length of a thread's operands, 0 on an error."""
    op = store[thread + at.T_OP]
    extent = 0
    for which in range(3):
        if store[thread + at.T_ROWS + which] < 0:
            continue
        length = length_of(store, thread, which)
        if extent and length and length != extent:
            fail(store, at.ERROR_EXTENTS, e, op, extent << 16 | length)
            return 0
        extent = max(extent, length)
    if extent == 0:
        fail(store, at.ERROR_NO_LENGTH, e, op, 0)
    return extent


@inner_kernel
def set_extent(store: Table, e: int, thread: int) -> Word:
    """Give a thread the common length of its operands; return False when it cannot have it."""
    op = store[thread + at.T_OP]
    extent = common_length(store, e, thread)
    if extent == 0:
        return False
    mode = simd_mode(store, thread)
    endless = extent == at.ENDLESS and store[thread + at.T_QUEUES] != 0
    if endless and not stays_inside(store, thread):
        fail(store, at.ERROR_ENDLESS, e, op, extent)
        return False
    group = group_of(store, thread, mode)
    if not endless and extent % group != 0:
        fail(store, at.ERROR_GROUP, e, op, extent << 16 | group)
        return False
    store[thread + at.T_SIMD] = mode
    store[thread + at.T_EXTENT] = extent
    store[thread + at.T_LEFT] = extent
    store[thread + at.T_STEP] = 0 if endless else 1
    return True


@inner_kernel
def check_halves(store: Table, e: int, thread: int) -> None:
    """Refuse an early end of an operation that has half a wavelet in its hands."""
    for which in range(3):
        if store[thread + at.T_HALF + which]:
            op = store[thread + at.T_OP]
            fail(
                store, at.ERROR_HALF, e, op, store[thread + at.T_EXTENT] - store[thread + at.T_LEFT]
            )
