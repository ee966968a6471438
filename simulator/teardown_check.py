"""Checks of tasks and instructions on teardowns of colors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tilewright.simulator.errors import ProgramError
from tilewright.simulator.program import ElementCode, EndTeardown, If, Instruction, Loop, Program


def check_teardowns(program: Program, code: ElementCode) -> None:
    """Refuse tasks and instructions on teardowns of colors that cannot be torn down.

    Raises ProgramError.
    """
    routed = {route.color for route in program.routes}
    names = [task.teardown for task in code.tasks if task.teardown is not None]
    for name, times in Counter(names).items():
        if times > 1:
            raise ProgramError(f"code {code.name}: two tasks for the teardown of color {name}")
    for task in code.tasks:
        where = f"code {code.name}, task {task.name}"
        if task.teardown is not None and (not task.is_local or task.teardown not in routed):
            raise ProgramError(
                f"{where}: only a local task can follow a teardown, of a routed color",
                value=task.teardown,
            )
        for instruction in _instructions(task.body):
            if isinstance(instruction, EndTeardown):
                _check_end_teardown(program, instruction, where)


def _check_end_teardown(program: Program, instruction: EndTeardown, where: str) -> None:
    routes = [route for route in program.routes if route.color == instruction.color]
    if not routes:
        raise ProgramError(f"{where}: teardown of an unrouted color", value=instruction.color)
    position = instruction.position
    most = max(len(route.directions()) for route in routes)
    if position is not None and not 0 <= position < most:
        raise ProgramError(f"{where}: no such switch position of the color", value=position)


def _instructions(body: tuple[Instruction, ...]) -> Iterator[Instruction]:
    for instruction in body:
        yield instruction
        if isinstance(instruction, Loop):
            yield from _instructions(instruction.body)
        elif isinstance(instruction, If):
            yield from _instructions((*instruction.then, *instruction.otherwise))
