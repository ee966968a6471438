"""One element of a DSD operation at a time: read the sources, combine, write the destination."""

from __future__ import annotations

import numpy as np

from tilewright.simulator.engine.fabric import pop, push
from tilewright.simulator.engine.jit import inline_kernel, kernel
from tilewright.simulator.engine.layout import (
    D_DIMENSIONS,
    D_EXTENT,
    D_KIND,
    D_STRIDE,
    D_WIDE,
    FABRIC_IN,
    FABRIC_OUT,
    MEMORY,
    O_ARITHMETIC,
    O_EXTENT,
    O_OPERANDS,
    O_TYPE,
    T_OP,
    T_OPERAND_WIDTH,
    T_OPERANDS,
    T_SCALAR,
    Codes,
    Elements,
    Fabric,
)
from tilewright.simulator.engine.values import combine


@inline_kernel
def read_word(elements: Elements, position: int, wide: int) -> int:
    """Return the bits of the value at a word address."""
    if wide == 2:
        return np.int64(elements.double[position >> 1])
    return np.int64(elements.word[position])


@inline_kernel
def write_word(elements: Elements, position: int, wide: int, bits: int) -> None:
    """Store the bits of a value at a word address."""
    if wide == 2:
        elements.double[position >> 1] = np.uint32(bits)
    else:
        elements.word[position] = np.uint16(bits)


@inline_kernel
def step_position(codes: Codes, elements: Elements, thread: int, which: int, row: int) -> None:
    """Move a memory operand to its next element (stride form: the stride holds the jump back)."""
    at = T_OPERANDS + which * T_OPERAND_WIDTH
    table = elements.thread
    if codes.operand[row, D_DIMENSIONS] == 1:
        table[thread, at] += codes.operand[row, D_STRIDE]
        return
    for d in range(codes.operand[row, D_DIMENSIONS]):
        table[thread, at + 1 + d] += 1
        if table[thread, at + 1 + d] < codes.operand[row, D_EXTENT + d]:
            table[thread, at] += codes.operand[row, D_STRIDE + d]
            return
        table[thread, at + 1 + d] = 0


@inline_kernel
def take(
    fabric: Fabric, codes: Codes, elements: Elements, source: tuple[int, int, int], now: int
) -> int:
    """Return the next value of a source operand; `source` is (thread, which, operand row)."""
    thread, which, row = source
    if row < 0:
        return elements.thread[thread, T_SCALAR]
    position = elements.thread[thread, T_OPERANDS + which * T_OPERAND_WIDTH]
    if codes.operand[row, D_KIND] == FABRIC_IN:
        return pop(fabric, position, now) & 0xFFFFFFFF
    bits = read_word(elements, position, codes.operand[row, D_WIDE])
    step_position(codes, elements, thread, which, row)
    return bits


@kernel
def do_element(fabric: Fabric, codes: Codes, elements: Elements, thread: int, now: int) -> None:
    """Do one element of a thread's operation; its queues are ready."""
    op = elements.thread[thread, T_OP]
    rows = codes.operation[op]
    dest = rows[O_OPERANDS]
    a = take(fabric, codes, elements, (thread, 1, rows[O_OPERANDS + 1]), now)
    b = take(fabric, codes, elements, (thread, 2, rows[O_OPERANDS + 2]), now)
    scalar = elements.thread[thread, T_SCALAR]
    bits = combine(rows[O_ARITHMETIC], rows[O_TYPE], (a, b, scalar))
    position = elements.thread[thread, T_OPERANDS]
    if codes.operand[dest, D_KIND] == FABRIC_OUT:
        push(fabric, position, bits, now)
        return
    write_word(elements, position, codes.operand[dest, D_WIDE], bits)
    step_position(codes, elements, thread, 0, dest)


@inline_kernel
def source_of(codes: Codes, elements: Elements, thread: int, which: int) -> tuple[int, int, int]:
    """Return (position, stride, words per element) of a one-dimensional source; words 0: none."""
    row = codes.operation[elements.thread[thread, T_OP], O_OPERANDS + which]
    if row < 0:
        return 0, 0, 0
    position = elements.thread[thread, T_OPERANDS + which * T_OPERAND_WIDTH]
    return position, codes.operand[row, D_STRIDE], codes.operand[row, D_WIDE]


@kernel
def do_flat(codes: Codes, elements: Elements, thread: int) -> None:
    """Do a whole memory operation whose operands have one dimension."""
    op = elements.thread[thread, T_OP]
    arithmetic = codes.operation[op, O_ARITHMETIC]
    kind = codes.operation[op, O_TYPE]
    scalar = elements.thread[thread, T_SCALAR]
    to, to_step, to_wide = source_of(codes, elements, thread, 0)
    a, a_step, a_wide = source_of(codes, elements, thread, 1)
    b, b_step, b_wide = source_of(codes, elements, thread, 2)
    for _ in range(codes.operation[op, O_EXTENT]):
        x = read_word(elements, a, a_wide) if a_wide else scalar
        y = read_word(elements, b, b_wide) if b_wide else scalar
        write_word(elements, to, to_wide, combine(arithmetic, kind, (x, y, scalar)))
        to += to_step
        a += a_step
        b += b_step


@kernel
def do_memory(fabric: Fabric, codes: Codes, elements: Elements, thread: int) -> None:
    """Do a whole operation on memory operands."""
    op = elements.thread[thread, T_OP]
    for which in range(3):
        row = codes.operation[op, O_OPERANDS + which]
        if row >= 0 and codes.operand[row, D_DIMENSIONS] != 1:
            for _ in range(codes.operation[op, O_EXTENT]):
                do_element(fabric, codes, elements, thread, 0)
            return
    do_flat(codes, elements, thread)
