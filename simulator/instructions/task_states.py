"""Instructions that change the state of a task: activate, block, unblock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.instructions.completion import (
    check_machine_targets,
    check_targets,
    check_task_name,
    parse_target,
    target_text,
    task_number,
)
from tilewright.simulator.instructions.kind import CheckContext, Encoder, Kind, ProfileContext
from tilewright.simulator.program.instruction import Instruction
from tilewright.simulator.text.tokens import print_name


@dataclass(frozen=True, slots=True)
class Activate(Instruction):
    """The instruction `activate`: make a local task active, so that it runs when not blocked.

    Activations are not counted: an active task that is activated again still runs once.
    """

    task: str


@dataclass(frozen=True, slots=True)
class Block(Instruction):
    """The instruction `block`: keep a task from starting until it is unblocked."""

    task: str


@dataclass(frozen=True, slots=True)
class Unblock(Instruction):
    """The instruction `unblock`: let a blocked task start again."""

    task: str


def _check(instruction: Activate | Block | Unblock, context: CheckContext) -> None:
    check_task_name(context.code, f"{context.place}:", instruction.task)
    if isinstance(instruction, Activate):
        check_targets(context.code, instruction.task, None, context.place)


def _check_profile(instruction: Block | Unblock, context: ProfileContext) -> None:
    check_machine_targets((instruction.task,), context.profile, context.place)


def _encoder(code: int) -> Callable[[Activate | Block | Unblock, Encoder], int]:
    """Return what encodes an instruction on a task by its `code` in the engine's table."""
    return lambda instruction, encoder: encoder.emit(code, task_number(encoder, instruction.task))


ACTIVATE: Final = Kind(
    record=Activate,
    words={"activate": lambda line, _: Activate(line.name("a task"))},
    text=lambda instruction: f"activate {print_name(instruction.task)}",
    check=_check,
    encode=_encoder(at.I_ACTIVATE),
)
BLOCK: Final = Kind(
    record=Block,
    words={"block": lambda line, _: Block(parse_target(line))},
    text=lambda instruction: f"block {target_text(instruction.task)}",
    check=_check,
    check_profile=_check_profile,
    encode=_encoder(at.I_BLOCK),
)
UNBLOCK: Final = Kind(
    record=Unblock,
    words={"unblock": lambda line, _: Unblock(parse_target(line))},
    text=lambda instruction: f"unblock {target_text(instruction.task)}",
    check=_check,
    check_profile=_check_profile,
    encode=_encoder(at.I_UNBLOCK),
)
