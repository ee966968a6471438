"""`@map`: run a callback per value; its arguments and its result are values of descriptors.

The main thread runs a loop: take a value of every input, run the callback's instructions, give the
result to the output. The loop ends when an operand has no values left; values that it took from
other inputs before are lost. Operations on descriptors in the callback are the main thread's, so
the map then holds its operands on a thread of its own. In a run without values all turns of a map
of scalar instructions on memory are one step.
"""

from __future__ import annotations

from typing import Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.jit import FeatureArguments, inner_kernel
from tilewright.simulator.engine.operation_steps import fail, look_at_operands, record
from tilewright.simulator.engine.rare.special_extent import length_of
from tilewright.simulator.engine.rare.special_operations import save_positions
from tilewright.simulator.engine.rare.special_start import load_operand_rows
from tilewright.simulator.engine.rare.special_values import put_special, take_special
from tilewright.simulator.engine.rare.special_waits import queue_waits
from tilewright.simulator.engine.values.places import OperandPlace, ThreadPlace
from tilewright.simulator.run.trace import BUSY

LONGEST: Final = 1 << 16
"""Values that no operand of a map has."""


@inner_kernel
def thread_of(store: Table, element: int, op: int) -> Word:
    """Return the address of the thread of an @map operation: the main one, or an additional one.

    @map runs a callback for each value of its input vectors; an additional thread only holds
    operands of it. element, op: addresses.
    """
    return store[element + at.E_THREADS] + store[op + at.O_THREAD] * at.T_WIDTH


@inner_kernel
def map_start(store: Table, memory: Memory, element: int, op: int) -> None:
    """Load the operands of an @map operation on its thread, and take its queues.

    @map runs a callback for each value of its input vectors. element, op: addresses of the
    processing element and of the operation. A queue that is in use is an error of the run.
    """
    thread = thread_of(store, element, op)
    store[thread + at.T_OP] = op
    store[thread + at.T_SINGLE] = 1
    if not load_operand_rows(store, memory, element, thread, op):
        return
    queues = store[thread + at.T_QUEUES]
    if store[element + at.E_QUEUES_BUSY] & queues:
        fail(store, at.ERROR_QUEUE_BUSY, element, op, store[element + at.E_QUEUES_BUSY] & queues)
        return
    for operand in range(3):
        row = store[thread + at.T_ROWS + operand]
        if row >= 0:
            length = length_of(store, thread, operand) & 0xFFFF  # EMPTY is 0
            if length == at.ENDLESS and store[row + at.D_KIND] != at.MEMORY:
                length = -1  # counts nothing down
            store[thread + at.T_LENGTHS + operand] = length
    if store[op + at.O_POINTER] == 1:
        store[thread + at.T_LENGTHS] = -1
    store[thread + at.T_STATE] = at.MAPPING
    look_at_operands(store, memory, element, thread)
    store[thread + at.T_EXTENT] = 0
    store[thread + at.T_LEFT] = 0
    store[thread + at.T_START] = store[at.S_CYCLE]
    store[element + at.E_RUNNING] += 1
    store[element + at.E_QUEUES_BUSY] |= queues
    store[store[element + at.E_RUNS] + store[op + at.O_RUNS]] += 1


@inner_kernel
def operand_waits(store: Table, element: int, thread: int, operand: int, now: int) -> Word:
    """Say whether an operand of an @map operation is ready: BUSY, WAIT_INPUT or WAIT_OUTPUT.

    Memory is always ready. operand: 0 for the output, 1 and 2 for inputs.
    """
    row = store[thread + at.T_ROWS + operand]
    if store[row + at.D_KIND] not in (at.FABRIC_IN, at.FABRIC_OUT):
        return BUSY
    queue = store[thread + at.T_POSITIONS + operand]
    return queue_waits(store, element, row, queue, now)


