"""What the end of an asynchronous operation does: activate or unblock a task, at a wavelet too.

Operations on descriptors and loads of registers have these properties in common.
"""

from __future__ import annotations

from typing import Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.instructions.kind import Encoder
from tilewright.simulator.instructions.task_targets import (
    check_targets,
    parse_target,
    target_task,
    target_text,
    task_number,
)
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.instruction import DsdOperation, LoadRegister, OnControl
from tilewright.simulator.program.program import ElementCode
from tilewright.simulator.text.tokens import Line, Properties, flag

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
    """Return what a control wavelet does as two numbers of the engine's table: action and task."""
    if chosen is None:
        return [at.CONTROL_IS_DATA, -1]
    return [_CODES[chosen.action], task_number(encoder, chosen.task) if chosen.task else -1]


def completion_columns(part: DsdOperation | LoadRegister, encoder: Encoder) -> list[int]:
    """Return what an operation's end does as two numbers of the engine's table: action, task."""
    if part.activate:
        return [at.ACTIVATE, task_number(encoder, part.activate)]
    if part.unblock:
        return [at.UNBLOCK, task_number(encoder, part.unblock)]
    return [at.NO_ACTION, -1]
