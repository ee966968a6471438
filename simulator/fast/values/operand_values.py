"""Where the values of an operand are while an element runs: in its memory, or in a stream."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilewright.simulator.compile.columns import Word
from tilewright.simulator.engine.values.memory_words import read_word
from tilewright.simulator.fast.fast_jit import inline_kernel
from tilewright.simulator.fast.units.ramp_filters import place_behind
from tilewright.simulator.fast.values.grid_tables import GridRun
from tilewright.simulator.fast.values.line_rows import N_PATH, N_PLACE, N_SLOT, N_STEP, N_WIDE


class SourceLine(NamedTuple):
    """Say where the values of a source are: in the memory of the element, or in a stream.

    `place`, `step`: 16-bit word of the first one and words between two, or its number in the queue
    and 1. `path`: where the words of the values begin in the run's `paths`, -1 for steps. `wide`:
    words of a value, 0 for the scalar. `stream`: first word of the stream in `data`, -1 for memory;
    `counter`: row of its filter, -1 for none.
    """

    place: Word
    step: Word
    path: Word
    wide: Word
    stream: Word
    counter: Word


@inline_kernel
def word_at(run: GridRun, number: int, operand: int, i: int) -> Word:
    """Return the 16-bit word of an operand's value number i in memory.

    number: row of the operation in `run.op`; operand: 0 is the destination, 1 and 2 the sources.
    """
    path = run.op[number, N_PATH + operand]
    moved = run.paths[path + i] if path >= 0 else i * run.op[number, N_STEP + operand]
    return run.op[number, N_PLACE + operand] + moved


@inline_kernel
def source_line(run: GridRun, number: int, element: int, operand: int) -> SourceLine:
    """Return where the values of an operation's source are, for one element.

    number: row of the operation in `run.op`; operand: 1 for the first source, 2 for the second.
    """
    row = run.op[number]
    slot = row[N_SLOT + operand]
    stream = counter = np.int64(-1)
    if slot >= 0:
        stream, counter = run.source[element, slot], run.counter[element, slot]
    place, step, path = row[N_PLACE + operand], row[N_STEP + operand], row[N_PATH + operand]
    return SourceLine(place, step, path, row[N_WIDE + operand], stream, counter)


@inline_kernel
def value_of_line(run: GridRun, line: SourceLine, i: int, scalar: int) -> Word:
    """Return the bits of value number i of a source.

    scalar: the bits to return if the source is the operation's scalar.
    """
    if line.wide == 0:
        return scalar
    if line.stream < 0:
        moved = run.paths[line.path + i] if line.path >= 0 else i * line.step
        return read_word(run.memory, line.place + moved, line.wide)
    index = line.place + i
    if line.counter >= 0:
        index = place_behind(run.filter[line.counter], index)
    return np.int64(run.data[line.stream + index])
