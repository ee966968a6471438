"""Values of a grid element by element: each runs once, from start to end, when its words are there.

Values do not depend on times (engines.md §8). The places of all operands are known
(`element_lines.py`), so an element is a list of operations on lines, done in one small memory that
all elements take in turns. The results are those of the reference engine, bit by bit.
"""

from __future__ import annotations

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Word
from tilewright.simulator.engine.values.arithmetic import (
    bits_of,
    combine,
    combine_plain,
    f32_of,
    is_plain,
)
from tilewright.simulator.engine.values.memory_words import read_word, write_word
from tilewright.simulator.engine.values.places import OperandBits
from tilewright.simulator.engine.values.processor_floats import (
    combine_half,
    fused_bits,
    half_value,
    load_half,
    store_half,
    sum_bits,
)
from tilewright.simulator.fast.fast_jit import inline_kernel, inner_kernel
from tilewright.simulator.fast.values.grid_tables import (
    C_COUNT,
    C_FIRST,
    K_AT,
    K_COUNT,
    K_PLACE,
    L_COUNT,
    L_FIRST,
    L_PLACE,
    L_TILE,
    GridRun,
)
from tilewright.simulator.fast.values.line_rows import (
    A_MAP,
    A_SCALAR,
    N_ARITHMETIC,
    N_EXTENT,
    N_PATH,
    N_PLACE,
    N_SCALAR,
    N_SCALAR_WIDE,
    N_SLOT,
    N_STEP,
    N_TYPE,
    N_WIDE,
)
from tilewright.simulator.fast.values.map_values import do_map, do_scalar
from tilewright.simulator.fast.values.operand_values import source_line, value_of_line, word_at
from tilewright.simulator.isa.operations import FMA, FMA_HS, MAX


@inner_kernel
def load_element(run: GridRun, element: int) -> None:
    """Fill the memory with zeros and the data that an element has before the run."""
    memory = run.memory
    memory[:] = 0
    for n in range(run.load.shape[0]):
        place, first, count, tile = (
            run.load[n, L_PLACE],
            run.load[n, L_FIRST],
            run.load[n, L_COUNT],
            run.load[n, L_TILE],
        )
        base = run.base[n, element]
        if tile < 0 and base >= 0:
            for i in range(first, first + count):
                bits = load_half(run.source_words, base + run.from_word[i])
                store_half(memory, place + run.to_word[i], bits)
            continue
        start = tile + element * count if tile >= 0 else -1 - base
        for i in range(count):
            store_half(memory, place + i, load_half(run.tiles, start + i))


@inner_kernel
def fuse_halves(memory: Memory, dest: int, vector: int, extent: int, scalar: int) -> None:
    """Do dest[i] += vector[i] * scalar on vectors of f16 in memory, each value rounded once.

    dest, vector: addresses of the first values, in 16-bit words; extent: number of values; scalar:
    bits.
    """
    factor = np.float64(half_value(scalar))
    for i in range(extent):
        x = np.float64(half_value(load_half(memory, dest + i)))
        y = np.float64(half_value(load_half(memory, vector + i)))
        store_half(memory, dest + i, sum_bits(y * factor + x))


@inline_kernel
def combined(arithmetic: int, value_type: int, operands: OperandBits) -> Word:
    """Apply an operation to one value of each source; return the bits of the result.

    arithmetic, value_type: numbers of the operation and of the type; operands: bits of both sources
    and of the scalar. The rounding is that of the reference engine.
    """
    if is_plain(arithmetic, value_type):
        if arithmetic == FMA:
            return fused_bits(operands.first, operands.second, operands.scalar)
        return combine_plain(arithmetic, value_type, operands)
    if value_type == at.TYPE_F16 and arithmetic <= MAX:
        a, b = operands.first & 0xFFFF, operands.second & 0xFFFF
        return combine_half(arithmetic, a, b, operands.scalar)
    if value_type == at.TYPE_PAIR_F16 and arithmetic <= MAX:
        a, b = operands.first, operands.second
        low = combine_half(arithmetic, a & 0xFFFF, b & 0xFFFF, operands.scalar)
        high = combine_half(arithmetic, a >> 16 & 0xFFFF, b >> 16 & 0xFFFF, operands.scalar)
        return low | high << 16
    if arithmetic == FMA_HS:
        product = half_value(operands.second & 0xFFFF) * half_value(operands.scalar & 0xFFFF)
        return bits_of(f32_of(operands.first) + np.float32(product))
    return combine(arithmetic, value_type, operands)


