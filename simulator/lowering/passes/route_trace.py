"""The check of the routes: what a router sends goes to a router, an element or over the border.

It follows the directions of all routers, color by color, and does not simulate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tilewright.simulator.lowering.passes.pass_checks import fail
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import OPPOSITE, PORTS, RAMP, STEP, EdgeInput, EdgeOutput

Bools = npt.NDArray[np.bool_]


def check_routes(program: Program) -> str:
    """Check that routers, elements and borders hand words on to each other; return the sentence.

    Raises PassError with the color and the first element where they do not.
    """
    codes = {code.name: number for number, code in enumerate(program.codes)}
    for color in program.colors:
        takes, sends = _directions(program, color.name)
        for queues, ramp in (("input_queues", sends[RAMP]), ("output_queues", takes[RAMP])):
            users = [
                codes[code.name]
                for code in program.codes
                if any(queue.color == color.name for queue in getattr(code, queues))
            ]
            _agree(color.name, ramp, np.isin(program.placement, users), "an element")
        for port in range(RAMP):
            goes, comes = (
                _border(program, ports, color.name, PORTS[port])
                for ports in (program.edge_outputs, program.edge_inputs)
            )
            _agree(color.name, sends[port], _neighbours(takes, port) | goes, "a neighbour")
            _agree(color.name, takes[port], _neighbours(sends, port) | comes, "a neighbour")
    return f"{len(program.colors)} colors: every router hands on to one that takes"


def _directions(program: Program, color: str) -> tuple[Bools, Bools]:
    """Return by which ports the routers take and send a color: (5, rows, columns) each.

    Those of all positions of their switches.
    """
    takes = np.zeros((5, program.height, program.width), dtype=bool)
    sends = takes.copy()
    for route in program.routes:
        if route.color == color:
            rows, columns = route.area.places
            for position in route.directions():
                for directions, ports in ((takes, position.rx), (sends, position.tx)):
                    for port in ports or ():
                        directions[PORTS.index(port), rows, columns] = True
    return takes, sends


def _neighbours(directions: Bools, port: int) -> Bools:
    """Return of each element what its neighbour at a port does at the port towards it."""
    there: Bools = np.zeros_like(directions[0])
    down, right = STEP[port][0], STEP[port][1]
    rows, columns = there.shape[0], there.shape[1]
    inner = np.s_[max(0, -down) : rows - max(0, down), max(0, -right) : columns - max(0, right)]
    outer = np.s_[max(0, down) : rows - max(0, -down), max(0, right) : columns - max(0, -right)]
    there[inner] = directions[OPPOSITE[port]][outer]
    return there


def _border(
    program: Program, ports: Sequence[EdgeInput | EdgeOutput], color: str, side: str
) -> Bools:
    """Return at which elements words of a color pass the border on a side by some of its ports."""
    passed = np.zeros((program.height, program.width), dtype=bool)
    line = {"N": 0, "W": 0, "S": program.height - 1, "E": program.width - 1}[side]
    for port in ports:
        if port.color == color and port.side == side:
            along = slice(port.first, port.first + port.positions)
            passed[(line, along) if side in "NS" else (along, line)] = True
    return passed


def _agree(color: str, words: Bools, partners: Bools, whom: str) -> None:
    """Raise PassError where a router and its partner do not both move words of a color."""
    wrong = np.argwhere(words != partners)
    if wrong.size:
        row, column = wrong[0].tolist()
        raise fail("route", f"color {color} at ({row}, {column}): {whom} disagrees")
