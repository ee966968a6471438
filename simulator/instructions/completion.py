"""What happens at the end of an asynchronous operation: a task is activated or unblocked.

Also what a control wavelet does that ends it. Operations on descriptors and loads of registers have
these properties in common. A target is a task's name; `queue:2` or `color:x` stand for the data
task that the wavelets of this input queue, or of the queue of this color, start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.simulator.check.limits import unknown_name
from tilewright.simulator.compile import columns as at
from tilewright.simulator.instructions.kind import Encoder
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.instruction import DsdOperation, LoadRegister, OnControl
from tilewright.simulator.program.program import ElementCode, Task
from tilewright.simulator.text.tokens import Line, Properties, flag, print_name


def parse_target(line: Line) -> str:
    """Return the target that stands next on a line: `later`, `queue:2` or `color:x`.

    Raises ProgramError with the column.
    """
    name = line.name("a task")
    if name not in ("queue", "color") or not line.has(":"):
        return name
    if name == "queue":
        return f"queue:{line.integer('an input queue')}"
    return f"color:{line.name('a color')}"


def target_text(code_target: str) -> str:
    """Return a target as it stands in a program's text."""
    kind, mark, which = code_target.partition(":")
    if mark and kind in ("queue", "color"):
        return f"{kind}:{which if kind == 'queue' else print_name(which)}"
    return print_name(code_target)


def target_task(code: ElementCode, target: str) -> Task | None:
    """Return the task of a code that a target means, None if there is none."""
    kind, _, which = target.partition(":")
    if kind == "color":
        bound = (str(queue.id) for queue in code.input_queues if queue.color == which)
        kind, which = "queue", next(bound, "")
    for task in code.tasks:
        if task.name == target or (kind == "queue" and str(task.queue) == which):
            return task
    return None


def task_number(encoder: Encoder, target: str) -> int:
    """Return the number of the task that a target means, in the code of an encoder.

    The code must have the task: it is checked before.
    """
    task = target_task(encoder.code, target)
    assert task is not None
    return encoder.tasks[task.name]


def check_task_name(code: ElementCode, place: str, name: str) -> None:
    """Raise ProgramError if a code has no task that a target means; `place` begins the message."""
    if target_task(code, name) is None:
        raise unknown_name(place, "task", name, (task.name for task in code.tasks))


def check_targets(code: ElementCode, activate: str | None, unblock: str | None, place: str) -> None:
    """Check that a task to activate is a local task, and a task to unblock no control task.

    `place` names the operation or load in the error; None and unknown names pass. Raises
    ProgramError.
    """
    activated = target_task(code, activate) if activate else None
    if activated is not None and not activated.is_local:
        raise ProgramError(
            f"{place}: only a local task is activated",
            value=activate,
            instead="a task without queue and control",
        )
    unblocked = target_task(code, unblock) if unblock else None
    if unblocked is not None and unblocked.control is not None:
        raise ProgramError(
            f"{place}: a control task is not unblocked by an operation",
            value=unblock,
            instead="a data task or a local task",
        )


def check_machine_targets(targets: Sequence[str | None], profile: Profile, place: str) -> None:
    """Check that a machine can block and unblock targets as they are named: by queue, or by color.

    None is passed over. Raises ProgramError, which begins with `place`.
    """
    foreign = "color:" if profile.unblocks_queues else "queue:"
    for target in targets:
        if target is not None and target.startswith(foreign):
            named = "input queues" if profile.unblocks_queues else "colors"
            raise ProgramError(
                f"{place}: {profile.name} unblocks tasks and {named}",
                value=target,
                instead="queue:2" if profile.unblocks_queues else "color:x",
            )


_CODES: Final = {
    "terminate": at.CONTROL_ENDS,
    "activate": at.CONTROL_ACTIVATES,
    "unblock": at.CONTROL_UNBLOCKS,
}


def _parse_on_control(line: Line) -> OnControl:
    action = line.choose(tuple(_CODES), "on_control")
    return OnControl(action, None if action == "terminate" else parse_target(line))


COMPLETION_PROPERTIES: Final[Properties] = {
    "async": flag,
    "activate": Line.name,
    "unblock": parse_target,
    "on_control": _parse_on_control,
}


def on_control_text(chosen: OnControl | None) -> str:
    """Return the text of what a control wavelet does to an operation; empty for None."""
    if chosen is None:
        return ""
    return f" on_control {chosen.action}" + (f" {target_text(chosen.task)}" if chosen.task else "")


def check_on_control(code: ElementCode, chosen: OnControl | None, place: str) -> None:
    """Check that what a control wavelet does is a known action with the task that it needs.

    `place` names the operation in the error. Raises ProgramError; None passes.
    """
    if chosen is None:
        return
    if chosen.action not in _CODES:
        raise ProgramError(
            f"{place}: unknown on_control", value=chosen.action, instead=", ".join(_CODES)
        )
    needs_task = chosen.action != "terminate"
    is_known = chosen.task is not None and target_task(code, chosen.task) is not None
    if needs_task != (chosen.task is not None) or (needs_task and not is_known):
        raise ProgramError(f"{place}: on_control {chosen.action} needs a task", value=chosen.task)
    is_activation = chosen.action == "activate"
    check_targets(
        code, chosen.task if is_activation else None, None if is_activation else chosen.task, place
    )


def on_control_columns(chosen: OnControl | None, encoder: Encoder) -> list[int]:
    """Return what a control wavelet does to an operation as two numbers: action and task.

    For the engine's table of operations. chosen: None for nothing; encoder: of the code that has
    the task.
    """
    if chosen is None:
        return [at.CONTROL_IS_DATA, -1]
    return [_CODES[chosen.action], task_number(encoder, chosen.task) if chosen.task else -1]


def completion_columns(part: DsdOperation | LoadRegister, encoder: Encoder) -> list[int]:
    """Return what an operation's end does as two numbers: action and task.

    For the engine's table of operations. part: the operation or load; encoder: of the code that has
    the task.
    """
    if part.activate:
        return [at.ACTIVATE, task_number(encoder, part.activate)]
    if part.unblock:
        return [at.UNBLOCK, task_number(encoder, part.unblock)]
    return [at.NO_ACTION, -1]
