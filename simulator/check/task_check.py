"""Checks of tasks: what starts them, their arguments, and the queues that they follow."""

from __future__ import annotations

from collections.abc import Container

from tilewright.simulator.check.counter_types import check_value_types
from tilewright.simulator.instructions.queue_changes import BindQueue
from tilewright.simulator.isa.machine_errors import ErrorSubject, ProgramError
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.program.code_parts import all_instructions
from tilewright.simulator.program.program import ElementCode, Program, Task


def check_tasks(code: ElementCode) -> None:
    """Check what starts the tasks of a code, and their arguments.

    Raises ProgramError, for example if two tasks share an input queue or an entry number.
    """
    bound = {queue.id for queue in code.input_queues}
    for task in code.tasks:
        with ErrorSubject(task):
            _check_task(task, bound, f"code {code.name}, task {task.name}")
    for binding, numbers in (
        ("input queue", [task.queue for task in code.tasks]),
        ("entry", [task.control for task in code.tasks]),
    ):
        for later, number in enumerate(numbers):
            if number is not None and number in numbers[:later]:
                with ErrorSubject(code.tasks[later]):
                    raise ProgramError(
                        f"code {code.name}: {binding} {number} is bound to two tasks"
                    )


def _check_task(task: Task, bound: Container[int], place: str) -> None:
    if task.queue is not None and task.control is not None:
        raise ProgramError(f"{place}: a data task or a control task, not both")
    if task.queue is not None and task.queue not in bound:
        raise ProgramError(
            f"{place}: input queue {task.queue} is not bound to a color", value=task.queue
        )
    if task.control is not None and not 0 <= task.control < 64:
        raise ProgramError(
            f"{place}: the entry of a control task is outside 0..63", value=task.control
        )
    if task.entry and not task.is_local:
        raise ProgramError(f"{place}: only a local task can be active from the start")
    _check_arguments(task, place)
    check_value_types(dict(task.arguments), task.body, place)


def _check_arguments(task: Task, place: str) -> None:
    if any(len(argument) != 2 for argument in task.arguments):
        raise ProgramError(f"{place}: an argument is a counter and a dtype", value=task.arguments)
    for _, dtype in task.arguments:
        if dtype not in DTYPES:
            raise ProgramError(f"{place}: unknown dtype of an argument", value=dtype)
    if task.is_local and task.arguments:
        raise ProgramError(f"{place}: a local task has no arguments")
    words = sum(DTYPES[dtype] for _, dtype in task.arguments)
    if words > (1 if task.control is not None else 2):
        raise ProgramError(
            f"{place}: the arguments need more bits than a wavelet gives",
            value=16 * words,
            instead="16 for a control task, 32 for a data task",
        )


def check_empty_handlers(code: ElementCode) -> None:
    """Check the tasks that a queue's emptying activates: local, and at most one per queue.

    Raises ProgramError.
    """
    _check_one_handler(code, "input", [task.empty_input for task in code.tasks])
    _check_one_handler(code, "output", [task.empty_output for task in code.tasks])
    for task in code.tasks:
        follows_queue = task.empty_input is not None or task.empty_output is not None
        if follows_queue and not task.is_local:
            with ErrorSubject(task):
                raise ProgramError(
                    f"code {code.name}, task {task.name}: only a local task follows a queue's "
                    "emptying"
                )


def _check_one_handler(code: ElementCode, side: str, queues: list[int | None]) -> None:
    for later, queue in enumerate(queues):
        if queue is not None and queue in queues[:later]:
            with ErrorSubject(code.tasks[later]):
                raise ProgramError(
                    f"code {code.name}: two tasks follow the emptying of {side} queue {queue}"
                )


def check_one_queue_per_color(code: ElementCode) -> None:
    """Check that no two input queues ever share a color: the router could not choose.

    Bindings made while the program runs count too. Raises ProgramError.
    """
    queue_of = {queue.color: queue.id for queue in code.input_queues}
    for _, change in all_instructions(code):
        if not isinstance(change, BindQueue) or change.output:
            continue
        first_queue = queue_of.setdefault(change.color, change.queue)
        if first_queue != change.queue:
            with ErrorSubject(change):
                raise ProgramError(
                    f"code {code.name}: color {change.color} is bound to input queue "
                    f"{first_queue} and later to input queue {change.queue}",
                    instead="one input queue per color",
                )


def check_teardown_tasks(program: Program, code: ElementCode) -> None:
    """Check the tasks that a color's teardown activates: local, the color routed, one per color.

    Raises ProgramError.
    """
    routed = {route.color for route in program.routes}
    for task in code.tasks:
        if task.teardown is not None:
            with ErrorSubject(task):
                _check_teardown(code, task, routed)


def _check_teardown(code: ElementCode, task: Task, routed: Container[str]) -> None:
    if not task.is_local or task.teardown not in routed:
        raise ProgramError(
            f"code {code.name}, task {task.name}: only a local task can follow a teardown, of a "
            "routed color",
            value=task.teardown,
        )
    first_task = next(follower for follower in code.tasks if follower.teardown == task.teardown)
    if first_task is not task:
        raise ProgramError(f"code {code.name}: two tasks for the teardown of color {task.teardown}")
