"""The text form of routes and edge ports reads back."""

from __future__ import annotations

import pytest

from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.routes import (
    Area,
    CounterFilter,
    EdgeInput,
    EdgeOutput,
    Position,
    RangeFilter,
    Route,
    Switch,
)
from tilewright.simulator.text.route_text import (
    edge_text,
    parse_area,
    parse_edge_input,
    parse_edge_output,
    parse_route,
    route_text,
)
from tilewright.simulator.text.tokens import Line

SWITCH = Switch((Position(rx=("E",)), Position(tx=("R", "W"))), 1, ring=True, pop="always_pop")
ROUTES = [
    Route("x", Area(0, 1, 2, 3), ("W",), ("E", "R")),
    Route("x", Area(0, 1, 2, 3, 4, 2), ("W",), ("E", "R")),
    Route("x", Area(0, 0), ("W",), ("R",), SWITCH),
    Route("x", Area(0, 0), ("W",), ("R",), filter=RangeFilter(3, 9), teardown=True),
    Route("x", Area(0, 0), ("W",), ("R",), filter=CounterFilter(4, 1, 2, count_control=True)),
    Route("x", Area(0, 0), ("W",), ("R",), filter=CounterFilter(4, 1, other_limit=9), swap="xy"),
]


@pytest.mark.parametrize("route", ROUTES, ids=route_text)
def test_routes_read_back(route: Route) -> None:
    line = Line("file", 1, f"{route.color} {route.area} {route_text(route)}")
    assert parse_route(line) == route
    assert not line.more


def test_edge_ports_read_back() -> None:
    port = EdgeInput("in", "N", 2, 3, "x", "u32", 7, interval=4, start=9, control=True)
    line = Line("file", 1, edge_text(port))
    assert line.name() == "edge_input"
    assert parse_edge_input(line) == port
    output = EdgeOutput("out", "S", 0, 1, "x", "f16", 5)
    line = Line("file", 1, edge_text(output))
    assert line.name() == "edge_output"
    assert parse_edge_output(line) == output


@pytest.mark.parametrize("text", ["[1:1, 0:4]", "[0:1, 4:2]", "[-1:1, 0:1]", "[0:4:0, 0:1]"])
def test_an_empty_area_is_refused(text: str) -> None:
    with pytest.raises(ProgramError, match="an area starts at 0 or above"):
        parse_area(Line("file", 1, text))
