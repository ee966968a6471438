"""Maps of scalar instructions, and scalar instructions alone, in the memory of one element.

The arithmetic is that of the reference engine; a map takes its values, does its instructions and
gives its result turn by turn, as the engine does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Word
from tilewright.simulator.engine.values.memory_words import read_word, write_word
from tilewright.simulator.engine.values.scalar import first_type, result_of, undefined, wrapped
from tilewright.simulator.fast.fast_jit import inline_kernel, inner_kernel, whole
from tilewright.simulator.fast.values.grid_tables import GridRun
from tilewright.simulator.fast.values.line_rows import (
    M_BITS,
    M_BODY,
    M_COUNT,
    M_COUNTER,
    M_REST,
    M_ROWS,
    M_TURNS,
    N_PLACE,
    N_SLOT,
    N_TYPE,
    N_WIDE,
    S_CODE,
    S_KIND,
    S_TYPE,
    S_VALUE,
    S_WIDE,
)
from tilewright.simulator.fast.values.operand_values import source_line, value_of_line, word_at


class MapTurn(NamedTuple):
    """A turn of a map: its number, from 0, and how many of the first inputs take a value."""

    number: int
    inputs: int


@inline_kernel
def scalar_source(run: GridRun, number: int, operand: int, dtype: int) -> Word:
    """Return the value of a source of a scalar instruction: a number, a counter or from memory.

    number: its row in `run.scalars`; operand: 1 for the first source, 2 for the second; dtype: what
    the value counts as.
    """
    kind, value = run.scalars[number, S_KIND + operand], run.scalars[number, S_VALUE + operand]
    if kind == at.NUMBER:
        return value
    if kind == at.COUNTER_VALUE:
        return wrapped(run.variables[value], dtype)
    return wrapped(read_word(run.memory, value, run.scalars[number, S_WIDE + operand]), dtype)


@inner_kernel
def do_scalar(run: GridRun, number: int) -> bool:
    """Do a scalar instruction; return False if it is undefined. number: its row in `run.scalars`.

    The result is that of `compute` of the reference engine.
    """
    code, dtype = run.scalars[number, S_CODE], run.scalars[number, S_TYPE]
    left = scalar_source(run, number, 1, first_type(code, dtype))
    right = scalar_source(run, number, 2, dtype)
    if undefined(code, dtype, right) != at.OK:
        return False
    result = result_of(code, dtype, left, right)
    target = run.scalars[number, S_VALUE]
    if run.scalars[number, S_KIND] == at.COUNTER_VALUE:
        run.variables[target] = result
        return True
    wide = run.scalars[number, S_WIDE]
    write_word(run.memory, target, wide, result & (0xFFFFFFFF if wide == 2 else 0xFFFF))
    return True


@inner_kernel
def take_inputs(run: GridRun, element: int, number: int, turn: MapTurn) -> None:
    """Take a value of inputs of a map into its counters.

    number: first row of the map in `run.op`.
    """
    first, left = run.op[number, N_TYPE], turn.inputs
    for row in range(run.maps[first, M_ROWS]):
        for operand in range(1, 3):
            if run.op[number + row, N_WIDE + operand] == 0 or left == 0:
                continue
            left -= 1
            size = run.maps[first + row, M_BITS + operand]
            line = source_line(run, number + row, element, operand)
            bits = value_of_line(run, line, turn.number, whole(0)) & ((1 << abs(size)) - 1)
            if size < 0 and bits >> (-size - 1):
                bits -= 1 << -size
            run.variables[run.maps[first + row, M_COUNTER + operand]] = bits


@inner_kernel
def give_output(run: GridRun, element: int, number: int, i: int) -> None:
    """Give the result of turn i of a map to its output: send it, or write it to memory.

    number: first row of the map in `run.op`. A map may have no output.
    """
    first, row = run.op[number, N_TYPE], run.op[number]
    if row[N_WIDE] == 0:
        return
    mask = (1 << abs(run.maps[first, M_BITS])) - 1
    bits = run.variables[run.maps[first, M_COUNTER]] & mask
    if row[N_SLOT] >= 0:
        out = run.target[element, row[N_SLOT] - at.OUTPUT_SLOT] + row[N_PLACE]
        run.data[out + i] = np.uint32(bits)
        return
    write_word(run.memory, word_at(run, number, whole(0), i), row[N_WIDE], bits)


@inner_kernel
def do_map(run: GridRun, element: int, number: int) -> bool:
    """Do a map of scalar instructions; return False at one that is undefined.

    number: its first row in `run.op`. After its last turn some inputs take one more value, before
    another one has none left.
    """
    first = run.op[number, N_TYPE]
    body, count = run.maps[first, M_BODY], run.maps[first, M_COUNT]
    turns = run.maps[first, M_TURNS]
    for i in range(turns):
        take_inputs(run, element, number, MapTurn(i, 2 * run.maps[first, M_ROWS]))
        for instruction in range(body, body + count):
            if not do_scalar(run, instruction):
                return False
        give_output(run, element, number, i)
    take_inputs(run, element, number, MapTurn(turns, run.maps[first, M_REST]))
    return True
