"""Checks of tasks and instructions on teardowns of colors."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from tilewright.simulator.check.validate_special import check_steering
from tilewright.simulator.isa.machine_errors import ErrorSubject, ProgramError
from tilewright.simulator.program.instructions import instructions
from tilewright.simulator.program.program import (
    ElementCode,
    EndTeardown,
    Program,
    Reconfigure,
    Task,
)
from tilewright.simulator.program.routes import PORTS, Area, Route


def check_teardowns(program: Program, code: ElementCode) -> None:
    """Refuse tasks and instructions on teardowns of colors, and changes, that cannot be.

    Raises ProgramError.
    """
    for task in code.tasks:
        if task.teardown is not None:
            with ErrorSubject(task):
                _check_task(code, task, {route.color for route in program.routes})
    for task, instruction in instructions(code):
        if isinstance(instruction, EndTeardown | Reconfigure):
            with ErrorSubject(instruction):
                _check_instruction(program, code, instruction, task)


def _check_instruction(
    program: Program, code: ElementCode, instruction: EndTeardown | Reconfigure, task: Task
) -> None:
    where = f"code {code.name}, task {task.name}"
    if isinstance(instruction, EndTeardown):
        _check_end_teardown(program, code, instruction, where)
    else:
        _check_reconfigure(program, code, instruction, where)


def _check_task(code: ElementCode, task: Task, routed: Container[str]) -> None:
    if not task.is_local or task.teardown not in routed:
        raise ProgramError(
            f"code {code.name}, task {task.name}: only a local task can follow a teardown, of a "
            "routed color",
            value=task.teardown,
        )
    first = next(other for other in code.tasks if other.teardown == task.teardown)
    if first is not task:
        raise ProgramError(f"code {code.name}: two tasks for the teardown of color {task.teardown}")


def _check_end_teardown(
    program: Program, code: ElementCode, instruction: EndTeardown, where: str
) -> None:
    routes = [route for route in program.routes if route.color == instruction.color]
    if not routes:
        raise ProgramError(f"{where}: teardown of an unrouted color", value=instruction.color)
    position = instruction.position
    later = (i for _, i in instructions(code) if isinstance(i, Reconfigure))
    changes = [i.route(routes[0]) for i in later]
    most = max(len(route.directions()) for route in (*routes, *changes))
    if position is not None and not 0 <= position < most:
        raise ProgramError(f"{where}: no such switch position of the color", value=position)


def _check_reconfigure(
    program: Program, code: ElementCode, change: Reconfigure, where: str
) -> None:
    where = f"{where}, reconfigure {change.color}:"
    bad = [port for port in (*change.rx, *change.tx) if port not in PORTS]
    if bad or not change.rx or not change.tx:
        raise ProgramError(f"{where} rx and tx need ports N E S W R", value=(change.rx, change.tx))
    check_steering(change.route(Route(change.color, Area(0, 0), change.rx, change.tx)), where)
    routed = np.zeros(program.placement.shape, dtype=bool)
    for route in program.routes:
        if route.color == change.color:
            area = route.area
            rows = slice(area.row, area.row + area.height)
            routed[rows, area.column : area.column + area.width] = True
    lost = np.argwhere((program.placement == program.codes.index(code)) & ~routed)
    if lost.size:
        raise ProgramError(
            f"{where} element {tuple(lost[0].tolist())} has no route of the color to change",
            instead="a route there, which may start torn down",
        )
