"""How partial sums are added over the elements, and where the results leave the grid.

Sums run along the rows first, inside groups of neighbours that share an output tile, then along the
columns; the last element of each group has the result (theory/grid.md §3).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.reductions import Axis, Phase, line_chains, receives, shared_scheme
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.workload.errors import InfeasibleMapping

Exit = Literal["none", "south", "east", "gather"]


@dataclass(frozen=True, slots=True)
class PartialSums:
    """The reduction of an output over the elements.

    `phases`: chains of additions, in order. `group_columns`, `group_rows`: neighbours along X and
    Y that add up into one tile. `exit`: how the finished tiles leave: over the south border (a
    whole column adds up), over the east border (a whole row does), along each column to the south,
    element after element (gather), or not at all (none: they stay in the memories). `shared`:
    whether the last element of a group then sends the finished tile to all others of the group.
    """

    phases: tuple[Phase, ...]
    group_columns: int
    group_rows: int
    exit: Exit
    shared: bool = False

    def head_columns(self, columns: int) -> range:
        """Return the columns in which the sums of the rows end."""
        return range(self.group_columns - 1, columns, self.group_columns)

    def head_rows(self, rows: int) -> range:
        """Return the rows in which the sums of the columns end."""
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
    columns, rows = read.columns, read.rows
    inner = shared_scheme(read.reduction)
    scheme = read.reduction if inner is None else inner
    if inner is not None and not read.output.resident:
        raise InfeasibleMapping(
            f"{read.reduction} shares {read.output.name} with elements that do not keep it",
            instead=f"{inner}, or no Storage of {read.output.name} outside the grid",
        )
    group_columns, group_rows = _group(read, "X"), _group(read, "Y")
    heads = range(group_columns - 1, columns, group_columns)
    phases = (
        *_phases("X", group_columns, columns, range(rows), scheme),
        *_phases("Y", group_rows, rows, heads, scheme),
    )
    shared = inner is not None and group_columns * group_rows > 1
    leaves = _exit(read, group_columns, group_rows)
    return PartialSums(phases, group_columns, group_rows, leaves, shared)


def _group(read: SpaceTime, axis: Axis) -> int:
    return prod(loop.count for loop in read.along(axis) if read.is_reduced(loop.variable))


def _phases(axis: Axis, group: int, elements: int, lines: range, scheme: str) -> tuple[Phase, ...]:
    """Return the phases that add up each group of neighbours of the lines of an axis."""
    starts = range(0, elements, group)
    return tuple(
        Phase(axis, tuple(chain.moved(start) for start in starts for chain in chains), lines)
        for chains in line_chains(group, scheme)
    )


def _exit(read: SpaceTime, group_columns: int, group_rows: int) -> Exit:
    if read.output.resident:
        return "none"
    if group_rows == read.rows:
        return "south"
    return "east" if group_columns == read.columns else "gather"


def sums_received(read: SpaceTime, sums: PartialSums) -> npt.NDArray[np.int64]:
    """Return how many partial sums each element receives for one output tile: (rows, columns)."""
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


def sum_hops(sums: PartialSums) -> int:
    """Return the links that the partial sums of one word of every output tile cross."""
    return sum(
        len(phase.lines) * sum(chain.hops for chain in phase.chains) for phase in sums.phases
    )


def share_hops(read: SpaceTime, sums: PartialSums) -> int:
    """Return the links that one word of every finished tile crosses to reach its whole group."""
    return (sums.group - 1) * (read.columns * read.rows // sums.group) if sums.shared else 0


def exit_hops(read: SpaceTime, sums: PartialSums) -> int:
    """Return the links inside the grid that one word of every finished tile crosses to leave."""
    if sums.exit != "gather":
        return 0
    columns = len(sums.head_columns(read.columns))
    return columns * sum(read.rows - 1 - row for row in sums.head_rows(read.rows))
