"""How partial sums are added over the elements, and where the results leave the grid.

Sums run along the rows first, inside groups of neighbours that share an output tile, then along the
columns; or the other way round; or in one chain that winds through all rows of a group. The last
element of each group has the result (theory/grid.md §3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Literal

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.number_types import joins_in_one_operation
from tilewright.mapper.grid.reductions import Axis, Chain, Phase, line_chains, receives
from tilewright.mapper.grid.schemes.reduction_scheme import Order, ReductionScheme, reduction_scheme
from tilewright.mapper.grid.schemes.ring_reduction import (
    MOST_IN_RING,
    RingReduction,
    fits_ring,
    values_together,
)
from tilewright.mapper.grid.schemes.snake import Snake
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.workload.errors import InfeasibleMapping

Exit = Literal["none", "south", "east", "gather"]


@dataclass(frozen=True, slots=True)
class PartialSums:
    """The reduction of an output over the elements.

    `phases`: chains of additions along the axes, in order; none in a snake or ring.
    `group_columns`, `group_rows`: neighbours along X and Y that add up into one tile. `exit`: how
    the finished tiles leave: over the south border (a whole column adds up), over the east border
    (a whole row does), along each column to the south, element after element (gather), or not at
    all (none: they stay in the memories). `shared`: whether the last element of a group then sends
    the finished tile to all others of the group. `order`: of the axes, or a snake, or a ring.
    `values`: of a tile that goes round a ring; `together`: of those in a word. `narrows`: whether
    the last element of a group makes f16 of the finished tile as it leaves.
    """

    phases: tuple[Phase, ...]
    group_columns: int
    group_rows: int
    exit: Exit
    shared: bool = False
    order: Order = "x_first"
    values: int = 0
    together: int = 1
    narrows: bool = False

    @property
    def axes(self) -> tuple[Axis, Axis]:
        """The axes in the order in which sums run along them."""
        return ("Y", "X") if self.order == "y_first" else ("X", "Y")

    @property
    def snake(self) -> Snake | None:
        """The one chain through each group, if sums run along a snake; None if along the axes."""
        return Snake(self.group_columns, self.group_rows) if self.order == "snake" else None

    @property
    def ring(self) -> RingReduction | None:
        """The ring through each group, if it adds up by one; None if not."""
        if self.order != "ring":
            return None
        way = Snake(self.group_columns, self.group_rows)
        return RingReduction(way, self.values, self.together)

    @property
    def first(self) -> tuple[int, int]:
        """Row and column of an element that sends a sum and receives none."""
        snake = self.snake
        return (0, 0) if snake is None else (0, snake.first_column)

    def head_columns(self, columns: int) -> range:
        """Return the columns of the elements that have the results: the last one of each group.

        `columns`: of the grid. Example: groups of 4 in 12 columns end in columns 3, 7 and 11.
        """
        return range(self.group_columns - 1, columns, self.group_columns)

    def head_rows(self, rows: int) -> range:
        """Return the rows of the elements that have the results: the last one of each group.

        `rows`: of the grid.
        """
        return range(self.group_rows - 1, rows, self.group_rows)

    def along(self, axis: Axis) -> list[Phase]:
        """Return the phases along an axis, in order."""
        return [phase for phase in self.phases if phase.axis == axis]

    @property
    def group(self) -> int:
        """Number of elements that add up into one tile."""
        return self.group_columns * self.group_rows


def partial_sums(read: SpaceTime) -> PartialSums:
    """Return how the output of a mapping is added up and leaves the grid.

    Raises InfeasibleMapping for an unknown reduction scheme, and if a result is shared that does
    not stay in the elements.
    """
    scheme = reduction_scheme(read.reduction)
    _check_shared(read, scheme)
    wide, tall = _group(read, "X"), _group(read, "Y")
    order: Order = scheme.order if min(wide, tall) > 1 or scheme.order == "ring" else "x_first"
    if order == "ring" and wide * tall > 1:
        _check_ring(read, wide * tall)
    line = scheme.line_for(read.words(read.output))
    sums = PartialSums(
        phases=(),
        group_columns=wide,
        group_rows=tall,
        exit=_exit(read, wide, tall),
        shared=scheme.shared and wide * tall > 1,
        order=order if wide * tall > 1 else "x_first",
        values=read.output.values if order == "ring" else 0,
        narrows=read.narrows,
    )
    if order == "ring" and joins_in_one_operation(read.einsum):
        return replace(sums, together=values_together(sums.group, sums.values, read.dtype))
    if order in ("snake", "ring"):
        return sums
    return replace(sums, phases=_all_phases(read, sums, line))


def _check_shared(read: SpaceTime, scheme: ReductionScheme) -> None:
    """Raise InfeasibleMapping if a result is shared that does not stay in the elements."""
    if scheme.shared and not read.output.resident:
        inner = replace(scheme, shared=False)
        raise InfeasibleMapping(
            f"{scheme} shares {read.output.name} with elements that do not keep it",
            instead=f"{inner}, or no Storage of {read.output.name} outside the grid",
        )


def _check_ring(read: SpaceTime, elements: int) -> None:
    """Raise InfeasibleMapping unless a tile has a chunk for each element of a ring."""
    name, values = read.output.name, read.output.values
    if read.shifted:
        raise InfeasibleMapping(
            f"{name} is added up round a ring, where tiles shift", instead="another reduction"
        )
    if not fits_ring(elements, values):
        raise InfeasibleMapping(
            f"a ring of {elements} elements adds up {values} values of {name}",
            instead=f"at most {MOST_IN_RING} elements, whose number divides the values of a tile",
        )


def _all_phases(read: SpaceTime, sums: PartialSums, line: str) -> tuple[Phase, ...]:
    """Return the phases along both axes; along the second one in the lines with heads only."""
    words = read.words(read.output)
    across, down = (line_chains(n, line, words) for n in (sums.group_columns, sums.group_rows))
    along_x = partial(_phases, "X", across, range(0, read.columns, sums.group_columns))
    along_y = partial(_phases, "Y", down, range(0, read.rows, sums.group_rows))
    if sums.order == "y_first":
        return (
            *along_y(lines=range(read.columns)),
            *along_x(lines=sums.head_rows(read.rows)),
        )
    return (*along_x(lines=range(read.rows)), *along_y(lines=sums.head_columns(read.columns)))


def _group(read: SpaceTime, axis: Axis) -> int:
    return prod(loop.count for loop in read.along(axis) if read.is_reduced(loop.variable))


def _phases(
    axis: Axis, phases: Sequence[Sequence[Chain]], starts: range, lines: range
) -> tuple[Phase, ...]:
    """Return the phases along one axis: in each, every group of neighbours runs the same chains.

    `phases`: the chains of a group, phase by phase; `starts`: the groups' first elements; `lines`:
    the rows or columns that take part.
    """
    return tuple(
        Phase(axis, tuple(chain.moved(start) for start in starts for chain in chains), lines)
        for chains in phases
    )


def _exit(read: SpaceTime, group_columns: int, group_rows: int) -> Exit:
    if read.output.resident:
        return "none"
    if group_rows == read.rows:
        return "south"
    return "east" if group_columns == read.columns else "gather"


def sums_received(read: SpaceTime, sums: PartialSums) -> npt.NDArray[np.int64]:
    """Return how many partial sums each element receives for one output tile: (rows, columns)."""
    if sums.ring is not None:
        return np.ones((read.rows, read.columns), dtype=np.int64)
    if sums.snake is not None:
        tall, wide = read.rows // sums.group_rows, read.columns // sums.group_columns
        return np.tile(np.minimum(sums.snake.places, 1), (tall, wide))
    received = np.zeros((read.rows, read.columns), dtype=np.int64)
    for phase in sums.phases:
        elements = read.columns if phase.axis == "X" else read.rows
        along = np.array(receives([phase.chains], elements))
        lines = slice(phase.lines.start, phase.lines.stop, phase.lines.step)
        if phase.axis == "X":
            received[lines, :] += along[None, :]
        else:
            received[:, lines] += along[:, None]
    return received


def sums_stored(read: SpaceTime, sums: PartialSums) -> int:
    """Return how many elements store a sum that they would else send while it comes in.

    They have several sums to send, or make another number type of a finished one.
    """
    chains = sum(
        len(phase.lines) * sum(chain.stores for chain in phase.chains) for phase in sums.phases
    )
    is_stored = sums.narrows and sums.group > 1
    return chains + is_stored * (read.rows * read.columns // sums.group)


def sum_hops(read: SpaceTime, sums: PartialSums) -> int:
    """Return over how many links partial sums go for one word of each output tile.

    Example: 8 columns and 2 rows, in groups of 4 columns and 1 row: four groups. Each sends over 3
    links: 12.
    """
    if sums.snake is not None:
        return read.rows * read.columns // sums.group * (sums.group - 1)
    return sum(
        len(phase.lines) * sum(chain.hops for chain in phase.chains) for phase in sums.phases
    )


def share_hops(read: SpaceTime, sums: PartialSums) -> int:
    """Return over how many links one word of every finished tile goes to the rest of its group.

    0 unless the result is shared; a group of n elements takes n - 1.
    """
    return (sums.group - 1) * (read.columns * read.rows // sums.group) if sums.shared else 0


def exit_hops(read: SpaceTime, sums: PartialSums) -> int:
    """Return over how many links inside the grid one word of every finished tile leaves.

    0 if tiles leave over the border that they end at, or stay. Else each goes down its column.
    """
    if sums.exit != "gather":
        return 0
    columns = len(sums.head_columns(read.columns))
    return columns * sum(read.rows - 1 - row for row in sums.head_rows(read.rows))
