"""Instructions on the element's router: end a teardown, give a torn-down color another route."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tilewright.simulator.check.route_check import check_steering
from tilewright.simulator.compile import columns as at
from tilewright.simulator.instructions.kind import BodyParser, Encoder, Kind, ProgramContext
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.code_parts import all_instructions
from tilewright.simulator.program.instruction import Instruction
from tilewright.simulator.program.program import ElementCode
from tilewright.simulator.program.routes import (
    PORTS,
    Area,
    CounterFilter,
    RangeFilter,
    Route,
    Switch,
)
from tilewright.simulator.text.route_text import parse_route_settings, route_text
from tilewright.simulator.text.tokens import Line, print_name


@dataclass(frozen=True, slots=True)
class EndTeardown(Instruction):
    """Let a torn-down color move again at this element's router.

    `color`: its name; `position`: the switch position to go on at, None for the present one.
    """

    color: str
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Reconfigure(Instruction):
    """Give a torn-down color at this element's router another route, switch and filter.

    `rx`, `tx`: ports (N E S W R) to take from and send to. A switch or filter that is not given
    (None) is removed; words that wait at the router go by the new route.
    """

    color: str
    rx: tuple[str, ...]
    tx: tuple[str, ...]
    switch: Switch | None = None
    filter: CounterFilter | RangeFilter | None = None

    def route(self, before: Route) -> Route:
        """Return the route `before` with the new ports, switch and filter."""
        changed = {"rx": self.rx, "tx": self.tx, "switch": self.switch, "filter": self.filter}
        return replace(before, **changed)  # type: ignore[arg-type]

    def alone(self) -> Route:
        """Return the new route as a `Route` of one element, with the area (0, 0), for checks."""
        return self.route(Route(self.color, Area(0, 0), self.rx, self.tx))


def route_changes(code: ElementCode) -> list[Reconfigure]:
    """Return the instructions of a code that change routes, in text order."""
    return [change for _, change in all_instructions(code) if isinstance(change, Reconfigure)]


def _parse_end(line: Line, _: BodyParser) -> EndTeardown:
    color = line.name("a color")
    return EndTeardown(color, line.integer("a position") if line.has("position") else None)


def _end_text(change: EndTeardown) -> str:
    position = "" if change.position is None else f" position {change.position}"
    return f"end_teardown {print_name(change.color)}{position}"


def _check_end(change: EndTeardown, context: ProgramContext) -> None:
    routes = [route for route in context.program.routes if route.color == change.color]
    if not routes:
        raise ProgramError(f"{context.place}: teardown of an unrouted color", value=change.color)
    position = change.position
    later_routes = [later.route(routes[0]) for later in route_changes(context.code)]
    positions = max(len(route.directions()) for route in (*routes, *later_routes))
    if position is not None and not 0 <= position < positions:
        raise ProgramError(f"{context.place}: no such switch position of the color", value=position)


def _encode_end(change: EndTeardown, encoder: Encoder) -> None:
    position = -1 if change.position is None else change.position
    encoder.emit(at.I_END_TEARDOWN, encoder.colors[change.color], position)


END_TEARDOWN: Final = Kind(
    record=EndTeardown,
    words={"end_teardown": _parse_end},
    text=_end_text,
    check_program=_check_end,
    encode=_encode_end,
)


def _parse_reconfigure(line: Line, _: BodyParser) -> Reconfigure:
    color = line.name("a color's name")
    return Reconfigure(color, *parse_route_settings(line))


def _check_reconfigure(change: Reconfigure, context: ProgramContext) -> None:
    place = f"{context.place}, reconfigure {change.color}:"
    bad_ports = [port for port in (*change.rx, *change.tx) if port not in PORTS]
    if bad_ports or not change.rx or not change.tx:
        raise ProgramError(f"{place} rx and tx need ports N E S W R", value=(change.rx, change.tx))
    check_steering(change.alone(), place)
    _check_routed(change, context, place)


def _check_routed(change: Reconfigure, context: ProgramContext, place: str) -> None:
    """Refuse a change at an element that has no route of the color."""
    program = context.program
    routed = np.zeros(program.placement.shape, dtype=bool)
    for route in program.routes:
        if route.color == change.color:
            routed[route.area.places] = True
    unrouted = (program.placement == program.codes.index(context.code)) & ~routed
    elements = np.argwhere(unrouted)
    if elements.size:
        raise ProgramError(
            f"{place} element {tuple(elements[0].tolist())} has no route of the color to change",
            instead="a route there, which may start torn down",
        )


def _encode_reconfigure(change: Reconfigure, encoder: Encoder) -> None:
    color = encoder.colors[change.color]
    changes = encoder.fabric.routes.setdefault(change.color, [])
    if change not in changes:
        changes.append(change)
    encoder.emit(at.I_RECONFIGURE, color, changes.index(change))


RECONFIGURE: Final = Kind(
    record=Reconfigure,
    words={"reconfigure": _parse_reconfigure},
    text=lambda change: f"reconfigure {print_name(change.color)} {route_text(change.alone())}",
    check_program=_check_reconfigure,
    encode=_encode_reconfigure,
)
