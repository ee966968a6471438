"""Streams that pass along the columns of a grid, from west to east, and the words that each takes.

A stream passes from column `first` on if every router of its rows takes it from the west only, and
sends it to the east, to its element, or both. Beside such streams nothing crosses from one of these
columns to the next one, or from one group of neighbouring columns to the next (theory/engines.md
§13, §17).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import CounterFilter, EdgeOutput, Route
from tilewright.simulator.quotient.line_blocks import Ints, LineCut, line_digests
from tilewright.simulator.quotient.shrink import GridCut, shrink

LIMIT, MOST, START = range(3)
"""A filter: of every LIMIT words the first MOST pass; the first START words are missing."""
ALL, NOTHING = (1, 1, 0), (1, 0, 0)
CROSSED = "words cross the columns otherwise than from west to east"


@dataclass(frozen=True, slots=True)
class PassingStream:
    """A color whose words pass along some rows, through all columns from a first one on.

    `color`: its name; `rows`: (rows,) on which it passes; `filters`: (rows, columns of the whole
    grid, 3) LIMIT, MOST and START of what each element takes; `alone`: (rows, columns) whether no
    other stream but passing ones goes to the element. `words`: the most that a row may have;
    `dtype`: of the words.
    """

    color: str
    rows: Ints
    filters: Ints
    alone: Ints
    words: int
    dtype: str

    def taken(self, column: int, words: int) -> Iterator[tuple[Ints, Ints]]:
        """Yield what a column takes of `words` words: (places in `rows`, numbers of the words)."""
        filters = self.filters[:, column]
        kinds, kind = filters[:1], np.zeros(len(filters), dtype=np.int64)
        if (filters != kinds).any():
            kinds, kind = np.unique(filters, axis=0, return_inverse=True)
        for number, (limit, most, start) in enumerate(kinds.tolist()):
            phase = (start + np.arange(words, dtype=np.int64)) % limit
            yield np.flatnonzero(kind.ravel() == number), np.flatnonzero(phase < most)


@dataclass(frozen=True, slots=True)
class PassingStreams:
    """The streams that pass through all columns of a program's grid from column `first` on.

    `alike`: (columns,) a number, equal for columns that do the same beside these streams.
    """

    program: Program
    first: int
    streams: tuple[PassingStream, ...]
    alike: Ints

    def narrow(self, columns: Ints) -> Program:
        """Return the program on some columns alone; what passes leaves it in the east.

        columns: (columns,) ascending, without the last one of the grid.
        """
        rows = LineCut(np.arange(self.program.height), ())
        small = shrink(self.program, GridCut(rows, LineCut(columns, ())))
        exits = tuple(port for stream in self.streams for port in self.exits(stream))
        return replace(small, edge_outputs=(*small.edge_outputs, *exits))

    def exits(self, stream: PassingStream) -> Iterator[EdgeOutput]:
        """Yield the ports by which a stream leaves a narrow grid, in the order of its rows."""
        for rows in np.split(stream.rows, np.flatnonzero(np.diff(stream.rows) != 1) + 1):
            name = f"passed {stream.color} {rows[0]}"
            place = int(rows[0]), int(rows.size)
            yield EdgeOutput(name, "E", *place, stream.color, stream.dtype, stream.words)


def _check_ends(program: Program) -> None:
    """Raise NotCovered if words enter or leave in the east, or a route has a color swap."""
    sides = {*(p.side for p in program.edge_inputs), *(p.side for p in program.edge_outputs)}
    if "E" in sides or any(route.swap for route in program.routes):
        raise NotCovered(CROSSED)


def passing_streams(program: Program, first: int, group: int = 1) -> PassingStreams:
    """Return the streams that pass from column `first` on, and which of these columns are alike.

    group: columns of a group; the groups are counted from column 0 on. Raises NotCovered if
    anything else crosses from one group to the next one, from column `first` on.
    """
    _check_ends(program)
    routes = [r for r in program.routes if r.area.ends[1] > first]
    colors = _passing_colors(program, routes, first, group)
    rest = tuple(r for r in routes if r.color not in colors)
    alone = _alone(program, rest)
    streams = tuple(
        _stream(program, [r for r in routes if r.color == color], first, alone)
        for color in sorted(colors)
    )
    _, columns = line_digests(replace(program, routes=rest))
    _, alike = np.unique(columns, axis=0, return_inverse=True)
    return PassingStreams(program, first, streams, alike.ravel().astype(np.int64))


def _passing_colors(program: Program, routes: list[Route], first: int, group: int) -> set[str]:
    """Return the colors that pass; raises NotCovered where others leave a group of columns."""
    crossing = [r for r in routes if not {"E", "W"}.isdisjoint(route_ports(r))]
    staying = {r.color for r in crossing if not _passes(r, first, program.width)}
    if any(r.color in staying and _leaves(r, first, group) for r in crossing):
        raise NotCovered(CROSSED)
    return {r.color for r in crossing} - staying


def _leaves(route: Route, first: int, group: int) -> bool:
    """Return whether a route, from column `first` on, leads out of a group or into one."""
    ports = route_ports(route)
    columns = {column % group for column in route.area.columns if column >= first}
    return ("E" in ports and group - 1 in columns) or ("W" in ports and 0 in columns)


def route_ports(route: Route) -> tuple[str, ...]:
    """Return all ports of a route (N, E, S, W, R), at any position of its switch."""
    if route.switch is None:
        return *route.rx, *route.tx
    positions = ((*(p.rx or ()), *(p.tx or ())) for p in route.directions())
    return tuple(port for ports in positions for port in ports)


def _alone(program: Program, rest: Iterable[Route]) -> Ints:
    """Return (rows, columns) whether no route of some goes to the element."""
    alone = np.ones(program.placement.shape, dtype=np.int64)
    for route in rest:
        if "R" in route_ports(route):
            alone[route.area.places] = 0
    return alone


def _stream(program: Program, routes: list[Route], first: int, alone: Ints) -> PassingStream:
    """Return the stream of a color's routes. Raises NotCovered if it does not reach all columns.

    alone: as of `_alone`, for the routes that do not pass.
    """
    height, width = program.placement.shape
    filters = np.full((height, width, 3), -1, dtype=np.int64)
    for route in routes:
        filters[route.area.places] = _filter(route)
    filters[:, :first] = -1
    rows = np.flatnonzero((filters[:, first:, LIMIT] >= 0).any(axis=1))
    if (filters[rows, first:, LIMIT] < 0).any():
        raise NotCovered("a stream ends before the last column")
    color = routes[0].color
    inputs = [port for port in program.edge_inputs if port.color == color]
    if not inputs:
        raise NotCovered("a stream along the rows does not come from the border")
    words = sum(port.count for port in inputs)
    return PassingStream(color, rows, filters[rows], alone[rows], words, inputs[0].dtype)


def _passes(route: Route, first: int, width: int) -> bool:
    """Return whether a route is that of a stream which passes through its columns from `first` on.

    width: of the grid, whose last column sends nothing to the east.
    """
    columns = route.area.columns
    begin, end = next(column for column in columns if column >= first), columns[-1] + 1
    plain = route.rx == ("W",) and set(route.tx) <= {"E", "R"}
    plain &= route.switch is None and not route.teardown
    return plain and ("E" in route.tx) == (begin < width - 1) == (end < width)


def _filter(route: Route) -> tuple[int, int, int]:
    """Return what a router's element takes, by LIMIT, MOST and START. Raises NotCovered."""
    only = route.filter
    if "R" not in route.tx:
        return NOTHING
    if only is None:
        return ALL
    if isinstance(only, CounterFilter) and _counts_data(only):
        return only.limit, only.most, only.start
    raise NotCovered("a filter counts in another way")


def _counts_data(counter: CounterFilter) -> bool:
    """Return whether a filter lets the first `most` of every `limit` data words pass."""
    steady = counter.count_data and not counter.filter_control and not counter.is_sparse
    return steady and 0 < counter.most <= counter.limit and 0 <= counter.start < counter.limit