@inner_kernel
def do_row(run: GridRun, element: int, number: int) -> None:
    """Do one operation of an element on all its values.

    number: row of the operation in `run.op`. Memory, or the words of the stream that it sends, are
    changed.
    """
    row = run.op[number]
    memory, scalar = run.memory, row[N_SCALAR]
    if row[N_SCALAR_WIDE] > 0:
        scalar = read_word(memory, scalar, row[N_SCALAR_WIDE])
    arithmetic, value_type, extent = row[N_ARITHMETIC], row[N_TYPE], row[N_EXTENT]
    in_place = row[N_PLACE] == row[N_PLACE + 1] and row[N_SLOT] == row[N_SLOT + 1]
    lines = row[N_STEP] == row[N_STEP + 1] == row[N_STEP + 2] == 1
    lines &= max(row[N_PATH], row[N_PATH + 1], row[N_PATH + 2]) < 0
    words = row[N_SLOT] < 0 and row[N_SLOT + 2] < 0 and row[N_WIDE + 2] == 1
    if arithmetic == FMA and value_type == at.TYPE_F16 and in_place and lines and words:
        fuse_halves(memory, row[N_PLACE], row[N_PLACE + 2], extent, scalar)
        return
    left = source_line(run, number, element, 1)
    right = source_line(run, number, element, 2)
    wide, slot = row[N_WIDE], row[N_SLOT]
    if slot >= 0:
        out = run.target[element, slot - at.OUTPUT_SLOT] + row[N_PLACE]
        for i in range(extent):
            a, b = value_of_line(run, left, i, scalar), value_of_line(run, right, i, scalar)
            bits = combined(arithmetic, value_type, OperandBits(a, b, scalar))
            run.data[out + i] = np.uint32(bits)
        return
    for i in range(extent):
        a, b = value_of_line(run, left, i, scalar), value_of_line(run, right, i, scalar)
        bits = combined(arithmetic, value_type, OperandBits(a, b, scalar))
        write_word(memory, word_at(run, number, 0, i), wide, bits)


@inner_kernel
def keep_element(run: GridRun, element: int) -> None:
    """Copy the buffers that the run returns from the memory to `run.kept`; element: its number."""
    for n in range(run.keep.shape[0]):
        place, count, start = run.keep[n, K_PLACE], run.keep[n, K_COUNT], run.keep[n, K_AT]
        for i in range(count):
            store_half(run.kept, start + element * count + i, load_half(run.memory, place + i))


@inner_kernel
def run_element(run: GridRun, element: int) -> bool:
    """Do all operations of an element; return False at a scalar instruction that is undefined."""
    run.variables[:] = 0
    first = run.code[run.placement[element], C_FIRST]
    for number in range(first, first + run.code[run.placement[element], C_COUNT]):
        arithmetic = run.op[number, N_ARITHMETIC]
        is_defined = True
        if arithmetic >= 0:
            do_row(run, element, number)
        elif arithmetic == A_MAP:
            is_defined = do_map(run, element, number)
        elif arithmetic == A_SCALAR:
            is_defined = do_scalar(run, run.op[number, N_TYPE])
        if not is_defined:
            return False
    return True


@inner_kernel
def run_grid(run: GridRun) -> int:
    """Run all elements, each when the streams that it takes are complete; return how many ran.

    Elements that wait for each other in a circle do not run. A scalar instruction that is undefined
    ends the run, as it does on the reference engine.
    """
    top = done = 0
    for element in range(run.placement.size - 1, -1, -1):
        if run.missing[element] == 0:
            run.stack[top] = element
            top += 1
    while top > 0:
        top -= 1
        element = run.stack[top]
        load_element(run, element)
        if not run_element(run, element):
            return done
        keep_element(run, element)
        done += 1
        waiting = run.reader[element]
        while waiting >= 0:
            reader = waiting >> 3
            run.missing[reader] -= 1
            if run.missing[reader] == 0:
                run.stack[top] = reader
                top += 1
            waiting = run.after[waiting]
    return done
