"""Cut a grid into pieces, stretches of columns, between which words go from west to east only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import EdgeInput, EdgeOutput, Route
from tilewright.simulator.quotient.bands import equal_rows
from tilewright.simulator.quotient.line_blocks import Ints, LineCut, line_digests, text_digests
from tilewright.simulator.quotient.passing_streams import route_ports
from tilewright.simulator.quotient.shrink import GridCut, shrink

Crossings = dict[tuple[str, int], Ints]
"""Cycles in which words leave a column for the one in the east, by the name of their color and the
row."""
DTYPE = "f32"
"""Of the words between two pieces, which have no values."""


def column_pieces(program: Program) -> tuple[range, ...]:
    """Return the pieces of a grid, from west to east: stretches of its columns.

    Between two pieces no word goes west; and in one routes join two rows that they do not join in
    the other.
    """
    joined = np.zeros((program.height, program.width), dtype=bool)
    goes_west = np.zeros(program.width - 1, dtype=bool)
    for route in program.routes:
        (rows, columns), ports = route.area.places, set(route_ports(route))
        if "N" in ports:
            joined[rows, columns] = True
        if "S" in ports:
            joined[rows.start + 1 : rows.stop + 1 : rows.step, columns] = True
        _mark_west(goes_west, route)
    joined[0] = False
    differs = (joined[:, 1:] != joined[:, :-1]).any(axis=0)
    ends = np.flatnonzero(differs & ~goes_west) + 1
    return tuple(range(*ends) for ends in pairwise([0, *ends.tolist(), program.width]))


def _mark_west(goes_west: npt.NDArray[np.bool_], route: Route) -> None:
    """Mark the columns from whose eastern neighbour words of a route come; changes `goes_west`."""
    columns = np.array(route.area.columns)
    positions = route.directions()
    if any("E" in (position.rx or ()) for position in positions):
        goes_west[columns[columns < goes_west.size]] = True
    if any("W" in (position.tx or ()) for position in positions):
        goes_west[columns[columns > 0] - 1] = True


@dataclass(frozen=True, slots=True)
class ColumnPiece:
    """Some columns of a grid, on one band of rows of each kind.

    `program`: what runs on them, without the words of other pieces. `rows`: (rows of the program,)
    their numbers in the grid; `equal`: (rows of the grid,) for each the equal one of these.
    `enters`: when words come from the piece in the west, by their rows in the grid.
    """

    program: Program
    rows: Ints
    equal: Ints
    enters: Crossings

    def with_ports(self, most: int) -> Program:
        """Return the program with ports for the words that enter it, and for those that leave.

        most: words that a port in the east takes at most.
        """
        inputs = tuple(
            EdgeInput(_name("enters", *place), "W", row, 1, place[0], DTYPE, cycles.size)
            for row, place, cycles in self.entering()
        )
        outputs = tuple(
            EdgeOutput(_name("leaves", *place), "E", row, 1, place[0], DTYPE, most)
            for row, place in self.leaving()
        )
        return replace(
            self.program,
            edge_inputs=(*self.program.edge_inputs, *inputs),
            edge_outputs=(*self.program.edge_outputs, *outputs),
        )

    def entering(self) -> Iterator[tuple[int, tuple[str, int], Ints]]:
        """Yield the words that enter: row of the program; color and row of the grid; cycles."""
        row_of = {number: row for row, number in enumerate(self.rows.tolist())}
        for place, cycles in self.enters.items():
            if place[1] in row_of:
                yield row_of[place[1]], place, cycles

    def leaving(self) -> Iterator[tuple[int, tuple[str, int]]]:
        """Yield where words leave in the east: row of the program; color and row of the grid."""
        outside = {port.color for port in self.program.edge_outputs if port.side == "E"}
        for route in self.program.routes:
            area = route.area
            last = area.ends[1] == self.program.width
            if last and "E" in route.tx and route.color not in outside:
                for row in area.rows:
                    yield row, (route.color, int(self.rows[row]))


def _name(way: str, color: str, row: int) -> str:
    return f"{way} a piece {color} {row}"


def piece_of(program: Program, columns: range, enters: Crossings) -> ColumnPiece:
    """Return a piece of a grid with one band of each kind.

    Two bands of rows are of one kind if they are equal, as in §14 of theory/engines.md, and words
    of equal colors enter both in the same cycles.
    """
    sides = "W" * (columns.start > 0) + "E" * (columns.stop < program.width)
    inner = replace(
        program,
        edge_inputs=tuple(port for port in program.edge_inputs if port.side not in sides),
        edge_outputs=tuple(port for port in program.edge_outputs if port.side not in sides),
    )
    every = LineCut(np.arange(program.height), ())
    inner = shrink(inner, GridCut(every, LineCut(np.array(columns), ())))
    digests = line_digests(inner)[0] + _digests_of_words(enters, program.height)
    equal = equal_rows(inner, digests)
    rows = np.unique(equal)
    every = LineCut(np.arange(len(columns)), ())
    return ColumnPiece(shrink(inner, GridCut(LineCut(rows, ()), every)), rows, equal, enters)


def _digests_of_words(enters: Crossings, rows: int) -> npt.NDArray[np.uint64]:
    """Return digests of the words that enter each row: (rows, 2)."""
    texts = [b""] * rows
    for color, row in sorted(enters):
        texts[row] += f"{color} {enters[color, row].size} ".encode() + enters[color, row].tobytes()
    return text_digests(texts)
