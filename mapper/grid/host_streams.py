"""How the tiles of an input reach the elements that need them, each word entering the grid once.

Lines of elements share a stream: every row has one from the west, every column one from the north,
or the whole grid has one that goes down the first column and along all rows. Elements of a line
that need different tiles find them one after the other in the stream, and each takes its own
(theory/grid.md §2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.grid.space_time import HeldTensor, SpaceLoop, SpaceTime

Lines = Literal["rows", "columns", "whole"]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HostStream:
    """The streams that bring one input (`tensor`) into the grid.

    `lines`: the elements that share a stream: each row, each column, or the whole grid. `number`:
    how many such streams there are. `tiles`: different tiles in one period: elements of the line
    that take the same tile are one group, and each group has one. `periods`: how often that
    repeats, once for each tile that passes an element, but once in all for tiles that then shift.
    `hops`: links that each word crosses. `values_per_wavelet`: values in a word, 1 or 2.
    `interval`: cycles in which a word of each stream may enter, 1 unless streams share channels.
    """

    tensor: HeldTensor
    lines: Lines
    number: int
    tiles: int
    periods: int
    hops: int
    values_per_wavelet: int
    interval: int = 1

    @property
    def values(self) -> int:
        """Values of one tile."""
        return self.tensor.values

    @property
    def tile_words(self) -> int:
        """Words of one tile."""
        return self.values // self.values_per_wavelet

    @property
    def words_of_period(self) -> int:
        """Words of one stream in one period."""
        return self.tiles * self.tile_words

    @property
    def words(self) -> int:
        """Words of one stream during the run."""
        return self.periods * self.words_of_period

    @property
    def entering_values(self) -> int:
        """Values that enter by all streams of the input."""
        return self.number * self.words * self.values_per_wavelet


def host_streams(read: SpaceTime) -> tuple[HostStream, ...]:
    """Return the streams of all inputs that are not resident, in the order of the Einsum."""
    return tuple(_stream(read, tensor) for tensor in read.streams)


def _stream(read: SpaceTime, tensor: HeldTensor) -> HostStream:
    shares = {axis: _shares(read, tensor, axis) for axis in ("X", "Y")}
    lines, number, tiles, hops = line_streams(shares["X"], shares["Y"], read.columns, read.rows)
    periods = 1 if tensor.shift is not None else read.visits(tensor)
    together = read.values_per_wavelet(tensor)
    return HostStream(tensor, lines, number, tiles, periods, hops, together)


class LineStreams(NamedTuple):
    """The streams of an input over a grid: `lines`, `number`, `tiles`, `hops` as of HostStream."""

    lines: Lines
    number: int
    tiles: int
    hops: int


def line_streams(along_x: int, along_y: int, columns: int, rows: int) -> LineStreams:
    """Return the streams of an input: each row shares one, each column, or the whole grid.

    `along_x`, `along_y`: into how many different parts the input is divided along the axes of a
    grid of `columns` and `rows`. Rows share one if every row has another part; columns likewise. If
    both hold (every element has another part), the one with more streams; rows if equal.
    """
    by_rows, by_columns = along_y == rows, along_x == columns
    if by_rows and (not by_columns or rows >= columns):
        return LineStreams("rows", rows, along_x, columns - 1)
    if by_columns:
        return LineStreams("columns", columns, along_y, rows - 1)
    return LineStreams("whole", 1, along_x * along_y, columns * rows - 1)


def links_to_last(lines: Lines, columns: int, rows: int) -> int:
    """Return how many links lie between the border and the last element of a line.

    Of a grid of `columns` and `rows`; a stream of the whole grid goes down and along.
    """
    return (columns - 1) * (lines != "columns") + (rows - 1) * (lines != "rows")


def _shares(read: SpaceTime, tensor: HeldTensor, axis: Axis) -> int:
    count = 1
    for loop in read.along(axis):
        count *= loop.count if _is_used(tensor, loop) else 1
    return count


def _is_used(tensor: HeldTensor, loop: SpaceLoop) -> bool:
    """Return whether the elements of a loop have different tiles of a tensor.

    Those of a ring begin with different ones.
    """
    return tensor.uses(loop.variable) or tensor.shift == loop.axis


def share_number(read: SpaceTime, tensor: HeldTensor, axis: Axis) -> Integers:
    """Return which part of an input each column ("X") or row ("Y") needs: numbers from 0.

    Example: columns share first m in 2, then k in 2. An input indexed by m alone has (0, 0, 1, 1).
    """
    total = read.columns if axis == "X" else read.rows
    position, number, scale = np.arange(total), np.zeros(total, dtype=np.int64), 1
    for loop in reversed(read.along(axis)):
        position, digit = np.divmod(position, loop.count)
        if _is_used(tensor, loop):
            number += digit * scale
            scale *= loop.count
    return number


def place_in_period(read: SpaceTime, stream: HostStream) -> Integers:
    """Return which of a period's tiles each element takes: (rows, columns), numbers from 0."""
    along_x = share_number(read, stream.tensor, "X")
    along_y = share_number(read, stream.tensor, "Y")
    shape = (read.rows, read.columns)
    if stream.lines == "rows":
        return np.broadcast_to(along_x[None, :], shape)
    if stream.lines == "columns":
        return np.broadcast_to(along_y[:, None], shape)
    return along_y[:, None] * (int(along_x.max()) + 1) + along_x[None, :]


def element_starts(read: SpaceTime) -> dict[str, Integers]:
    """Return the first value of each rank variable in each element's share: (rows, columns)."""
    shape = (read.rows, read.columns)
    starts = {name: np.zeros(shape, dtype=np.int64) for name in read.einsum.bounds}
    for axis in ("X", "Y"):
        total = read.columns if axis == "X" else read.rows
        position = np.arange(total)
        for loop in reversed(read.along(axis)):
            position, digit = np.divmod(position, loop.count)
            moved = digit * loop.tile
            starts[loop.variable] += moved[None, :] if axis == "X" else moved[:, None]
    return starts


def visit_starts(read: SpaceTime, tensor: HeldTensor, visits: int) -> dict[str, Integers]:
    """Return the first value of each rank variable in the first `visits` tiles of an element.

    In the order in which they pass, relative to the element's share; one array of `visits` numbers
    per variable.
    """
    number = np.arange(visits)
    starts = {name: np.zeros(visits, dtype=np.int64) for name in read.einsum.bounds}
    for loop in reversed(read.time[: tensor.depth]):
        number, digit = np.divmod(number, loop.count)
        starts[loop.variable] += digit * loop.tile
    return starts
