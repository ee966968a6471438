"""Routes, switches, filters and edge ports of the text form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tilewright.simulator.program.program import Reconfigure
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
from tilewright.simulator.text.tokens import Line


def flag(_: Line) -> bool:
    """Return that a property without a value is set."""
    return True


def parse_area(line: Line) -> Area:
    """Return `[row:row, column:column]`, the ends excluded."""
    column = line.column
    line.expect("[")
    rows = line.span()
    line.expect(",")
    columns = line.span()
    line.expect("]")
    height, width = rows[1] - rows[0], columns[1] - columns[0]
    if min(*rows, *columns) < 0 or height < 1 or width < 1:
        raise line.fail(
            "an area starts at 0 or above and ends behind its start",
            column,
            value=(rows, columns),
            instead="as in [0:1, 0:4]",
        )
    return Area(rows[0], columns[0], height, width)


def ports(line: Line) -> tuple[str, ...]:
    """Return ports as letters, `NE`."""
    return tuple(line.name("ports, of N E S W R"))


def parse_route(line: Line) -> Route:
    """Return the rest of a `route` line."""
    color = line.name("a color's name")
    area = parse_area(line)
    directions = _directions(line)
    swap = line.choose(SWAPS[1:], "swap") if line.has("swap") else ""
    switch = _switch(line)
    return Route(color, area, *directions, switch, _filter(line), line.has("teardown"), swap)


def parse_reconfigure(line: Line) -> Reconfigure:
    """Return the rest of a `reconfigure` line."""
    color = line.name("a color's name")
    directions = _directions(line)
    switch = _switch(line)
    return Reconfigure(color, *directions, switch, _filter(line))


def _directions(line: Line) -> tuple[tuple[str, ...], tuple[str, ...]]:
    line.expect("rx")
    rx = ports(line)
    line.expect("tx")
    return rx, ports(line)


def _switch(line: Line) -> Switch | None:
    positions: list[Position] = []
    while line.has(f"pos{len(positions) + 1}"):
        rx = ports(line) if line.has("rx") else None
        tx = ports(line) if line.has("tx") else None
        positions.append(Position(rx, tx))
    if not positions:
        return None
    current = line.integer("a switch position") if line.has("current") else 0
    ring = line.has("ring")
    pop = line.choose(POP_MODES, "pop mode") if line.peek() in POP_MODES else POP_MODES[0]
    return Switch(tuple(positions), current, ring, pop)


def _filter(line: Line) -> CounterFilter | RangeFilter | None:
    if line.has("range"):
        return RangeFilter(line.integer("the lowest index"), line.integer("the highest index"))
    if not line.has("counter"):
        return None
    limit, most = line.integer("the counter's limit"), 0
    line.expect("most")
    most = line.integer("the greatest count that passes")
    given = {"count_data": False}
    while line.peek() in FILTER:
        key = line.choose(tuple(FILTER), "property of a filter")
        given[key] = FILTER[key](line)
    return CounterFilter(limit, most, **given)


FILTER: Final[dict[str, Callable[[Line], Any]]] = {
    "start": Line.integer,
    "other_limit": Line.integer,
    "count_data": flag,
    "count_control": flag,
    "filter_control": flag,
    "sparse": flag,
}


def _port(line: Line) -> dict[str, Any]:
    found: dict[str, Any] = {"name": line.name("the port's name")}
    line.expect("side")
    found["side"] = line.name("a side, of N E S W")
    column = line.column
    line.expect("[")
    first, last = line.span()
    line.expect("]")
    if not 0 <= first < last:
        raise line.fail("positions start at 0 or above", column, value=(first, last))
    line.expect("color")
    color = line.name("a color's name")
    found |= {"first": first, "positions": last - first, "color": color}
    found["dtype"] = line.name("a dtype")
    line.expect("count")
    found["count"] = line.integer("the number of wavelets")
    return found


def parse_edge_input(line: Line) -> EdgeInput:
    """Return the rest of an `edge_input` line."""
    return EdgeInput(**_port(line), **line.settings(EDGE, "property of an edge input"))


def parse_edge_output(line: Line) -> EdgeOutput:
    """Return the rest of an `edge_output` line."""
    return EdgeOutput(**_port(line))


EDGE: Final[dict[str, Callable[[Line], Any]]] = {
    "interval": Line.integer,
    "start": Line.integer,
    "control": flag,
}
