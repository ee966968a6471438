"""What the end of an asynchronous operation does: activate or unblock a task, at a wavelet too.

Operations on descriptors and loads of registers have these properties in common.
"""

from __future__ import annotations

from typing import Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.instructions.kind import Encoder
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.instruction import DsdOperation, LoadRegister, OnControl
from tilewright.simulator.program.program import ElementCode
from tilewright.simulator.text.tokens import Line, Properties, flag, print_name

_CODES: Final = {
    "terminate": at.CONTROL_ENDS,
    "activate": at.CONTROL_ACTIVATES,
    "unblock": at.CONTROL_UNBLOCKS,
}


def _parse_on_control(line: Line) -> OnControl:
    action = line.choose(tuple(_CODES), "on_control")
    return OnControl(action, None if action == "terminate" else line.name("a task"))


COMPLETION_PROPERTIES: Final[Properties] = {
    "async": flag,
    "activate": Line.name,
    "unblock": Line.name,
    "on_control": _parse_on_control,
}


def on_control_text(chosen: OnControl | None) -> str:
    """Return the text of what a control wavelet does to an operation; empty for None."""
    if chosen is None:
        return ""
    return f" on_control {chosen.action}" + (f" {print_name(chosen.task)}" if chosen.task else "")


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
    tasks = {task.name for task in code.tasks}
    needs_task = chosen.action != "terminate"
    if needs_task != (chosen.task is not None) or (needs_task and chosen.task not in tasks):
        raise ProgramError(f"{place}: on_control {chosen.action} needs a task", value=chosen.task)


def on_control_columns(chosen: OnControl | None, encoder: Encoder) -> list[int]:
    """Return what a control wavelet does as two numbers of the engine's table: action and task."""
    if chosen is None:
        return [at.CONTROL_IS_DATA, -1]
    return [_CODES[chosen.action], encoder.tasks.get(chosen.task or "", -1)]


def completion_columns(part: DsdOperation | LoadRegister, encoder: Encoder) -> list[int]:
    """Return what an operation's end does as two numbers of the engine's table: action, task."""
    if part.activate:
        return [at.ACTIVATE, encoder.tasks[part.activate]]
    if part.unblock:
        return [at.UNBLOCK, encoder.tasks[part.unblock]]
    return [at.NO_ACTION, -1]
