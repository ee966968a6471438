"""The text form of routes, switches, filters and edge ports."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tilewright.simulator.program.routes import (
    POP_MODES,
    SWAPS,
    Area,
    CounterFilter,
    EdgeInput,
    EdgeOutput,
    Position,
    RangeFilter,
    Route,
    Switch,
)
from tilewright.simulator.text.tokens import Line, Properties, flag, print_name


def parse_area(line: Line) -> Area:
    """Return the area that stands next on a line, `[row:row, column:column]`, the ends excluded.

    [0:2, 1:4] has two rows and three columns; [0:2, 1:6:2] columns 1, 3 and 5. Raises ProgramError
    with the column.
    """
    line.expect("[")
    rows = _parse_lines(line)
    line.expect(",")
    columns = _parse_lines(line)
    line.expect("]")
    return Area.of(rows, columns)


def _parse_lines(line: Line) -> range:
    """Return the rows or columns that stand next, `first:end` or `first:end:step`."""
    column = line.column
    first, end = line.span()
    step = line.integer() if line.has(":") else 1
    if first < 0 or end <= first or step < 1:
        raise line.fail(
            "an area starts at 0 or above, ends behind its start, and has steps of 1 or more",
            column,
            value=f"{first}:{end}" if step == 1 else f"{first}:{end}:{step}",
            instead="as in [0:1, 0:4], or [0:1, 0:4:2] for columns 0 and 2",
        )
    return range(first, end, step)


def _parse_ports(line: Line) -> tuple[str, ...]:
    """Return ports as letters, `NE`."""
    return tuple(line.name("ports, of N E S W R"))


def parse_route(line: Line) -> Route:
    """Return the route that the rest of a `route` line describes; ProgramError with the column."""
    color = line.name("a color's name")
    area = parse_area(line)
    rx, tx = _parse_directions(line)
    swap = line.choose(SWAPS[1:], "swap") if line.has("swap") else ""
    switch = _parse_switch(line)
    return Route(color, area, rx, tx, switch, _parse_filter(line), line.has("teardown"), swap)


class RouteSettings(NamedTuple):
    """What a router does with a color, as read from text.

    `rx`: ports to take from, `tx`: ports to send to (letters of N E S W R); `switch`: further
    positions; `filter`: at the ramp to the element; None without.
    """

    rx: tuple[str, ...]
    tx: tuple[str, ...]
    switch: Switch | None
    filter: CounterFilter | RangeFilter | None


def parse_route_settings(line: Line) -> RouteSettings:
    """Return the ports, switch and filter that stand next; ProgramError with the column."""
    rx, tx = _parse_directions(line)
    switch = _parse_switch(line)
    return RouteSettings(rx, tx, switch, _parse_filter(line))


def _parse_directions(line: Line) -> tuple[tuple[str, ...], tuple[str, ...]]:
    line.expect("rx")
    rx = _parse_ports(line)
    line.expect("tx")
    return rx, _parse_ports(line)


def _parse_switch(line: Line) -> Switch | None:
    positions: list[Position] = []
    while line.has(f"pos{len(positions) + 1}"):
        rx = _parse_ports(line) if line.has("rx") else None
        tx = _parse_ports(line) if line.has("tx") else None
        positions.append(Position(rx, tx))
    if not positions:
        return None
    current = line.integer("a switch position") if line.has("current") else 0
    ring = line.has("ring")
    pop = line.choose(POP_MODES, "pop mode") if line.peek() in POP_MODES else POP_MODES[0]
    return Switch(tuple(positions), current, ring, pop)


def _parse_filter(line: Line) -> CounterFilter | RangeFilter | None:
    if line.has("range"):
        return RangeFilter(line.integer("the lowest index"), line.integer("the highest index"))
    if not line.has("counter"):
        return None
    limit = line.integer("the counter's limit")
    line.expect("most")
    greatest = line.integer("the greatest count that passes")
    given = {"count_data": False}
    while line.peek() in FILTER_PROPERTIES:
        word = line.choose(tuple(FILTER_PROPERTIES), "property of a filter")
        given[word] = FILTER_PROPERTIES[word](line)
    return CounterFilter(limit, greatest, **given)


FILTER_PROPERTIES: Final[Properties] = {
    "start": Line.integer,
    "other_limit": Line.integer,
    "count_data": flag,
    "count_control": flag,
    "filter_control": flag,
    "sparse": flag,
}


def _parse_port(line: Line) -> dict[str, Any]:
    port: dict[str, Any] = {"name": line.name("the port's name")}
    line.expect("side")
    port["side"] = line.name("a side, of N E S W")
    column = line.column
    line.expect("[")
    first, last = line.span()
    line.expect("]")
    if not 0 <= first < last:
        raise line.fail("positions start at 0 or above", column, value=(first, last))
    line.expect("color")
    color = line.name("a color's name")
    port |= {"first": first, "positions": last - first, "color": color}
    port["dtype"] = line.name("a dtype")
    line.expect("count")
    port["count"] = line.integer("the number of wavelets")
    return port


def parse_edge_input(line: Line) -> EdgeInput:
    """Return the edge input that the rest of its line describes; ProgramError with the column."""
    return EdgeInput(
        **_parse_port(line), **line.settings(EDGE_PROPERTIES, "property of an edge input")
    )


def parse_edge_output(line: Line) -> EdgeOutput:
    """Return the edge output that the rest of its line describes; ProgramError with the column."""
    return EdgeOutput(
        **_parse_port(line), **line.settings(EXIT_PROPERTIES, "property of an edge output")
    )


EDGE_PROPERTIES: Final[Properties] = {
    "interval": Line.integer,
    "start": Line.integer,
    "control": flag,
}
EXIT_PROPERTIES: Final[Properties] = {"interval": Line.integer}


def route_text(route: Route) -> str:
    """Return a route's ports, swap, switch, filter and teardown as text, without color and area."""
    text = f"rx {''.join(route.rx)} tx {''.join(route.tx)}"
    text += f" swap {route.swap}" if route.swap else ""
    if route.switch is not None:
        for number, position in enumerate(route.switch.positions, 1):
            text += f" pos{number}"
            text += f" rx {''.join(position.rx)}" if position.rx else ""
            text += f" tx {''.join(position.tx)}" if position.tx else ""
        text += f" current {route.switch.current}"
        text += (" ring" if route.switch.ring else "") + f" {route.switch.pop}"
    if isinstance(route.filter, RangeFilter):
        text += f" range {route.filter.low} {route.filter.high}"
    elif route.filter is not None:
        text += _counter_text(route.filter)
    return text + (" teardown" if route.teardown else "")


def _counter_text(chosen: CounterFilter) -> str:
    text = f" counter {chosen.limit} most {chosen.most} start {chosen.start}"
    if chosen.other_limit is not None:
        text += f" other_limit {chosen.other_limit}"
    flags = ("count_data", "count_control", "filter_control", "sparse")
    return text + "".join(f" {name}" for name in flags if getattr(chosen, name))


def edge_text(port: EdgeInput | EdgeOutput) -> str:
    """Return the line of the text form for an edge input or output."""
    word = "edge_input" if isinstance(port, EdgeInput) else "edge_output"
    last = port.first + port.positions
    text = (
        f"{word} {print_name(port.name)} side {port.side} [{port.first}:{last}] "
        f"color {print_name(port.color)} {port.dtype} count {port.count}"
    )
    if isinstance(port, EdgeInput):
        text += f" interval {port.interval} start {port.start}"
        text += " control" if port.control else ""
    elif port.interval > 1:
        text += f" interval {port.interval}"
    return text
