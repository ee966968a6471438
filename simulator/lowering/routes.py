"""Colors, routes and border ports of a program: for input streams, partial sums and results."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np

from tilewright.mapper.grid.host_streams import HostStream, Integers, host_streams, place_in_period
from tilewright.mapper.grid.partial_sums import PartialSums
from tilewright.mapper.grid.reductions import Chain, Phase
from tilewright.mapper.grid.schemes.snake import Snake
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.lowering.number_operations import port_dtype
from tilewright.simulator.lowering.rings.ring_sums import route_ring
from tilewright.simulator.lowering.sum_roles import OUT, SHARE, exit_color, link_color
from tilewright.simulator.program.routes import Area, CounterFilter, EdgeInput, EdgeOutput

_DIRECTIONS = {(0, 1): ("E", "W"), (0, -1): ("W", "E"), (1, 0): ("S", "N")}
"""By the step in rows and columns: the side by which a sum leaves, and by which it comes in."""


def input_color(tensor: str) -> str:
    """Name the color (virtual channel) on which an input tensor travels: `in_<tensor>`."""
    return f"in_{tensor}"


def input_port(tensor: str) -> str:
    """Name the port by which an input tensor enters at the border: `edge_<tensor>`."""
    return f"edge_{tensor}"


def route_streams(builder: ProgramBuilder, read: SpaceTime) -> None:
    """Declare colors, routes and ports of all inputs that enter over the border.

    builder: of the program, changed; read: the mapping as loops in space and time.
    """
    for stream in host_streams(read):
        name = stream.tensor.name
        color = builder.color(input_color(name))
        for rows, columns, place in equal_areas(place_in_period(read, stream)):
            area = Area(rows.start, columns.start, len(rows), len(columns))
            only = _filter(stream, place)
            for piece, rx, tx in _directions(read, stream, area):
                builder.route(color, piece, rx=rx, tx=tx, filter=only)
        side = "W" if stream.lines == "rows" else "N"
        dtype = port_dtype(read, stream.tensor)
        builder.edge_input(
            EdgeInput(input_port(name), side, 0, stream.number, color, dtype, stream.words)
        )


def _runs(values: Integers) -> Iterator[range]:
    """Yield the stretches of equal neighbours, as ranges of places."""
    ends = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return (range(first, last) for first, last in pairwise(ends))


def equal_areas(places: Integers) -> Iterator[tuple[range, range, int]]:
    """Return rectangles of a grid in which all places are equal: (rows, columns, place) of each.

    `places`: (rows, columns) a number per element. The rectangles cover the grid.
    """
    changes = np.any(places[1:] != places[:-1], axis=1)
    for rows in _runs(np.concatenate([[0], np.cumsum(changes)])):
        for columns in _runs(places[rows.start]):
            yield rows, columns, int(places[rows.start, columns.start])


def _filter(stream: HostStream, place: int) -> CounterFilter | None:
    """Return the filter that lets one tile of each period pass to the element, None for all."""
    if stream.tiles == 1:
        return None
    words = stream.tile_words
    period = stream.tiles * words
    return CounterFilter(period, words, (period - place * words) % period)


def _directions(read: SpaceTime, stream: HostStream, area: Area) -> Iterator[tuple[Area, str, str]]:
    """Yield the pieces of an area with the ports that a stream takes there: (area, rx, tx).

    rx, tx: letters of the ports by which its words enter and leave the routers, such as "W" and
    "ER".
    """
    if stream.lines == "rows":
        yield from _eastward(area, read.columns)
    elif stream.lines == "columns":
        yield from _southward(area, read.rows, "")
    else:
        first = area.column == 0
        if first:
            aside = "E" if read.columns > 1 else ""
            yield from _southward(Area(area.row, 0, area.height, 1), read.rows, aside)
        skipped = int(first)
        if area.width > skipped:
            rest = Area(area.row, area.column + skipped, area.height, area.width - skipped)
            yield from _eastward(rest, read.columns)


def _eastward(area: Area, columns: int) -> Iterator[tuple[Area, str, str]]:
    ends = area.column + area.width == columns
    if area.width > ends:
        yield Area(area.row, area.column, area.height, area.width - ends), "W", "ER"
    if ends:
        yield Area(area.row, columns - 1, area.height, 1), "W", "R"


def _southward(area: Area, rows: int, aside: str) -> Iterator[tuple[Area, str, str]]:
    ends = area.row + area.height == rows
    if area.height > ends:
        yield Area(area.row, area.column, area.height - ends, area.width), "N", f"S{aside}R"
    if ends:
        yield Area(rows - 1, area.column, 1, area.width), "N", f"{aside}R"


def route_sums(builder: ProgramBuilder, read: SpaceTime, sums: PartialSums) -> None:
    """Declare colors and routes of the partial sums, and of the results up to the border.

    builder: of the program, changed; read: the mapping; sums: how partial sums are added and leave.
    """
    if sums.ring is not None:
        route_ring(builder, read, sums)
        return
    if sums.snake is not None:
        _route_snakes(builder, read, sums.snake)
    for number, phase in enumerate(sums.phases):
        links = max(len(chain.positions) - 1 for chain in phase.chains)
        for parity in range(min(2, links)):
            builder.color(link_color(number, parity))
        for chain in phase.chains:
            _route_chain(builder, number, phase, chain)
    if sums.exit != "none":
        _route_exit(builder, read, sums)
    if sums.shared:
        _route_share(builder, read, sums)


def _route_chain(builder: ProgramBuilder, number: int, phase: Phase, chain: Chain) -> None:
    origin, goes = ("W", "E") if phase.axis == "X" else ("N", "S")
    for link, (start, end) in enumerate(pairwise(chain.positions)):
        color = link_color(number, link)
        for lines in _stretches(phase.lines):
            builder.route(color, _area(phase.axis, lines, start, 1), rx="R", tx=goes)
            if end - start > 1:
                between = _area(phase.axis, lines, start + 1, end - start - 1)
                builder.route(color, between, rx=origin, tx=goes)
            builder.route(color, _area(phase.axis, lines, end, 1), rx=origin, tx="R")


def _route_snakes(builder: ProgramBuilder, read: SpaceTime, snake: Snake) -> None:
    """Route the sums of each group through its rows, every second one to the west."""
    colors = [builder.color(link_color(0, parity)) for parity in (0, 1)]
    firsts = product(range(0, read.rows, snake.rows), range(0, read.columns, snake.columns))
    for row, column in firsts:
        for link, (start, end) in enumerate(pairwise(snake.way())):
            goes, comes = _DIRECTIONS[end[0] - start[0], end[1] - start[1]]
            sender = Area(row + start[0], column + start[1])
            builder.route(colors[link % 2], sender, rx="R", tx=goes)
            receiver = Area(row + end[0], column + end[1])
            builder.route(colors[link % 2], receiver, rx=comes, tx="R")


def _route_share(builder: ProgramBuilder, read: SpaceTime, sums: PartialSums) -> None:
    """Route finished tiles from the last element of each group: north in its column, then west."""
    builder.color(SHARE)
    wide, tall = sums.group_columns, sums.group_rows
    aside = "W" if wide > 1 else ""
    for column in range(0, read.columns, wide) if wide > 1 else ():
        builder.route(SHARE, Area(0, column, read.rows, 1), rx="E", tx="R")
        if wide > 2:
            builder.route(SHARE, Area(0, column + 1, read.rows, wide - 2), rx="E", tx="WR")
    for columns in _stretches(sums.head_columns(read.columns)):
        for row in range(0, read.rows, tall):
            head = _area("Y", columns, row + tall - 1, 1)
            builder.route(SHARE, head, rx="R", tx=aside + ("N" if tall > 1 else ""))
            if tall > 1:
                builder.route(SHARE, _area("Y", columns, row, 1), rx="S", tx=f"{aside}R")
            if tall > 2:
                between = _area("Y", columns, row + 1, tall - 2)
                builder.route(SHARE, between, rx="S", tx=f"N{aside}R")


def _stretches(lines: range) -> Iterator[range]:
    """Return the stretches of neighbouring lines."""
    if lines.step == 1:
        yield lines
    else:
        yield from (range(line, line + 1) for line in lines)


def _area(axis: str, lines: range, start: int, length: int) -> Area:
    """Return `length` elements from `start` on along an axis, in neighbouring lines."""
    if axis == "X":
        return Area(lines.start, start, len(lines), length)
    return Area(start, lines.start, length, len(lines))


def exit_ports(read: SpaceTime, sums: PartialSums) -> tuple[tuple[str, range], ...]:
    """Return the ports by which results leave the grid: (name, positions on the border) of each."""
    heads = sums.head_rows(read.rows) if sums.exit == "east" else sums.head_columns(read.columns)
    stretches = list(_stretches(heads))
    if len(stretches) == 1:
        return ((OUT, stretches[0]),)
    return tuple((f"{OUT}_{places.start}", places) for places in stretches)


def _route_exit(builder: ProgramBuilder, read: SpaceTime, sums: PartialSums) -> None:
    heads, output = sums.head_rows(read.rows), read.output
    color, count = OUT, read.visits(output) * read.words(output)
    if sums.exit == "gather":
        _route_gather(builder, read, sums)
        color, count = exit_color(len(heads) - 1), count * len(heads)
    else:
        builder.color(color)
    side = "E" if sums.exit == "east" else "S"
    for name, places in exit_ports(read, sums):
        if side == "E":
            area = Area(places.start, read.columns - 1, len(places), 1)
        else:
            area = Area(read.rows - 1, places.start, 1, len(places))
        builder.route(color, area, rx="R", tx=side)
        dtype = port_dtype(read, output)
        builder.edge_output(EdgeOutput(name, side, places.start, len(places), color, dtype, count))


def _route_gather(builder: ProgramBuilder, read: SpaceTime, sums: PartialSums) -> None:
    """Route each column's results from one element that has some to the next one south of it."""
    heads = sums.head_rows(read.rows)
    for parity in range(min(2, len(heads))):
        builder.color(exit_color(parity))
    for link, (start, end) in enumerate(pairwise(heads)):
        for columns in _stretches(sums.head_columns(read.columns)):
            color = exit_color(link)
            builder.route(color, _area("Y", columns, start, 1), rx="R", tx="S")
            if end - start > 1:
                between = _area("Y", columns, start + 1, end - start - 1)
                builder.route(color, between, rx="N", tx="S")
            builder.route(color, _area("Y", columns, end, 1), rx="N", tx="R")
