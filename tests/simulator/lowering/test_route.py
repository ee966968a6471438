"""Routes of a candidate: where each stream enters, which way it goes, where it ends."""

import pytest
from grids import candidate, matvec

from tilewright.simulator.lowering.lower import lower
from tilewright.simulator.lowering.route import input_color, input_edge
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area


def program(**choices: str | int) -> Program:
    return lower(candidate(matvec(8, 12), 3, 2, **choices)).program


def routes(found: Program, color: str) -> list[tuple[Area, object, object]]:
    return [(route.area, route.rx, route.tx) for route in found.routes if route.color == color]


def test_names() -> None:
    assert (input_color("x"), input_edge("x")) == ("in_x", "edge_x")


@pytest.mark.parametrize(
    ("shard_x", "shard_y", "side", "positions"),
    [("k", "m", "N", 3), ("m", "k", "W", 2)],
)
def test_the_vector_enters_along_the_split_of_k(
    shard_x: str, shard_y: str, side: str, positions: int
) -> None:
    """Split over columns it comes down them, split over rows along them; 12 / parts words each."""
    found = program(shard_x=shard_x, shard_y=shard_y) if shard_x == "k" else None
    if found is None:
        found = lower(candidate(matvec(9, 12), 3, 2, shard_x=shard_x, shard_y=shard_y)).program
    (port,) = found.edge_inputs
    assert (port.side, port.first, port.positions) == (side, 0, positions)
    assert port.count == 12 // positions


def test_a_multicast_down_three_columns() -> None:
    found = program(shard_x="k", shard_y="m")
    through, end = sorted(routes(found, port_color(found)), key=lambda route: route[0].row)
    assert through[0] == Area(0, 0, 1, 3)
    assert end[0] == Area(1, 0, 1, 3)
    assert set("".join(through[2])) == set("SR")
    assert set("".join(end[2])) == {"R"}


def port_color(found: Program) -> str:
    (port,) = found.edge_inputs
    return port.color


def test_sums_go_east_and_leave_there() -> None:
    """The output is split over rows, so each row's sum leaves at the east edge."""
    found = program(shard_x="k", shard_y="m")
    (port,) = found.edge_outputs
    assert (port.name, port.side, port.positions, port.count) == ("out", "E", 2, 4)
    assert routes(found, "out")[0][0] == Area(0, 2, 2, 1)
    first, second = routes(found, "sum0a")
    assert (first[0], second[0]) == (Area(0, 0, 2, 1), Area(0, 1, 2, 1))
