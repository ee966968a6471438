"""The rows of what an element does with values: their columns, and tables that they name."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Final, NamedTuple

from tilewright.simulator.compile import columns as at

(
    N_ARITHMETIC,  # or A_MAP, A_MORE, A_SCALAR
    N_TYPE,  # of values; else the row of `maps`, or of `scalars`
    N_EXTENT,
    N_SCALAR,  # bits, or the place of the scalar in memory
    N_SCALAR_WIDE,  # 0: bits
    N_PLACE,  # of destination and sources: 16-bit word of the element, or number in the queue
    _,
    _,
    N_STEP,  # of each, in 16-bit words
    _,
    _,
    N_WIDE,  # of each: 16-bit words per value, 0 for the scalar or nothing
    _,
    _,
    N_SLOT,  # of each: queue slot, -1 for memory
    _,
    _,
    N_PATH,  # of each: where the words of its values begin in `paths`, -1 for a line
    _,
    _,
    N_WIDTH,
) = range(21)
A_MAP, A_MORE, A_SCALAR = -1, -2, -3
"""A map of scalar instructions; two more of its inputs, in the rows behind it; one instruction."""
M_TURNS, M_BODY, M_COUNT, M_ROWS, M_REST, M_COUNTER, _, _, M_BITS, _, _, M_WIDTH = range(12)
"""A row of a map: its turns, its first instruction in `scalars`, how many, how many rows it has,
how many inputs are read once more before one is at its end; counters of its output and two inputs,
and their bits, negative with a sign. Further rows of a map have counters and bits only."""
S_CODE, S_TYPE, S_KIND, _, _, S_VALUE, _, _, S_WIDE, _, _, S_WIDTH = range(12)
"""A scalar instruction: its operation and dtype; of destination and sources the kind (NUMBER,
COUNTER_VALUE, ELEMENT), the number, counter or place in memory, and the words of a value there."""


class Operand(NamedTuple):
    """The columns of one operand of a row."""

    place: int = 0
    step: int = 0
    wide: int = 0
    slot: int = -1
    path: int = -1


NOTHING: Final = Operand()
"""An operand that is the scalar, or nothing."""


class Paths:
    """The words of values of operands with several dimensions, each kind of path once."""

    def __init__(self) -> None:
        self.words: list[int] = []
        self._known: dict[Hashable, int] = {}

    def of(self, operand: Sequence[int], values: int) -> int:
        """Return where the words of an operand of so many values begin, -1 if it is a line."""
        dimensions = operand[at.D_DIMENSIONS]
        if dimensions == 1:
            return -1
        extents = tuple(operand[at.D_EXTENT : at.D_EXTENT + dimensions])
        strides = tuple(operand[at.D_STRIDE : at.D_STRIDE + dimensions])
        key = extents, strides, values
        if key not in self._known:
            self._known[key] = len(self.words)
            self.words.extend(_path(extents, strides, values))
        return self._known[key]


def _path(extents: Sequence[int], strides: Sequence[int], values: int) -> Iterator[int]:
    """Yield the words from the first value of an operand to each; strides jump back, too."""
    word, counters = 0, [0] * len(extents)
    for _ in range(values):
        yield word
        for d, (extent, stride) in enumerate(zip(extents, strides, strict=True)):
            counters[d] += 1
            if counters[d] < extent:
                word += stride
                break
            counters[d] = 0


class Scalars:
    """Scalar instructions, each stretch of equal ones once."""

    def __init__(self) -> None:
        self.rows: list[list[int]] = []
        self._known: dict[Hashable, int] = {}

    def of(self, body: list[list[int]]) -> int:
        """Return the number of the first of some instructions."""
        key = tuple(map(tuple, body))
        if key not in self._known:
            self._known[key] = len(self.rows)
            self.rows += body
        return self._known[key]


def written_counters(body: list[list[int]]) -> set[int]:
    """Return the counters that instructions write."""
    return {row[S_VALUE] for row in body if row[S_KIND] == at.COUNTER_VALUE}


def read_counters(body: list[list[int]]) -> set[int]:
    """Return the counters that instructions read."""
    return {
        row[S_VALUE + source]
        for row in body
        for source in (1, 2)
        if row[S_KIND + source] == at.COUNTER_VALUE
    }
