"""Make the small program: the large one on the rows and columns that a cut keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from typing import TypeVar

import numpy as np

from tilewright.simulator.program.areas import progressions
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput, Route
from tilewright.simulator.quotient.line_blocks import (
    KEPT_PERIODS,
    Ints,
    LineCut,
    cut_lines,
    line_digests,
)

Port = TypeVar("Port", EdgeInput, EdgeOutput)


@dataclass(frozen=True, slots=True)
class GridCut:
    """The rows and columns that a small grid keeps of a large one."""

    rows: LineCut
    columns: LineCut

    @property
    def axes(self) -> tuple[LineCut, LineCut]:
        """The cuts of both axes, rows first."""
        return self.rows, self.columns

    @property
    def lengths(self) -> tuple[int, ...]:
        """The numbers of periods that the blocks have in the large grid, each once, ascending."""
        return tuple(sorted({b.times for axis in self.axes for b in axis.blocks}))

    @property
    def elements(self) -> int:
        """Elements of the small grid."""
        return self.rows.numbers.size * self.columns.numbers.size

    def lengthened(self, times: int) -> GridCut:
        """Return a cut that keeps four periods of each block with `times` periods.

        `times` counts periods in the large grid. All other blocks keep three periods.
        """
        return GridCut(self.rows.lengthened(times), self.columns.lengthened(times))


def cut_grid(program: Program, margin: int) -> GridCut:
    """Choose the rows and columns that a small program keeps.

    margin: periods kept at both ends of a block that repeats, beside its three.
    """
    return next(grid_cuts(program, (margin,)))


def grid_cuts(program: Program, margins: Iterable[int]) -> Iterator[GridCut]:
    """Yield the cut of a program for each margin, as `cut_grid`; its lines are compared once."""
    rows, columns = line_digests(program)
    for margin in margins:
        yield GridCut(cut_lines(rows, margin), cut_lines(columns, margin))


def shrink(program: Program, cut: GridCut) -> Program:
    """Return the program on the kept rows and columns alone.

    Routes and border ports lose the positions that are not kept; those without any left go.
    """
    rows, columns = cut.rows.numbers, cut.columns.numbers
    if (rows.size, columns.size) == program.placement.shape:
        return program
    return replace(
        program,
        placement=np.ascontiguousarray(program.placement[np.ix_(rows, columns)]),
        routes=tuple(_routes(program.routes, cut)),
        edge_inputs=tuple(_ports(program.edge_inputs, cut)),
        edge_outputs=tuple(_ports(program.edge_outputs, cut)),
    )


def _routes(routes: tuple[Route, ...], cut: GridCut) -> Iterator[Route]:
    rows_of, columns_of = (cache(partial(_kept, axis.numbers)) for axis in cut.axes)
    for route in routes:
        for rows, columns in product(rows_of(route.area.rows), columns_of(route.area.columns)):
            area = Area.of(rows, columns)
            yield route if route.area == area else replace(route, area=area)


def _kept(numbers: Ints, lines: range) -> tuple[range, ...]:
    """Return which lines of a small grid were some lines of the large one.

    numbers: of the lines of the small grid in the large one.
    """
    first, end = np.searchsorted(numbers, (lines.start, lines[-1] + 1)).tolist()
    if lines.step == 1:
        return (range(first, end),) if end > first else ()
    kept = (numbers[first:end] - lines.start) % lines.step == 0
    return tuple(progressions((first + np.flatnonzero(kept)).tolist()))


def _ports(ports: tuple[Port, ...], cut: GridCut) -> Iterator[Port]:
    for port in ports:
        numbers = (cut.columns if port.side in "NS" else cut.rows).numbers
        first, end = np.searchsorted(numbers, (port.first, port.first + port.positions)).tolist()
        if end > first:
            yield replace(port, first=first, positions=end - first)


def canonical_lines(cut: LineCut) -> Ints:
    """Return for each line of the small grid the equal line in the first period of its block."""
    lines = np.arange(cut.numbers.size, dtype=np.int64)
    for block in cut.blocks:
        inside = lines[block.start : block.start + KEPT_PERIODS * block.period]
        inside[:] = block.start + np.arange(inside.size) % block.period
    return lines
