"""Whole operations on lines: one-dimensional vectors in memory, and scalars.

Nearly all work of a large program is done here, so a loop over values reads nothing but the values.
"""

from __future__ import annotations

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.jit import FeatureArguments, inner_kernel, use
from tilewright.simulator.engine.values.arithmetic import bits_of, combine_plain, f32_of, is_plain
from tilewright.simulator.engine.values.memory_words import read_word, write_word
from tilewright.simulator.engine.values.places import Lines, OperandBits
from tilewright.simulator.engine.values.processor_floats import (
    combine_half,
    fused_bits,
    half_value,
    load_half,
    store_half,
)
from tilewright.simulator.isa.operations import ADD_CARRY, DROP, FMA, FMA_HS, MAX


@inner_kernel
def line_of(store: Table, thread: int, lines: Lines, operand: int) -> tuple[int, int, int]:
    """Return (position, stride, words per value) of a vector operand in memory.

    All in 16-bit words; 0 words per value if the operand is not there or a scalar. thread: address;
    operand: 0 for the destination, 1 and 2 for the sources of its operation.
    """
    row = store[lines.rows + operand]
    if row < 0:
        return 0, 0, 0
    position = store[thread + at.T_POSITIONS + operand]
    return position, store[row + at.D_STRIDE], store[row + at.D_WIDE]


@inner_kernel
def fuse_lines(store: Table, memory: Memory, thread: int, lines: Lines) -> None:
    """Do a fused multiply-add of f32 on lines (one-dimensional vectors), as `do_lines` does."""
    scalar = store[thread + at.T_SCALAR]
    dest, dest_step, _ = line_of(store, thread, lines, 0)
    a, a_step, a_wide = line_of(store, thread, lines, 1)
    b, b_step, b_wide = line_of(store, thread, lines, 2)
    for _ in range(lines.extent):
        x = read_word(memory, a, 2) if a_wide else scalar
        y = read_word(memory, b, 2) if b_wide else scalar
        write_word(memory, dest, 2, fused_bits(x, y, scalar))
        dest += dest_step
        a += a_step
        b += b_step


@inner_kernel
def do_lines(store: Table, memory: Memory, thread: int, lines: Lines) -> None:
    """Do a whole operation whose operands are one-dimensional vectors in memory, or scalars.

    thread: address of the thread whose operands are loaded; lines: their rows and their length. It
    takes no cycles here; they are counted elsewhere (`memory_cycles`).
    """
    op = store[thread + at.T_OP]
    arithmetic, value_type = store[op + at.O_ARITHMETIC], store[op + at.O_TYPE]
    if not is_plain(arithmetic, value_type):
        use(store, memory, at.FEATURE_LINES, (thread, lines.rows, lines.extent, 0))
        return
    if arithmetic == FMA and value_type == at.TYPE_F32:
        fuse_lines(store, memory, thread, lines)
        return
    scalar = store[thread + at.T_SCALAR]
    dest, dest_step, dest_wide = line_of(store, thread, lines, 0)
    a, a_step, a_wide = line_of(store, thread, lines, 1)
    b, b_step, b_wide = line_of(store, thread, lines, 2)
    for _ in range(lines.extent):
        x = read_word(memory, a, a_wide) if a_wide else scalar
        y = read_word(memory, b, b_wide) if b_wide else scalar
        bits = combine_plain(arithmetic, value_type, OperandBits(x, y, scalar))
        write_word(memory, dest, dest_wide, bits)
        dest += dest_step
        a += a_step
        b += b_step


@inner_kernel
def has_lines(store: Table, thread: int) -> Word:
    """Return whether all operands of a thread are lines in memory, or scalars.

    A line has one dimension and its own stride, and does not wrap around. False, too, for additions
    with carry, and for operations that drop wavelets.
    """
    if store[store[thread + at.T_OP] + at.O_ARITHMETIC] in (ADD_CARRY, DROP):
        return False
    for operand in range(3):
        row = store[thread + at.T_ROWS + operand]
        if row < 0:
            continue
        changed = store[row + at.D_WRAP] > 0 or store[row + at.D_STRIDE_ROW] >= 0
        if changed or store[row + at.D_KIND] != at.MEMORY or store[row + at.D_DIMENSIONS] != 1:
            return False
    return True


@inner_kernel
def do_special_lines(store: Table, memory: Memory, element: int, thread: int) -> None:
    """Do a whole special operation whose operands are one-dimensional vectors in memory.

    The result is that of `do_special`, which goes value by value.
    """
    op = store[thread + at.T_OP]
    extent = store[thread + at.T_EXTENT]
    if store[at.S_TIMES_ONLY] == 0:
        do_lines(store, memory, thread, Lines(thread + at.T_ROWS, extent))
    for operand in range(3):
        row = store[thread + at.T_ROWS + operand]
        if row >= 0:
            store[thread + at.T_POSITIONS + operand] += extent * store[row + at.D_STRIDE]
            store[row + (at.D_READS if operand else at.D_WRITES)] += extent
    store[store[element + at.E_RUNS] + store[op + at.O_NUMBER]] += extent
    store[thread + at.T_LEFT] -= extent * store[thread + at.T_STEP]


@inner_kernel
def other_lines(store: Table, memory: Memory, arguments: FeatureArguments) -> Word:
    """Do a whole operation on lines whose arithmetic is not plain, as `do_lines`; returns 0.

    `arguments` are (address of the thread, address of the three words that name its operands' rows,
    number of values, 0).
    """
    thread, rows, extent, _ = arguments
    lines = Lines(rows, extent)
    op = store[thread + at.T_OP]
    arithmetic = store[op + at.O_ARITHMETIC]
    is_f16 = store[op + at.O_TYPE] == at.TYPE_F16 and arithmetic <= MAX
    scalar = store[thread + at.T_SCALAR]
    dest, dest_step, dest_wide = line_of(store, thread, lines, 0)
    a, a_step, a_wide = line_of(store, thread, lines, 1)
    b, b_step, b_wide = line_of(store, thread, lines, 2)
    if is_f16 and a_wide == b_wide == dest_wide == 1:
        for _ in range(extent):
            x, y = load_half(memory, a), load_half(memory, b)
            store_half(memory, dest, combine_half(arithmetic, x, y, scalar))
            dest += dest_step
            a += a_step
            b += b_step
        return 0
    for _ in range(extent):
        x = read_word(memory, a, a_wide) if a_wide else scalar
        y = read_word(memory, b, b_wide) if b_wide else scalar
        if is_f16:
            bits = combine_half(arithmetic, x & 0xFFFF, y & 0xFFFF, scalar)
        elif arithmetic == FMA_HS:
            product = half_value(y & 0xFFFF) * half_value(scalar & 0xFFFF)
            bits = bits_of(f32_of(x) + np.float32(product))
        else:
            bits = use(store, memory, at.FEATURE_VALUE, (op, x, y, scalar))
        write_word(memory, dest, dest_wide, bits)
        dest += dest_step
        a += a_step
        b += b_step
    return 0
