"""Checks of queues that change their color, of flushes, and of microthreads that are blocked."""

from __future__ import annotations

from tilewright.simulator.isa.machine_errors import ErrorSubject, ProgramError
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.instructions import instructions
from tilewright.simulator.program.program import (
    BindQueue,
    BlockMicrothread,
    ElementCode,
    Flush,
    Task,
)


def check_queue_changes(code: ElementCode, colors: frozenset[str]) -> None:
    """Refuse changes of queues that a code does not have. Raises ProgramError."""
    _check_handlers(code)
    for task, change in _changes(code):
        with ErrorSubject(change):
            _check_change(code, change, colors, f"code {code.name}, task {task.name}")
    _check_one_queue_per_color(code)


def _check_change(
    code: ElementCode,
    change: BindQueue | Flush | BlockMicrothread,
    colors: frozenset[str],
    where: str,
) -> None:
    if isinstance(change, BindQueue):
        _check_bound(code, change, where)
        if change.color not in colors:
            raise ProgramError(f"{where}: unknown color", value=change.color)
    elif isinstance(change, Flush):
        _check_bound(code, change, where)
        if (change.queue, change.output) not in _handled(code):
            raise ProgramError(
                f"{where}: no task follows the emptying of {_name(change)}",
                instead="a task with empty_input or empty_output",
            )


def check_queue_resources(code: ElementCode, profile: Profile) -> None:
    """Refuse flushes and blocked microthreads that a profile does not have. Raises ProgramError."""
    for task, change in _changes(code):
        with ErrorSubject(change):
            _check_resource(change, profile, f"code {code.name}, task {task.name}")


def _check_resource(
    change: BindQueue | Flush | BlockMicrothread, profile: Profile, where: str
) -> None:
    if isinstance(change, Flush) and not profile.queue_flush:
        raise ProgramError(f"{where}: {profile.name} has no flush of queues", value=change.queue)
    if not isinstance(change, BlockMicrothread):
        return
    if not profile.explicit_microthread:
        raise ProgramError(
            f"{where}: {profile.name} does not block microthreads", value=change.microthread
        )
    if not 0 <= change.microthread < profile.microthreads:
        raise ProgramError(
            f"{where}: no such microthread",
            value=change.microthread,
            instead=f"0 to {profile.microthreads - 1}",
        )


def _changes(code: ElementCode) -> list[tuple[Task, BindQueue | Flush | BlockMicrothread]]:
    kinds = BindQueue | Flush | BlockMicrothread
    return [(task, one) for task, one in instructions(code) if isinstance(one, kinds)]


def _handled(code: ElementCode) -> list[tuple[int, bool]]:
    """Return the queues (number, output) whose emptying a task follows."""
    inputs = [(task.empty_input, False) for task in code.tasks]
    outputs = [(task.empty_output, True) for task in code.tasks]
    return [(queue, output) for queue, output in inputs + outputs if queue is not None]


def _check_handlers(code: ElementCode) -> None:
    for kind, queues in (
        ("input", [task.empty_input for task in code.tasks]),
        ("output", [task.empty_output for task in code.tasks]),
    ):
        for later, queue in enumerate(queues):
            if queue is not None and queue in queues[:later]:
                with ErrorSubject(code.tasks[later]):
                    raise ProgramError(
                        f"code {code.name}: two tasks follow the emptying of {kind} queue {queue}"
                    )
    for task in code.tasks:
        follows = task.empty_input is not None or task.empty_output is not None
        if follows and not task.is_local:
            with ErrorSubject(task):
                raise ProgramError(
                    f"code {code.name}, task {task.name}: only a local task follows a queue's "
                    "emptying"
                )


def _check_bound(code: ElementCode, change: BindQueue | Flush, where: str) -> None:
    queues = code.output_queues if change.output else code.input_queues
    if change.queue not in {queue.id for queue in queues}:
        raise ProgramError(f"{where}: {_name(change)} is not bound to a color", value=change.queue)


def _check_one_queue_per_color(code: ElementCode) -> None:
    """Refuse input queues that share a color: a router would not know where its words go."""
    used: dict[str, int] = {queue.color: queue.id for queue in code.input_queues}
    for _, change in _changes(code):
        if isinstance(change, BindQueue) and not change.output:
            other = used.setdefault(change.color, change.queue)
            if other != change.queue:
                with ErrorSubject(change):
                    raise ProgramError(
                        f"code {code.name}: color {change.color} is bound to input queue {other} "
                        f"and later to input queue {change.queue}",
                        instead="one input queue per color",
                    )


def _name(change: BindQueue | Flush) -> str:
    return f"{'output' if change.output else 'input'} queue {change.queue}"
