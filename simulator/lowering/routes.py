"""Colors, routes and border ports of a program: for input streams, partial sums and results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from tilewright.arch.memo import IdentityCache
from tilewright.mapper.grid.host_streams import HostStream, place_in_period
from tilewright.mapper.grid.partial_sums import PartialSums
from tilewright.mapper.grid.reductions import Axis, Phase
from tilewright.mapper.grid.schemes.snake import Snake
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.lowering.border_channels import entry_side
from tilewright.simulator.lowering.number_operations import port_dtype
from tilewright.simulator.lowering.rings.ring_sums import route_ring
from tilewright.simulator.lowering.sums.sum_roles import OUT, SHARE, exit_color, link_color
from tilewright.simulator.program.areas import areas_along, areas_of, equal_areas
from tilewright.simulator.program.routes import Area, CounterFilter, EdgeInput, EdgeOutput

_DIRECTIONS = {(0, 1): ("E", "W"), (0, -1): ("W", "E"), (1, 0): ("S", "N")}
"""By the step in rows and columns: the side by which a sum leaves, and by which it comes in."""


_PIECES: Final = IdentityCache(64)
"""Areas of streams: plans that differ in the scheme of the reduction only have the same streams."""


class _Piece(NamedTuple):
    """An area whose routers take a stream from `rx`, send it to `tx`, and `only` so much to R."""

    area: Area
    rx: str
    tx: str
    only: CounterFilter | None


class _Lines(NamedTuple):
    """Some rows (axis X) or columns (Y) along which words go."""

    axis: Axis
    lines: range


def input_color(tensor: str) -> str:
    """Name the color (virtual channel) on which an input tensor travels: `in_<tensor>`."""
    return f"in_{tensor}"


def input_port(tensor: str) -> str:
    """Name the port by which an input tensor enters at the border: `edge_<tensor>`."""
    return f"edge_{tensor}"


def route_streams(builder: ProgramBuilder, read: SpaceTime, streams: Sequence[HostStream]) -> None:
    """Declare colors, routes and ports of all inputs that enter over the border.

    builder: of the program, changed; read: the mapping as loops in space and time; streams: its.
    """
    for stream in streams:
        name = stream.tensor.name
        color = builder.color(input_color(name))
        pieces = _PIECES.of(stream, "pieces", lambda: tuple(_pieces(read, stream)))  # noqa: B023
        for area, rx, tx, only in pieces:
            builder.route(color, area, rx=rx, tx=tx, filter=only)
        dtype = port_dtype(read, stream.tensor)
        places = entry_side(stream), 0, stream.number
        builder.edge_input(
            EdgeInput(input_port(name), *places, color, dtype, stream.words, stream.interval)
        )


def _pieces(read: SpaceTime, stream: HostStream) -> Iterator[_Piece]:
    """Yield the areas of the elements that do the same with a stream."""
    for area, place in equal_areas(place_in_period(read, stream)):
        only = _filter(stream, place)
        for piece, rx, tx in _directions(read, stream, area):
            yield _Piece(piece, rx, tx, only)


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
    rows, columns = area.rows, area.columns
    if stream.lines == "rows":
        yield from _eastward(rows, columns, read.columns)
    elif stream.lines == "columns":
        yield from _southward(rows, columns, read.rows, "")
    else:
        first = columns.start == 0
        if first:
            yield from _southward(rows, range(1), read.rows, "E" if read.columns > 1 else "")
        if columns[first:]:
            yield from _eastward(rows, columns[first:], read.columns)


def _eastward(rows: range, columns: range, width: int) -> Iterator[tuple[Area, str, str]]:
    """Yield the pieces of an area in a grid of `width` columns, to the last of which words go."""
    ends = columns[-1] == width - 1
    if len(columns) > ends:
        yield Area.of(rows, columns[: len(columns) - ends]), "W", "ER"
    if ends:
        yield Area.of(rows, columns[-1:]), "W", "R"


def _southward(
    rows: range, columns: range, height: int, aside: str
) -> Iterator[tuple[Area, str, str]]:
    """Yield the pieces of an area in a grid of `height` rows, to the last of which words go."""
    ends = rows[-1] == height - 1
    if len(rows) > ends:
        yield Area.of(rows[: len(rows) - ends], columns), "N", f"S{aside}R"
    if ends:
        yield Area.of(rows[-1:], columns), "N", f"{aside}R"


def route_sums(
    builder: ProgramBuilder, read: SpaceTime, sums: PartialSums, interval: int = 1
) -> None:
    """Declare colors and routes of the partial sums, and of the results up to the border.

    builder: of the program, changed; read: the mapping; sums: how partial sums are added and leave;
    interval: cycles in which a result may leave by each place of the border.
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
        _route_chains(builder, number, phase)
    if sums.exit != "none":
        _route_exit(builder, read, sums, interval)
    if sums.shared:
        _route_share(builder, read, sums)


def _route_chains(builder: ProgramBuilder, number: int, phase: Phase) -> None:
    """Route the links of all chains of a phase, every second one on the other color."""
    chains = [list(pairwise(chain.positions)) for chain in phase.chains]
    for parity in (0, 1):
        links = [link for chain in chains for link in chain[parity::2]]
        _route_links(builder, link_color(number, parity), links, _Lines(phase.axis, phase.lines))


