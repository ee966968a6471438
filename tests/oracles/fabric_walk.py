"""Words followed through the routes of a program, one at a time: slow and obvious."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import CounterFilter, Route

Place = tuple[int, int]
SIDES = {"N": (-1, 0), "E": (0, 1), "S": (1, 0), "W": (0, -1)}
FACING = {"N": "S", "E": "W", "S": "N", "W": "E", "R": "R"}


@dataclass
class Way:
    """Where one word went: elements that got it, (side, element) where it left, links crossed."""

    received: list[Place] = field(default_factory=list)
    left: list[tuple[str, Place]] = field(default_factory=list)
    hops: int = 0


def way_of(program: Program, color: str, place: Place, port: str) -> Way:
    """Follow a word of a color from the port of the router at which it arrives, filters left out.

    Raises AssertionError if a router on the way does not take it, or the way is a circle.
    """
    routes = {
        (row, column): route
        for route in program.routes
        if route.color == program_color(program, color)
        for row in route.area.rows
        for column in route.area.columns
    }
    way, waiting = Way(), [(place, port)]
    while waiting:
        (row, column), side = waiting.pop()
        route = routes.get((row, column))
        assert route is not None, f"no route of {color} at {(row, column)}"
        assert side in route.rx, f"{color} at {(row, column)} takes nothing from {side}"
        for target in route.tx:
            if target == "R":
                way.received.append((row, column))
                continue
            down, right = SIDES[target]
            beyond = row + down, column + right
            if 0 <= beyond[0] < program.height and 0 <= beyond[1] < program.width:
                way.hops += 1
                assert way.hops <= program.height * program.width, "a circle"
                waiting.append((beyond, FACING[target]))
            else:
                way.left.append((target, (row, column)))
    return way


def program_color(program: Program, color: str) -> str:
    """Return the name of a color; AssertionError if the program has none of that name."""
    assert color in {c.name for c in program.colors}, color
    return color


def routes_at(program: Program, color: str, place: Place) -> list[Route]:
    """Return all routes of a color at an element: one, or none."""
    return [r for r in program.routes if r.color == color and r.area.holds(*place)]


def passes(words: int, only: CounterFilter | None) -> list[int]:
    """Return the numbers of the words that a filter lets pass, by counting them."""
    if only is None:
        return list(range(words))
    passed, counter = [], only.start
    for word in range(words):
        if counter < only.most:
            passed.append(word)
        counter = (counter + 1) % only.limit
    return passed
