"""Compute the values of a run: each element's operations in program order, one after the other.

Routes are fixed and streams keep their order, so values do not depend on times. An element runs
until an operation lacks words, and continues when they have been sent. An operation on a
microthread runs at its dispatch; the walk of the code has checked that no operation beside it
touches its memory (engines.md §8). Maps and scalar instructions are done by the kernels of the
reference engine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.engine.jit import use
from tilewright.simulator.engine.operation_steps import load_operands
from tilewright.simulator.engine.values.datapath import step_position, value_of
from tilewright.simulator.engine.values.lines import do_lines
from tilewright.simulator.engine.values.memory_words import read_word, write_word
from tilewright.simulator.engine.values.places import Computation, Lines, OperandBits
from tilewright.simulator.fast.fast_jit import inner_kernel, whole
from tilewright.simulator.fast.units.ramp_filters import place_behind
from tilewright.simulator.fast.values.value_state import (
    G_ADDRESS,
    G_LAST,
    G_NEXT,
    G_TASK,
    NOBODY,
    S_BASE,
    S_FILTER,
    S_ROOT,
    S_SENT,
    S_TAKEN,
    S_WAITING,
    ValueState,
)


class SourcePlace(NamedTuple):
    """Say where an operation's source is while values are computed: in memory or in a stream.

    `row`: address of its operand row, -1 for a scalar or nothing. `place`: address in the store of
    the word that holds its position in memory. `data`: index of its first word among the words of
    all streams, -1 unless it is a queue.
    """

    row: int
    place: int
    data: int


@inner_kernel
def fifo_of(state: ValueState, thread: int, operand: int) -> at.Word:
    """Return the number of the FIFO that a thread's operand is; the operand must be a queue.

    state: that of the run; thread: address of the thread; operand: 0 for the destination, 1 and 2
    for the sources.
    """
    queue = state.store[thread + at.T_POSITIONS + operand]
    return (queue - state.fifo) // at.F_WIDTH


@inner_kernel
def place_of_word(state: ValueState, fifo_number: int, index: int) -> at.Word:
    """Return the number that word `index` of a FIFO has in its stream.

    It is another number only behind a filter, which lets some words of the stream pass.
    """
    row = state.stream[fifo_number, S_FILTER]
    return index if row < 0 else place_behind(state.filter[row], index)


@inner_kernel
def lacking_stream(state: ValueState, address: int, op: int) -> at.Word:
    """Return the stream that has too few words for all values of an operation, or NOBODY (-1).

    A stream is named by the FIFO where it begins. address: of the element; op: of the operation.
    """
    for operand in range(1, 3):
        row = state.store[op + at.O_OPERANDS + operand]
        if row < 0 or state.store[row + at.D_KIND] != at.FABRIC_IN:
            continue
        queue = state.store[address + at.E_QUEUES + state.store[row + at.D_BASE]]
        fifo_number = (queue - state.fifo) // at.F_WIDTH
        root = state.stream[fifo_number, S_ROOT]
        last = state.stream[fifo_number, S_TAKEN] + state.store[op + at.O_EXTENT] - 1
        if place_of_word(state, fifo_number, last) >= state.stream[root, S_SENT]:
            return root
    return NOBODY


@inner_kernel
def source_place(state: ValueState, thread: int, operand: int) -> SourcePlace:
    """Return where a source's values are; words of a queue count as taken from then on.

    thread: address of the thread with the operation; operand: 1 or 2.
    """
    op = state.store[thread + at.T_OP]
    row = state.store[op + at.O_OPERANDS + operand]
    place = thread + at.T_POSITIONS + operand
    if row < 0 or state.store[row + at.D_KIND] != at.FABRIC_IN:
        return SourcePlace(row, place, -1)
    fifo_number = fifo_of(state, thread, operand)
    taken = state.stream[fifo_number, S_TAKEN]
    state.stream[fifo_number, S_TAKEN] = taken + state.store[op + at.O_EXTENT]
    first = place_of_word(state, fifo_number, taken)
    return SourcePlace(row, place, state.stream[state.stream[fifo_number, S_ROOT], S_BASE] + first)


@inner_kernel
def next_value(state: ValueState, source: SourcePlace, i: int, scalar: int) -> at.Word:
    """Return the bits of a source's value number i; a source in memory moves to its next value.

    source: where it is; scalar: the bits to return if it is the operation's scalar.
    """
    row, place, data = source
    if data >= 0:
        return np.int64(state.data[data + i])
    if row < 0:
        return scalar
    bits = read_word(state.memory, state.store[place], state.store[row + at.D_WIDE])
    step_position(state.store, place, row)
    return bits


@inner_kernel
def do_stream(state: ValueState, thread: int) -> int:
    """Do an operation on all its values at once, from streams or memory; return where it sends.

    thread: address of the thread, whose operands are loaded. Returns the number of the FIFO at
    which the stream that it sends begins, NOBODY (-1) if the operation writes to memory.
    """
    store = state.store
    op = store[thread + at.T_OP]
    extent = store[op + at.O_EXTENT]
    computation = Computation(op, store[op + at.O_ARITHMETIC], store[op + at.O_TYPE])
    scalar = store[thread + at.T_SCALAR]
    left = source_place(state, thread, whole(1))
    right = source_place(state, thread, whole(2))
    dest = store[op + at.O_OPERANDS]
    place = thread + at.T_POSITIONS
    sends = store[dest + at.D_KIND] == at.FABRIC_OUT
    root, out = NOBODY, 0
    if sends:
        root = fifo_of(state, thread, 0)
        out = state.stream[root, S_BASE] + state.stream[root, S_SENT]
        state.stream[root, S_SENT] += extent
    for i in range(extent):
        a = next_value(state, left, i, scalar)
        b = next_value(state, right, i, scalar)
        bits = value_of(store, state.memory, computation, OperandBits(a, b, scalar))
        if sends:
            state.data[out + i] = np.uint32(bits)
        else:
            write_word(state.memory, store[place], store[dest + at.D_WIDE], bits)
            step_position(store, place, dest)
    return root


@inner_kernel
def wake(state: ValueState, root: int, top: int) -> int:
    """Push the elements that wait for words of a stream on the stack of those that can go on.

    root: FIFO where the stream begins; top: height of the stack. Returns the new height.
    """
    i = state.stream[root, S_WAITING]
    state.stream[root, S_WAITING] = NOBODY
    while i >= 0:
        state.stack[top] = i
        top += 1
        i = state.element[i, G_NEXT]
    return top


@inner_kernel
def next_task(state: ValueState, i: int) -> bool:
    """Set an element to the first instruction of its next task; return False if it has none.

    i: number of the element. Tasks run in an order that was found before.
    """
    row = state.element[i]
    if row[G_TASK] == row[G_LAST]:
        return False
    address = row[G_ADDRESS]
    task = state.tasks[row[G_TASK]]
    state.store[address + at.E_PC] = state.store[state.store[address + at.E_TASKS] + task]
    row[G_TASK] += 1
    return True


@inner_kernel
def is_flat(store: at.Table, op: int) -> bool:
    """Return whether all operands of an operation are scalars or one-dimensional vectors in memory.

    op: address of the operation.
    """
    if store[op + at.O_FABRIC] == 1:
        return False
    for operand in range(3):
        row = store[op + at.O_OPERANDS + operand]
        if row >= 0 and store[row + at.D_DIMENSIONS] != 1:
            return False
    return True


@inner_kernel
def do_operation(state: ValueState, i: int, op: int, top: int) -> int:
    """Do one run of an operation, and wake the elements that wait for its words.

    i: number of the element; op: address of the operation; top: height of the stack of elements
    that can go on. Returns the new height, or -1 if the operation lacks words; then the element
    waits, and nothing is done.
    """
    store = state.store
    address = state.element[i, G_ADDRESS]
    if store[op + at.O_FABRIC] == 1:
        root = lacking_stream(state, address, op)
        if root >= 0:
            state.element[i, G_NEXT] = state.stream[root, S_WAITING]
            state.stream[root, S_WAITING] = i
            return -1
    thread = store[address + at.E_THREADS]
    store[thread + at.T_OP] = op
    if store[op + at.O_SPECIAL] == 1:  # on registers, in memory
        use(store, state.memory, at.FEATURE_LAUNCH, (address, thread, 0, 0))
        return top
    if not load_operands(store, state.memory, address, thread, op):
        return top
    if is_flat(store, op):
        do_lines(store, state.memory, thread, Lines(op + at.O_OPERANDS, store[op + at.O_EXTENT]))
        return top
    root = do_stream(state, thread)
    return wake(state, root, top) if root >= 0 else top


@inner_kernel
def after_control(store: at.Table, address: int, pc: int) -> at.Word:
    """Do an instruction on counters, loops or branches; return the address of the next one.

    address: of the element; pc: of the instruction. Tasks run in an order that was found before, so
    instructions on tasks have no effect here.
    """
    code, limit = store[pc], store[pc + 2]
    slot = store[address + at.E_VARIABLES] + store[pc + 1]
    if code == at.I_JUMP:
        return store[pc + 3]
    if code in (at.I_LOOP, at.I_SET):
        store[slot] = limit
    elif code == at.I_ADD:
        store[slot] += limit
    elif code == at.I_END_LOOP:
        store[slot] += 1
        if store[slot] < limit:
            return store[pc + 3]
    elif code == at.I_UNLESS_BELOW and store[slot] >= limit:
        return store[pc + 3]
    return pc + at.I_WIDTH


@inner_kernel
def run_element(state: ValueState, i: int, top: int) -> int:
    """Run an element's operations until one lacks words or the last task ends.

    i: number of the element; top: height of the stack of elements that can go on. Returns the new
    height; an element that ends is counted in S_EVENTS.
    """
    store = state.store
    address = state.element[i, G_ADDRESS]
    while store[at.S_ERROR] == at.OK:
        pc = store[address + at.E_PC]
        code = store[pc]
        if code == at.I_OPERATION:
            height = do_operation(state, i, store[pc + 1], top)
            if height < 0:
                return top
            top = height
            store[address + at.E_PC] = pc + at.I_WIDTH
        elif code == at.I_END:
            if not next_task(state, i):
                store[at.S_EVENTS] += 1
                return top
        elif code >= at.I_MAP_START:  # it moves the program counter
            use(store, state.memory, at.FEATURE_MAP, (address, 0, 0, 0))
        elif code in (at.I_COMPUTE, at.I_LOAD_REGISTER):
            use(store, state.memory, at.FEATURE_CONTROL, (address, pc, 0, 0))
            store[address + at.E_PC] = pc + at.I_WIDTH
        else:
            store[address + at.E_PC] = after_control(store, address, pc)
    return top


@inner_kernel
def run_values(state: ValueState) -> None:
    """Compute the values of a run without times: each element's operations in program order.

    Streams keep their order, so values do not depend on times (engines.md §8). The memory and the
    words of all streams in `state` are changed. S_EVENTS of the store counts the elements that came
    to their end; S_ERROR tells of an operand outside its buffer.
    """
    top = 0
    for i in range(state.element.shape[0] - 1, -1, -1):
        if next_task(state, i):
            state.stack[top] = i
            top += 1
        else:
            state.store[at.S_EVENTS] += 1
    while top > 0 and state.store[at.S_ERROR] == at.OK:
        top = run_element(state, state.stack[top - 1], top - 1)