@inner_kernel
def map_read(store: Table, memory: Memory, element: int, op: int, now: int) -> Word:
    """Take one value of each input of an @map operation into the counters of its callback.

    Returns BUSY, WAIT_INPUT if a value is missing, or -1 at the end of the map. After a wait it
    goes on with the first value that has not arrived (T_EXTENT counts them).
    """
    thread = thread_of(store, element, op)
    for operand in range(1, 3):
        if store[thread + at.T_ROWS + operand] < 0 or store[thread + at.T_EXTENT] >= operand:
            continue
        if store[thread + at.T_LENGTHS + operand] == 0:
            return -1
        cycle_state = operand_waits(store, element, thread, operand, now)
        if cycle_state != BUSY:
            return cycle_state
        bits = take_special(store, memory, OperandPlace(element, thread, operand), now)
        if store[thread + at.T_LENGTHS + operand] > 0:
            store[thread + at.T_LENGTHS + operand] -= 1
        store[thread + at.T_EXTENT] = operand
        size = store[op + at.O_MAP_BITS + operand]
        bits &= (1 << abs(size)) - 1
        if size < 0 and bits >> (-size - 1):
            bits -= 1 << -size
        store[store[element + at.E_VARIABLES] + store[op + at.O_MAP + operand]] = bits
    store[thread + at.T_EXTENT] = 0
    if store[thread + at.T_ROWS] >= 0 and store[thread + at.T_LENGTHS] == 0:
        return -1
    return BUSY


@inner_kernel
def map_write(store: Table, memory: Memory, element: int, op: int, now: int) -> Word:
    """Give the result of an @map callback to its output: send it or write it to memory.

    @map runs a callback for each value of its input vectors; its result is in a counter, a named
    integer of the processing element. Returns BUSY, or WAIT_OUTPUT if the queue has no space.
    """
    thread = thread_of(store, element, op)
    store[store[element + at.E_RUNS] + store[op + at.O_NUMBER]] += 1
    if store[thread + at.T_ROWS] < 0:
        return BUSY
    cycle_state = operand_waits(store, element, thread, 0, now)
    if cycle_state != BUSY:
        store[store[element + at.E_RUNS] + store[op + at.O_NUMBER]] -= 1
        return cycle_state
    value = store[store[element + at.E_VARIABLES] + store[op + at.O_MAP]]
    bits = value & ((1 << abs(store[op + at.O_MAP_BITS])) - 1)
    if store[thread + at.T_LENGTHS] > 0:
        store[thread + at.T_LENGTHS] -= 1
    store[thread + at.T_LEFT] = store[thread + at.T_LENGTHS] + 1
    put_special(store, memory, ThreadPlace(element, thread), bits, now)
    return BUSY


@inner_kernel
def map_end(store: Table, element: int, op: int, now: int) -> None:
    """End an @map operation: free its thread and queues, and record it in the timeline.

    @map runs a callback for each value of its input vectors. element, op: addresses; now: the
    cycle.
    """
    thread = thread_of(store, element, op)
    save_positions(store, element, thread, 1)
    store[thread + at.T_STATE] = at.FREE
    store[element + at.E_RUNNING] -= 1
    store[element + at.E_QUEUES_BUSY] &= ~store[thread + at.T_QUEUES]
    if store[op + at.O_LEADS] == 1:
        record(store, element, op, store[thread + at.T_START], now + 1)


@inner_kernel
def least_turns(store: Table, element: int, pc: int) -> Word:
    """Return how often the body of an @map runs that is about to read; 0 if not all is in memory.

    @map runs a callback for each value of its input vectors. pc: address of its first read. A
    register counts as not in memory, for it may keep the place behind the last value.
    """
    turns = LONGEST
    while store[pc] == at.I_MAP_READ:
        op = store[pc + 1]
        thread = thread_of(store, element, op)
        for operand in range(3):
            row = store[op + at.O_OPERANDS + operand]
            if row < 0:
                continue
            if store[row + at.D_KIND] != at.MEMORY:
                return 0
            if store[thread + at.T_LENGTHS + operand] >= 0:
                turns = min(turns, store[thread + at.T_LENGTHS + operand])
        pc += at.I_WIDTH
    return turns if turns < LONGEST else 0


