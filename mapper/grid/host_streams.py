"""How the tiles of an input reach the elements that need them, each word entering the grid once.

Lines of elements share a stream: every row has one from the west, every column one from the north,
or the whole grid has one that goes down the first column and along all rows. Elements of a line
that need different tiles find them one after the other in the stream, and each takes its own
(theory/grid.md §2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.grid.space_time import HeldTensor, SpaceLoop, SpaceTime

Lines = Literal["rows", "columns", "whole"]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HostStream:
    """The streams that bring one input into the grid.

    `lines`: the elements that share a stream: each row, each column, or the whole grid. `number`:
    how many streams there are. `tiles`: different tiles of a period, one for each group of elements
    of the line. `periods`: how often that repeats, once for each tile that passes an element, but
    once for tiles that then shift.
    `values`: of one tile. `hops`: links that each word crosses.
    """

    tensor: HeldTensor
    lines: Lines
    number: int
    tiles: int
    periods: int
    hops: int

    @property
    def values(self) -> int:
        """Values of one tile."""
        return self.tensor.values

    @property
    def words(self) -> int:
        """Words of one stream."""
        return self.periods * self.tiles * self.values


def host_streams(read: SpaceTime) -> tuple[HostStream, ...]:
    """Return the streams of all inputs that are not resident, in the order of the Einsum."""
    return tuple(_stream(read, tensor) for tensor in read.streams)


def _stream(read: SpaceTime, tensor: HeldTensor) -> HostStream:
    shares = {axis: _shares(read, tensor, axis) for axis in ("X", "Y")}
    columns, rows = read.columns, read.rows
    periods = 1 if tensor.shift is not None else read.visits(tensor)
    lines = shared_lines(shares["X"], shares["Y"], columns, rows)
    if lines == "rows":
        return HostStream(tensor, lines, rows, shares["X"], periods, columns - 1)
    if lines == "columns":
        return HostStream(tensor, lines, columns, shares["Y"], periods, rows - 1)
    return HostStream(tensor, lines, 1, shares["X"] * shares["Y"], periods, columns * rows - 1)


def shared_lines(along_x: int, along_y: int, columns: int, rows: int) -> Lines:
    """Return which elements share a stream of an input.

    `along_x`, `along_y`: its different shares along the axes of a grid of `columns` and `rows`.
    """
    by_rows, by_columns = along_y == rows, along_x == columns
    if by_rows and (not by_columns or rows >= columns):
        return "rows"
    return "columns" if by_columns else "whole"


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
    """Return which of the different shares along an axis each position has, counted from 0."""
    total = read.columns if axis == "X" else read.rows
    position, number, scale = np.arange(total), np.zeros(total, dtype=np.int64), 1
    for loop in reversed(read.along(axis)):
        position, digit = np.divmod(position, loop.count)
        if _is_used(tensor, loop):
            number += digit * scale
            scale *= loop.count
    return number


def place_in_period(read: SpaceTime, stream: HostStream) -> Integers:
    """Return which tile of a period each element takes: (rows, columns), counted from 0."""
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
    """Return the first value of each rank variable in the first tiles that pass: (visits,)."""
    number = np.arange(visits)
    starts = {name: np.zeros(visits, dtype=np.int64) for name in read.einsum.bounds}
    for loop in reversed(read.time[: tensor.depth]):
        number, digit = np.divmod(number, loop.count)
        starts[loop.variable] += digit * loop.tile
    return starts
