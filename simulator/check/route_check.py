"""Checks of routes, of what steers them, and of edge ports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.simulator.check.limits import check_number, unknown_name
from tilewright.simulator.isa.machine_errors import ErrorSubject, ProgramError
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import (
    POP_MODES,
    PORTS,
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

MAX_STREAM: Final = 1 << 27
"""Wavelets of one edge port; the engine holds them all, 16 bytes each."""

MAX_FILTER_COUNT: Final = 0xFFFF
"""Wavelets up to which the counter of a router's filter counts."""


def check_routes_and_ports(program: Program, colors: frozenset[str]) -> None:
    """Check that routes and edge ports lie in the grid and use declared colors and legal settings.

    `colors`: names of the program's colors. Raises ProgramError.
    """
    for route in program.routes:
        with ErrorSubject(route):
            _check_route(program, route, colors)
    for output in program.edge_outputs:
        _check_port(program, output, colors)
        check_number(f"edge port {output.name}", output.interval * output.count)
        if output.interval < 1:
            raise ProgramError(
                f"edge port {output.name}: interval at least 1", value=output.interval
            )
    for port in program.edge_inputs:
        _check_port(program, port, colors)
        check_number(f"edge port {port.name}", port.interval * port.count + port.start)
        if port.interval < 1 or port.start < 0:
            raise ProgramError(
                f"edge port {port.name}: interval at least 1, start at least 0",
                value=(port.interval, port.start),
            )


def check_steering(route: Route, place: str) -> None:
    """Check the switch and the filter of a route: positions, ports and limits.

    `place` begins the message. Raises ProgramError.
    """
    if route.switch is not None:
        _check_switch(route.switch, place)
    if route.filter is None:
        return
    if isinstance(route.filter, RangeFilter):
        _check_range(route.filter, place)
    else:
        _check_counter(route.filter, place)
    if not any("R" in (position.tx or ()) for position in route.directions()):
        raise ProgramError(f"{place} a filter works at the ramp, but no position sends to R")


def _check_switch(switch: Switch, place: str) -> None:
    if not 1 <= len(switch.positions) <= 3:
        raise ProgramError(
            f"{place} a switch has one to three positions beside the route",
            value=len(switch.positions),
        )
    if not 0 <= switch.current <= len(switch.positions):
        raise ProgramError(f"{place} no such switch position", value=switch.current)
    if switch.pop not in POP_MODES:
        raise ProgramError(
            f"{place} unknown pop mode", value=switch.pop, instead=", ".join(POP_MODES)
        )
    if switch.current and switch.positions[switch.current - 1] == Position():
        raise ProgramError(f"{place} the switch starts at an invalid position")
    for number, position in enumerate(switch.positions, 1):
        _check_position(position, f"{place} switch position {number}")


def _check_position(position: Position, place: str) -> None:
    ports = (*(position.rx or ()), *(position.tx or ()))
    if any(port not in PORTS for port in ports):
        raise ProgramError(f"{place} needs ports N E S W R", value=ports)
    if position.rx is not None and len(position.rx) != 1:
        raise ProgramError(f"{place} takes from one port", value=position.rx)


def _check_range(chosen: RangeFilter, place: str) -> None:
    if not 0 <= chosen.low <= chosen.high <= 0xFFFF:
        raise ProgramError(
            f"{place} a range filter needs 0 <= low <= high <= 65535",
            value=(chosen.low, chosen.high),
        )


def _check_counter(chosen: CounterFilter, place: str) -> None:
    limits = [chosen.limit, chosen.limit if chosen.other_limit is None else chosen.other_limit]
    most = MAX_FILTER_COUNT
    if min(limits) < 1 or max(limits) > most or not 0 <= chosen.most <= most:
        raise ProgramError(
            f"{place} a counter filter needs limits in 1..65535 and most in 0..65535",
            value=(limits, chosen.most),
        )
    if not 0 <= chosen.start < min(limits):
        raise ProgramError(f"{place} a filter's counter starts below its limit", value=chosen.start)
    if chosen.filter_control and chosen.is_sparse:
        raise ProgramError(f"{place} a sparse counter has no filter_control")


def route_place(route: Route) -> str:
    """Return the words that name a route at the start of a message: color and area."""
    return f"route of color {route.color} in {route.area}:"


def _are_ports(ports: Sequence[str]) -> bool:
    """Return whether there are ports, and no other words among them."""
    return bool(ports) and all(port in PORTS for port in ports)


def _check_route(program: Program, route: Route, colors: frozenset[str]) -> None:
    if route.color not in colors:
        raise unknown_name(route_place(route), "color", route.color, colors)
    if not _are_ports(route.rx) or not _are_ports(route.tx):
        raise ProgramError(
            f"{route_place(route)} rx and tx need ports N E S W R", value=(route.rx, route.tx)
        )
    if route.switch is not None or route.filter is not None:
        check_steering(route, route_place(route))
    if route.swap:
        _check_swap(program, route, route_place(route))
    if not is_inside(route.area, (program.height, program.width)):
        raise ProgramError(f"{route_place(route)} outside the grid", value=program.placement.shape)


def is_inside(area: Area, shape: tuple[int, int]) -> bool:
    """Return whether an area has elements, all in a grid of so many rows and columns."""
    lowest = min(area.row, area.column, area.height - 1, area.width - 1)
    row_end, column_end = area.ends
    has_steps = min(area.row_step, area.column_step) >= 1
    return lowest >= 0 and has_steps and row_end <= shape[0] and column_end <= shape[1]


def _check_swap(program: Program, route: Route, place: str) -> None:
    if route.swap not in SWAPS:
        raise ProgramError(f"{place} a swap is x, y or xy", value=route.swap)
    ids = {color.name: color.id for color in program.colors}
    if ids[route.color] ^ 1 not in ids.values():
        raise ProgramError(
            f"{place} a swap needs the color with the id that differs in the lowest bit",
            value=ids[route.color] ^ 1,
        )


def _check_port(program: Program, port: EdgeInput | EdgeOutput, colors: frozenset[str]) -> None:
    place = f"edge port {port.name}:"
    if port.color not in colors:
        raise unknown_name(place, "color", port.color, colors)
    if port.side not in PORTS[:4]:
        raise ProgramError(f"{place} the side is not N, E, S or W", value=port.side)
    if port.dtype not in DTYPES:
        raise unknown_name(place, "dtype", port.dtype, DTYPES)
    length = program.width if port.side in "NS" else program.height
    if port.first < 0 or port.positions < 1 or port.first + port.positions > length:
        raise ProgramError(f"{place} positions outside the side", value=length)
    if port.count < 1:
        raise ProgramError(f"{place} the count is not positive", value=port.count)
    if port.count * port.positions > MAX_STREAM:
        raise ProgramError(f"{place} more than {MAX_STREAM} wavelets", value=port.count)
