"""The plain datapath: read the sources of a DSD operation, combine them, write the destination.

Positions are addresses of 16-bit words; an f32 or u32 takes two words at an even address.
"""

from __future__ import annotations

from tilewright.simulator.compile.columns import (
    COUNTERS,
    D_DIMENSIONS,
    D_EXTENT,
    D_KIND,
    D_STRIDE,
    D_WIDE,
    DIMENSIONS,
    FABRIC_IN,
    FABRIC_OUT,
    FEATURE_VALUE,
    O_ARITHMETIC,
    O_EXTENT,
    O_OPERANDS,
    O_TYPE,
    OPERANDS,
    S_TIMES_ONLY,
    T_OP,
    T_POSITIONS,
    T_SCALAR,
    Memory,
    Table,
    Word,
)
from tilewright.simulator.engine.fabric import pop, push
from tilewright.simulator.engine.jit import address, inline_kernel, inner_kernel, use
from tilewright.simulator.engine.values.arithmetic import combine_plain, is_plain
from tilewright.simulator.engine.values.lines import do_lines
from tilewright.simulator.engine.values.memory_words import read_word, write_word
from tilewright.simulator.engine.values.places import Computation, Lines, OperandBits


@inline_kernel
def start_walk(store: Table, place: int, position: int) -> None:
    """Set an operand of a thread to its first value.

    place: address of the operand's position in the thread; position: what it becomes, an address in
    16-bit words of memory, or the address of a queue's FIFO.
    """
    store[place] = position
    for d in range(DIMENSIONS):
        store[place + COUNTERS + OPERANDS * d] = 0


@inline_kernel
def step_position(store: Table, place: int, row: int) -> None:
    """Move a memory operand of a thread to its next value, over up to four dimensions.

    place: address of the operand's position in the thread; row: of the operand. The stride of an
    outer dimension holds the jump back to the start of the inner ones.
    """
    row = address(row)
    place = address(place)
    if store[row + D_DIMENSIONS] == 1:
        store[place] += store[row + D_STRIDE]
        return
    for d in range(store[row + D_DIMENSIONS]):
        counter = place + COUNTERS + OPERANDS * d
        store[counter] += 1
        if store[counter] < store[row + D_EXTENT + d]:
            store[place] += store[row + D_STRIDE + d]
            return
        store[counter] = 0


@inner_kernel
def take(store: Table, memory: Memory, place: int, row: int, now: int) -> Word:
    """Take the next value of a source: from its input queue, or from memory; return its bits.

    place: address of the operand's position in the thread, which moves on; row: address of the
    operand; now: the cycle.
    """
    row = address(row)
    position = store[address(place)]
    if store[row + D_KIND] == FABRIC_IN:
        return pop(store, position, now) & 0xFFFFFFFF
    bits = read_word(memory, position, store[row + D_WIDE])
    step_position(store, place, row)
    return bits


@inline_kernel
def value_of(store: Table, memory: Memory, computation: Computation, operands: OperandBits) -> Word:
    """Apply an operation to one value of each source; values are given and returned as bits.

    computation: address of the operation's row in the store, number of its arithmetic (add,
    multiply and add, …), number of its value type; operands: bits of one value of the first and the
    second source and of the scalar, 0 where there is none. Arithmetic that is not plain is done by
    a feature kernel, which gets the store and the memory.
    """
    op, arithmetic, value_type = computation
    if is_plain(arithmetic, value_type):
        return combine_plain(arithmetic, value_type, operands)
    first, second, scalar = operands
    return use(store, memory, FEATURE_VALUE, (op, first, second, scalar))


@inner_kernel
def do_element(store: Table, memory: Memory, thread: int, now: int) -> None:
    """Do an operation on the next value of each operand: take the sources, compute, write or send.

    thread: address of the thread that runs it, whose positions move on; now: the cycle. Its queues
    must be ready.
    """
    thread = address(thread)
    op = address(store[thread + T_OP])
    dest = address(store[op + O_OPERANDS])
    place = thread + T_POSITIONS
    scalar = store[thread + T_SCALAR]
    a = b = scalar
    row = store[op + O_OPERANDS + 1]
    if row >= 0:
        a = take(store, memory, place + 1, row, now)
    row = store[op + O_OPERANDS + 2]
    if row >= 0:
        b = take(store, memory, place + 2, row, now)
    computation = Computation(op, store[op + O_ARITHMETIC], store[op + O_TYPE])
    bits = value_of(store, memory, computation, OperandBits(a, b, scalar))
    if store[dest + D_KIND] == FABRIC_OUT:
        push(store, store[place], bits, now)
        return
    write_word(memory, store[place], store[dest + D_WIDE], bits)
    step_position(store, place, dest)


@inner_kernel
def do_memory(store: Table, memory: Memory, thread: int, now: int) -> None:
    """Do a whole operation whose operands are vectors in memory, of any dimensions, or scalars.

    thread: address of the thread whose operands are loaded; now: the cycle. The cycles that it
    takes are counted elsewhere (`memory_cycles`).
    """
    if store[S_TIMES_ONLY] != 0:
        return
    op = store[thread + T_OP]
    for operand in range(3):
        row = store[op + O_OPERANDS + operand]
        if row >= 0 and store[row + D_DIMENSIONS] != 1:
            for _ in range(store[op + O_EXTENT]):
                do_element(store, memory, thread, now)
            return
    do_lines(store, memory, thread, Lines(op + O_OPERANDS, store[op + O_EXTENT]))
