"""The transposed program: rows and columns of the grid exchanged, north with west, south with east.

It takes the same cycles where each route takes its wavelets from one port (theory/engines.md §16).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeVar

from tilewright.simulator.program.code_parts import all_instructions
from tilewright.simulator.program.instruction import Instruction
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import EdgeInput, EdgeOutput, Route

_PORTS: Final = {"N": "W", "W": "N", "S": "E", "E": "S", "R": "R"}
Port = TypeVar("Port", EdgeInput, EdgeOutput)


def transposed(program: Program) -> Program:
    """Return a program with rows and columns exchanged: what element (r, c) did, (c, r) does.

    Raises ValueError if a route takes from several ports, has a switch or a swap of colors, or is
    changed by a code: there the order of the ports can decide.
    """
    changes = [i for code in program.codes for _, i in all_instructions(code) if _changes_routes(i)]
    if changes:
        raise ValueError("a code changes routes")
    return replace(
        program,
        placement=program.placement.T.copy(),
        routes=tuple(_route(route) for route in program.routes),
        edge_inputs=tuple(_port(port) for port in program.edge_inputs),
        edge_outputs=tuple(_port(port) for port in program.edge_outputs),
    )


def _changes_routes(instruction: Instruction) -> bool:
    return hasattr(instruction, "route")


def _route(route: Route) -> Route:
    if route.switch is not None or route.swap or len(route.rx) > 1:
        raise ValueError(f"the route of {route.color} at {route.area} takes from several ports")
    return replace(
        route,
        area=route.area.transposed,
        rx=tuple(_PORTS[port] for port in route.rx),
        tx=tuple(_PORTS[port] for port in route.tx),
    )


def _port(port: Port) -> Port:
    return replace(port, side=_PORTS[port.side])