@inner_kernel
def cycles_of_turn(store: Table, pc: int) -> Word:
    """Return the cycles of each turn of an @map, 0 unless they are those of scalars on counters.

    @map runs a callback for each value of its input vectors. pc: address of its first read.
    """
    cycles, output = store[at.K_MAP], store[store[pc + 1] + at.O_OPERANDS]
    while store[pc] == at.I_MAP_READ:
        pc += at.I_WIDTH
    while store[pc] == at.I_COMPUTE:
        for operand in (at.U_DEST, at.U_LEFT, at.U_RIGHT):
            if store[store[pc + 1] + operand] == at.ELEMENT:
                return 0
        cycles += store[at.K_SCALAR]
        pc += at.I_WIDTH
    if store[pc] != at.I_MAP_WRITE:
        return 0
    return cycles + store[at.K_SCALAR] if output >= 0 else cycles


@inner_kernel
def all_turns(store: Table, element: int, pc: int) -> Word:
    """Pass all turns of an @map without their values; return their cycles, 0 if it cannot.

    @map runs a callback for each value of its input vectors. pc: address of its first read, which
    is due next and finds no value afterwards. The cycles follow from the lengths (engines.md §10).
    """
    turns, cycles = least_turns(store, element, pc), cycles_of_turn(store, pc)
    if turns == 0 or cycles == 0:
        return 0
    first = store[pc + 1]
    store[store[element + at.E_RUNS] + store[first + at.O_NUMBER]] += turns
    while store[pc] == at.I_MAP_READ:
        op = store[pc + 1]
        thread = thread_of(store, element, op)
        for operand in range(3):
            has_length = store[thread + at.T_LENGTHS + operand] > 0
            if store[op + at.O_OPERANDS + operand] >= 0 and has_length:
                store[thread + at.T_LENGTHS + operand] -= turns
        if store[op + at.O_OPERANDS] >= 0:
            store[thread + at.T_LEFT] = store[thread + at.T_LENGTHS] + 1
        pc += at.I_WIDTH
    return turns * cycles


@inner_kernel
def map_step(store: Table, memory: Memory, arguments: FeatureArguments) -> Word:
    """Do the instruction of an @map at an element's program counter; return 0 when it waits.

    Else it returns 1. The instructions start the map, read its inputs, write its output, end it.
    `arguments` are (address of the element, cycle, 0, 0).
    """
    element, now, _, _ = arguments
    pc = store[element + at.E_PC]
    store[element + at.E_PC] = pc + at.I_WIDTH
    store[element + at.E_STATE] = at.M_READY
    store[element + at.E_UNTIL] = now + store[at.K_SCALAR]
    op = store[pc + 1]
    first = store[op + at.O_LEADS] == 1
    if store[pc] == at.I_MAP_START:
        map_start(store, memory, element, op)
        store[element + at.E_UNTIL] = now + max(1, store[op + at.O_LOAD])
        return 1
    if store[pc] == at.I_MAP_END:
        map_end(store, element, op, now)
        store[element + at.E_UNTIL] = now + (store[at.K_SCALAR] if first else 0)
        return 1
    reads = store[pc] == at.I_MAP_READ
    if reads and first and store[at.S_TIMES_ONLY] == at.NO_SCALARS:
        passed = all_turns(store, element, pc)
        if passed > 0:
            store[element + at.E_PC] = pc
            store[element + at.E_UNTIL] = now + passed
            return 1
    cycle_state = (
        map_read(store, memory, element, op, now)
        if reads
        else map_write(store, memory, element, op, now)
    )
    if not reads and store[thread_of(store, element, op) + at.T_ROWS] < 0:
        store[element + at.E_UNTIL] = now  # there is nothing to write
    if cycle_state == -1 or (cycle_state == BUSY and not reads):
        store[element + at.E_PC] = store[pc + 3]
    elif cycle_state == BUSY:
        store[element + at.E_UNTIL] = now + (store[at.K_MAP] if first else 0)
    else:
        store[element + at.E_PC] = pc
        store[element + at.E_STATE] = at.M_MAP
        store[store[element + at.E_THREADS] + at.T_CYCLE_STATE] = cycle_state
        return 0
    return 1
