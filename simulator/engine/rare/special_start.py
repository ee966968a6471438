"""Start a special operation: load its operands from registers, indices, FIFOs and changed lengths.

A special operation is one whose operands are known only at run time (`O_SPECIAL`). Its start fills
the thread: the operand rows (`T_ROWS`), their first positions, the number of values
(special_extent.py). A start that would leave a buffer is an error of the run.
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.jit import inline_kernel, inner_kernel, part_kernel
from tilewright.simulator.engine.operation_steps import fail, start_of
from tilewright.simulator.engine.rare.special_extent import set_extent, stays_in_buffer
from tilewright.simulator.engine.values.datapath import start_walk
from tilewright.simulator.engine.values.memory_words import read_word, write_word
from tilewright.simulator.engine.values.places import OperandPlace


@inner_kernel
def scalar_operand(store: Table, memory: Memory, element: int, row: int) -> Word:
    """Return the bits of a scalar operand: of a value in memory, or of a sum of counters.

    row: address of the operand. Counters are named integers of the processing element. A value
    outside its buffer is an error of the run.
    """
    if store[row + at.D_KIND] == at.VARIABLE:
        value = 0
        for i in range(store[row + at.D_TERMS]):
            slot = store[element + at.E_VARIABLES] + store[row + at.D_VARIABLE + i]
            value += store[slot] * store[row + at.D_FACTOR + i]
        value += store[row + at.D_BASE]
        return value & (0xFFFFFFFF if store[row + at.D_WIDE] == 2 else 0xFFFF)
    position = start_of(store, element, row)
    store[row + at.D_READS] += 1
    return 0 if position < 0 else read_word(memory, position, store[row + at.D_WIDE])


@part_kernel
def has_extras(store: Table, element: int, register: int, number: int) -> Word:
    """Return whether a register still owns its extended and stride registers.

    A load of another register may have taken them. register: its address; number: its number.
    """
    for i in range(at.R_WIDTH - at.R_EXTRAS):
        extra = store[register + at.R_EXTRAS + i] - 1
        owner = store[element + at.E_REGISTERS] + extra * at.R_WIDTH
        if extra >= 0 and store[owner + at.R_ROW] != number + 1:
            return False
    return True


@part_kernel
def register_error(store: Table, element: int, thread: int, declared: int, register: int) -> Word:
    """Return why an operation cannot use what a register holds (ERROR_...), or OK.

    declared: address of the operand row that names the register; register: its address.
    """
    row = store[register + at.R_ROW]
    if row == 0:
        return at.ERROR_NOT_LOADED
    kind = store[row + at.D_KIND]
    if store[declared + at.D_FLAGS] & at.FIFO_TYPED and kind != at.POOL:
        return at.ERROR_NO_FIFO
    if not has_extras(store, element, register, store[declared + at.D_BASE]):
        return at.ERROR_EXTENDED
    if store[declared + at.D_TYPES] & store[row + at.D_TYPES] == 0:
        return at.ERROR_DTYPE
    if store[register + at.R_SINGLE] != store[thread + at.T_SINGLE]:
        single = store[register + at.R_SINGLE] == 1
        return at.ERROR_SINGLE_STEP if single else at.ERROR_NO_SINGLE_STEP
    if kind in (at.FABRIC_IN, at.FABRIC_OUT) and store[register + at.R_ASYNC] == 0:
        asynchronous = store[store[thread + at.T_OP] + at.O_ASYNC] == 1
        return at.ERROR_NOT_ASYNC if asynchronous else at.OK
    return at.OK


@inner_kernel
def use_register(store: Table, element: int, thread: int, operand: int) -> Word:
    """Use what a register holds as an operand of a thread's operation.

    The register's settings (task at the end, control wavelets) go to the thread. Returns the
    address of the operand row that was loaded, or -1 on an error of the run.
    """
    op = store[thread + at.T_OP]
    declared = store[op + at.O_OPERANDS + operand]
    number = store[declared + at.D_BASE]
    register = store[element + at.E_REGISTERS] + number * at.R_WIDTH
    error = register_error(store, element, thread, declared, register)
    if error != at.OK:
        fail(store, error, element, op, number)
        return -1
    if store[register + at.R_ACTION] != at.NO_ACTION:
        store[thread + at.T_ACTION] = store[register + at.R_ACTION]
        store[thread + at.T_ACTION_TASK] = store[register + at.R_ACTION_TASK]
    if store[register + at.R_ON_CONTROL] != at.CONTROL_IS_DATA:
        store[thread + at.T_ON_CONTROL] = store[register + at.R_ON_CONTROL]
        store[thread + at.T_CONTROL_TASK] = store[register + at.R_CONTROL_TASK]
    return store[register + at.R_ROW]


@inner_kernel
def change_operand(store: Table, memory: Memory, place: OperandPlace, row: int) -> Word:
    """Give a thread's operand the length and the stride that instructions have set in the run.

    place: addresses of element and thread, and which operand; row: address of the operand row,
    which says where the length (in values) and the stride (in values, kept in words) are. Returns
    False, and records an error, for a length of more than 65535, or a stride beyond -128 to 127. A
    length of 0 is kept as EMPTY.
    """
    element, thread, operand = place
    op = store[thread + at.T_OP]
    if store[row + at.D_LENGTH_ROW] >= 0:
        length = scalar_operand(store, memory, element, store[row + at.D_LENGTH_ROW])
        store[thread + at.T_CHANGED_LENGTH + operand] = length or at.EMPTY
        if length > 0xFFFF:
            fail(store, at.ERROR_CHANGE, element, op, (length ^ 0x80000000) - 0x80000000)
            return False
    if store[row + at.D_STRIDE_ROW] >= 0:
        stride = scalar_operand(store, memory, element, store[row + at.D_STRIDE_ROW])
        stride = (stride ^ 0x80000000) - 0x80000000
        store[thread + at.T_STRIDE + operand] = stride * store[row + at.D_WIDE]
        if stride < -128 or stride > 127:
            fail(store, at.ERROR_STRIDE, element, op, stride)
            return False
    return True


@inline_kernel
def moved_base(store: Table, element: int, row: int) -> Word:
    """Return the first word of an operand in memory, its counters added, unchecked.

    An address in 16-bit words of the memory of all elements. It is for operands whose length is
    known in the run only: `stays_in_buffer` checks them later, as a length of 0 leaves no buffer,
    wherever it begins.
    """
    base = store[row + at.D_BASE]
    first = store[element + at.E_VARIABLES]
    for i in range(store[row + at.D_TERMS]):
        value = store[first + store[row + at.D_VARIABLE + i]]
        base += value * store[row + at.D_FACTOR + i]
    return store[element + at.E_MEMORY] + base


@inner_kernel
def first_position(store: Table, element: int, declared: int, row: int) -> Word:
    """Return an operand's first word in memory, or the address of its queue's or memory FIFO's row.

    declared: the operand row that the operation names; row: the one that it uses, which differs if
    it names a register. Negative on an error of the run.
    """
    kind = store[row + at.D_KIND]
    if kind == at.POOL:
        return store[element + at.E_POOLS] + store[row + at.D_BASE] * at.Q_WIDTH
    if store[declared + at.D_KIND] == at.REGISTER and kind == at.MEMORY:
        register = store[element + at.E_REGISTERS] + store[declared + at.D_BASE] * at.R_WIDTH
        return store[register + at.R_POSITION]
    if kind == at.MEMORY and store[row + at.D_LENGTH_ROW] >= 0:
        return moved_base(store, element, row)
    return start_of(store, element, row)


@inner_kernel
def ring_offset_of(store: Table, element: int, declared: int, row: int) -> Word:
    """Return the 16-bit words from the start of a circular buffer to an operand's first word.

    A register that saves its address may stand inside the buffer; all other operands give 0.
    """
    if store[row + at.D_WRAP] == 0 or store[declared + at.D_KIND] != at.REGISTER:
        return 0
    register = store[element + at.E_REGISTERS] + store[declared + at.D_BASE] * at.R_WIDTH
    return store[register + at.R_RING_OFFSET]


@inner_kernel
def place_operand(store: Table, memory: Memory, place: OperandPlace, row: int) -> Word:
    """Set the first position of a thread's operand; return False on an error of the run.

    row: address of the operand in use. The operation's index moves it; a vector that leaves its
    buffer is an error, and so is a missing index or a changed length or stride that is out of
    range.
    """
    element, thread, operand = place
    op = store[thread + at.T_OP]
    kind = store[row + at.D_KIND]
    declared = store[op + at.O_OPERANDS + operand]
    position = first_position(store, element, declared, row)
    has_length = store[row + at.D_LENGTH_ROW] >= 0
    if position < 0 and not has_length:  # a register may point before all memory
        fail(store, at.ERROR_BOUNDS, element, row, position)
        return False
    ring_offset = ring_offset_of(store, element, declared, row)
    store[thread + at.T_RING_OFFSET + operand] = ring_offset
    if store[row + at.D_FLAGS] & at.INDEXED:
        if store[thread + at.T_INDEX] < 0:
            fail(store, at.ERROR_INDEX, element, op, operand)
            return False
        if kind == at.MEMORY:
            position += store[thread + at.T_INDEX]
    if kind == at.MEMORY and store[row + at.D_WIDE] == 2 and position & 1:
        fail(store, at.ERROR_ODD, element, op, position - store[element + at.E_MEMORY])
        return False
    if not change_operand(store, memory, place, row):
        return False
    if kind == at.MEMORY and not stays_in_buffer(store, place, row, position):
        fail(store, at.ERROR_BOUNDS, element, row, position - store[element + at.E_MEMORY])
        return False
    if kind in (at.FABRIC_IN, at.FABRIC_OUT):
        store[thread + at.T_QUEUES] |= 1 << store[row + at.D_BASE]
    column = thread + at.T_POSITIONS + operand
    start_walk(store, column, position)
    store[column + at.COUNTERS] = ring_offset
    store[thread + at.T_ORIGIN + operand] = position
    return True


@inner_kernel
def load_operand_rows(store: Table, memory: Memory, element: int, thread: int, op: int) -> Word:
    """Fill a thread with the settings and the operands of a special operation.

    Settings are the task at its end, what control wavelets do, and its index; operands are the rows
    in use, which registers may give, and first positions. element, thread, op: addresses in the
    store. Returns False on an error of the run.
    """
    store[thread + at.T_ASYNC] = store[op + at.O_ASYNC]
    store[thread + at.T_ACTION] = store[op + at.O_ACTION]
    store[thread + at.T_ACTION_TASK] = store[op + at.O_ACTION_TASK]
    store[thread + at.T_ON_CONTROL] = store[op + at.O_ON_CONTROL]
    store[thread + at.T_CONTROL_TASK] = store[op + at.O_CONTROL_TASK]
    store[thread + at.T_INDEX] = -1
    store[thread + at.T_QUEUES] = 0
    index = store[op + at.O_INDEX]
    if index >= 0:
        index_value = scalar_operand(store, memory, element, index)
        store[thread + at.T_INDEX] = index_value
        if index_value > 0xFFFF:
            fail(store, at.ERROR_FAR_INDEX, element, op, index_value)
            return False
    for operand in range(3):
        row = store[op + at.O_OPERANDS + operand]
        store[thread + at.T_ROWS + operand] = row
        if row < 0:
            continue
        if store[row + at.D_KIND] == at.REGISTER:
            row = use_register(store, element, thread, operand)
            store[thread + at.T_ROWS + operand] = row
        place = OperandPlace(element, thread, operand)
        if row < 0 or not place_operand(store, memory, place, row):
            return False
    return store[at.S_ERROR] == at.OK


@part_kernel
def choose_variant(store: Table, thread: int) -> None:
    """Let a thread run the variant of its operation that has the rate of the loaded descriptors.

    An operation on registers has a row for each rate that the descriptors in them may give. Without
    a matching variant it keeps its row.
    """
    op = store[thread + at.T_OP]
    for number in range(store[op + at.O_VARIANTS]):
        variant = store[op + at.O_VARIANT] + number * at.O_WIDTH
        same = True
        for operand in range(3):
            loaded = store[variant + at.O_HELD + operand]
            same &= loaded < 0 or loaded == store[thread + at.T_ROWS + operand]
        if same:
            store[thread + at.T_OP] = variant
            return


@inner_kernel
def load_special(store: Table, memory: Memory, element: int, thread: int, op: int) -> Word:
    """Prepare a thread for a special operation: set operands, scalar and number of elements.

    A special operation uses registers, FIFOs in memory, indices, control wavelets or lengths that
    are known only in the run. element, thread, op: addresses. Returns False on an error of the run.
    """
    store[thread + at.T_SINGLE] = 0
    store[thread + at.T_CARRY] = 0
    store[thread + at.T_GROUP] = 1
    for i in range(3):
        store[thread + at.T_HALF + i] = 0
    if not load_operand_rows(store, memory, element, thread, op):
        return False
    choose_variant(store, thread)
    store[thread + at.T_SCALAR] = store[op + at.O_SCALAR]
    row = store[op + at.O_SCALAR_ROW]
    if row >= 0:
        store[thread + at.T_SCALAR] = scalar_operand(store, memory, element, row)
    if store[op + at.O_POINTER] == 1:
        wide = store[store[thread + at.T_ROWS] + at.D_WIDE]
        store[thread + at.T_SAVED] = read_word(memory, store[thread + at.T_ORIGIN], wide)
        if store[op + at.O_REDUCTION] == 1:
            write_word(memory, store[thread + at.T_ORIGIN], wide, store[thread + at.T_SCALAR])
    return store[at.S_ERROR] == at.OK and set_extent(store, element, thread)
