"""Special operations value by value: control wavelets, indices, FIFOs, circular buffers.

They are slower and more general than the plain datapath: the thread names its operand rows
(`T_ROWS`), which registers may have changed since the program was compiled. A value goes when all
queues and FIFOs of the operation are ready. A full or an empty FIFO suspends or ends the operation.
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.fabric import schedule
from tilewright.simulator.engine.jit import FeatureArguments, inner_kernel, use
from tilewright.simulator.engine.operation_steps import (
    fail,
    finish,
    hold_datapath,
    look_at_operands,
    memory_cycles,
)
from tilewright.simulator.engine.rare.special_extent import check_halves
from tilewright.simulator.engine.rare.special_start import load_special
from tilewright.simulator.engine.rare.special_values import (
    add_carry,
    clear_source,
    drop_wavelet,
    put_special,
    take_special,
)
from tilewright.simulator.engine.rare.special_waits import meets_control, special_ready
from tilewright.simulator.engine.values.datapath import value_of
from tilewright.simulator.engine.values.lines import do_special_lines, has_lines
from tilewright.simulator.engine.values.memory_words import write_word
from tilewright.simulator.engine.values.places import (
    Computation,
    OperandBits,
    OperandPlace,
    ThreadPlace,
)
from tilewright.simulator.isa.operations import ADD_CARRY, DROP
from tilewright.simulator.run.trace import BUSY


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