def _route_links(
    builder: ProgramBuilder, color: str, links: Sequence[tuple[int, int]], lines: _Lines
) -> None:
    """Route words of a color along some lines, to the east or south.

    links: (first, last) place of each way along the line.
    """
    comes, goes = ("W", "E") if lines.axis == "X" else ("N", "S")
    between = [place for first, last in links for place in range(first + 1, last)]
    for places, rx, tx in (
        ([first for first, _ in links], "R", goes),
        (between, comes, goes),
        ([last for _, last in links], comes, "R"),
    ):
        for area in areas_along(lines.axis, lines.lines, sorted(places)):
            builder.route(color, area, rx=rx, tx=tx)


def _route_snakes(builder: ProgramBuilder, read: SpaceTime, snake: Snake) -> None:
    """Route the sums of each group through its rows, every second one to the west."""
    colors = [builder.color(link_color(0, parity)) for parity in (0, 1)]
    columns_of: dict[tuple[str, str, str, int], list[int]] = {}
    for link, (start, end) in enumerate(pairwise(snake.way())):
        goes, comes = _DIRECTIONS[end[0] - start[0], end[1] - start[1]]
        color = colors[link % 2]
        columns_of.setdefault((color, "R", goes, start[0]), []).append(start[1])
        columns_of.setdefault((color, comes, "R", end[0]), []).append(end[1])
    firsts = range(0, read.columns, snake.columns)
    for (color, rx, tx, row), places in columns_of.items():
        columns = sorted(first + place for first in firsts for place in places)
        for area in areas_of(range(row, read.rows, snake.rows), columns):
            builder.route(color, area, rx=rx, tx=tx)


def _route_share(builder: ProgramBuilder, read: SpaceTime, sums: PartialSums) -> None:
    """Route finished tiles from the last element of each group: north in its column, then west."""
    builder.color(SHARE)
    wide, tall = sums.group_columns, sums.group_rows
    aside, rows = "W" if wide > 1 else "", range(read.rows)
    if wide > 1:
        firsts = range(0, read.columns, wide)
        builder.route(SHARE, Area.of(rows, firsts), rx="E", tx="R")
        between = [first + place for first in firsts for place in range(1, wide - 1)]
        for area in areas_of(rows, between):
            builder.route(SHARE, area, rx="E", tx="WR")
    heads, firsts = sums.head_columns(read.columns), range(0, read.rows, tall)
    last = range(tall - 1, read.rows, tall)
    builder.route(SHARE, Area.of(last, heads), rx="R", tx=aside + ("N" if tall > 1 else ""))
    if tall > 1:
        builder.route(SHARE, Area.of(firsts, heads), rx="S", tx=f"{aside}R")
        between = [first + place for first in firsts for place in range(1, tall - 1)]
        for area in areas_of(between, heads):
            builder.route(SHARE, area, rx="S", tx=f"N{aside}R")


def _stretches(lines: range) -> Iterator[range]:
    """Return the stretches of neighbouring lines."""
    if lines.step == 1:
        yield lines
    else:
        yield from (range(line, line + 1) for line in lines)


def exit_ports(read: SpaceTime, sums: PartialSums) -> tuple[tuple[str, range], ...]:
    """Return the ports by which results leave the grid: (name, positions on the border) of each."""
    heads = sums.head_rows(read.rows) if sums.exit == "east" else sums.head_columns(read.columns)
    stretches = list(_stretches(heads))
    if len(stretches) == 1:
        return ((OUT, stretches[0]),)
    return tuple((f"{OUT}_{places.start}", places) for places in stretches)


def _route_exit(builder: ProgramBuilder, read: SpaceTime, sums: PartialSums, interval: int) -> None:
    heads, output = sums.head_rows(read.rows), read.output
    color, count = OUT, read.visits(output) * read.words(output)
    if sums.exit == "gather":
        _route_gather(builder, read, sums)
        color, count = exit_color(len(heads) - 1), count * len(heads)
    else:
        builder.color(color)
    side = "E" if sums.exit == "east" else "S"
    if side == "E":
        area = Area.of(heads, range(read.columns - 1, read.columns))
    else:
        area = Area.of(range(read.rows - 1, read.rows), sums.head_columns(read.columns))
    builder.route(color, area, rx="R", tx=side)
    dtype = port_dtype(read, output)
    for name, places in exit_ports(read, sums):
        at_side = side, places.start, len(places)
        builder.edge_output(EdgeOutput(name, *at_side, color, dtype, count, interval))


def _route_gather(builder: ProgramBuilder, read: SpaceTime, sums: PartialSums) -> None:
    """Route each column's results from one element that has some to the next one south of it."""
    heads, columns = sums.head_rows(read.rows), sums.head_columns(read.columns)
    for parity in range(min(2, len(heads))):
        builder.color(exit_color(parity))
    for parity in (0, 1):
        links = list(pairwise(heads))[parity::2]
        _route_links(builder, exit_color(parity), links, _Lines("Y", columns))
