"""Instructions on queues and microthreads: bind, flush, block and unblock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.queue_slots import first_color, slot_of
from tilewright.simulator.instructions.kind import ColorContext, Encoder, Kind, ProfileContext
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.instruction import Instruction
from tilewright.simulator.program.program import ElementCode
from tilewright.simulator.text.tokens import print_name


@dataclass(frozen=True, slots=True)
class BindQueue(Instruction):
    """Bind a queue of this element, which must be empty, to another color.

    `queue`: its number; `output`: an output queue, else an input queue; `color`: its name.
    """

    queue: int
    output: bool
    color: str


@dataclass(frozen=True, slots=True)
class Flush(Instruction):
    """Activate the task that waits for a queue's emptying as soon as the queue is empty (WSE-3).

    `queue`: its number; `output`: an output queue, else an input queue.
    """

    queue: int
    output: bool


@dataclass(frozen=True, slots=True)
class BlockMicrothread(Instruction):
    """Block a microthread, so that its operation waits, or (`blocks` False) unblock it (WSE-3)."""

    microthread: int
    blocks: bool = True


def _side(output: bool) -> str:
    return "output" if output else "input"


def _check_bound(change: BindQueue | Flush, context: ColorContext) -> None:
    queues = context.code.output_queues if change.output else context.code.input_queues
    if change.queue not in {queue.id for queue in queues}:
        raise ProgramError(
            f"{context.place}: {_side(change.output)} queue {change.queue} is not bound to a color",
            value=change.queue,
        )


def _bind_text(change: BindQueue) -> str:
    return f"bind_{_side(change.output)} {change.queue} {print_name(change.color)}"


def _check_bind(change: BindQueue, context: ColorContext) -> None:
    _check_bound(change, context)
    if change.color not in context.colors:
        raise ProgramError(f"{context.place}: unknown color", value=change.color)


def _encode_bind(change: BindQueue, encoder: Encoder) -> None:
    slot, bindings = slot_of(change.queue, change.output), encoder.fabric.bindings
    for binding in ((slot, first_color(encoder.code, slot)), (slot, change.color)):
        if binding not in bindings:
            bindings.append(binding)
    encoder.emit(at.I_BIND, slot, bindings.index((slot, change.color)))


BIND_QUEUE: Final = Kind(
    record=BindQueue,
    words={
        "bind_input": lambda line, _: BindQueue(
            line.integer("a queue"), False, line.name("a color")
        ),
        "bind_output": lambda line, _: BindQueue(
            line.integer("a queue"), True, line.name("a color")
        ),
    },
    text=_bind_text,
    check_colors=_check_bind,
    encode=_encode_bind,
)


def _check_flush(change: Flush, context: ColorContext) -> None:
    _check_bound(change, context)
    if (change.queue, change.output) not in _queues_with_handler(context.code):
        raise ProgramError(
            f"{context.place}: no task follows the emptying of "
            f"{_side(change.output)} queue {change.queue}",
            instead="a task with empty_input or empty_output",
        )


def _queues_with_handler(code: ElementCode) -> list[tuple[int | None, bool]]:
    """Return the queues (number, output) whose emptying a task follows."""
    inputs = [(task.empty_input, False) for task in code.tasks]
    return [*inputs, *((task.empty_output, True) for task in code.tasks)]


def _check_flush_profile(change: Flush, context: ProfileContext) -> None:
    if not context.profile.queue_flush:
        raise ProgramError(
            f"{context.place}: {context.profile.name} has no flush of queues", value=change.queue
        )


def _encode_flush(change: Flush, encoder: Encoder) -> None:
    encoder.fabric.flushes = True
    encoder.emit(at.I_FLUSH, slot_of(change.queue, change.output))


FLUSH: Final = Kind(
    record=Flush,
    words={
        "flush_input": lambda line, _: Flush(line.integer("a queue"), False),
        "flush_output": lambda line, _: Flush(line.integer("a queue"), True),
    },
    text=lambda change: f"flush_{_side(change.output)} {change.queue}",
    check_colors=_check_flush,
    check_profile=_check_flush_profile,
    encode=_encode_flush,
)


def _check_microthread(change: BlockMicrothread, context: ProfileContext) -> None:
    profile = context.profile
    if not profile.explicit_microthread:
        raise ProgramError(
            f"{context.place}: {profile.name} does not block microthreads", value=change.microthread
        )
    if not 0 <= change.microthread < profile.microthreads:
        raise ProgramError(
            f"{context.place}: no such microthread",
            value=change.microthread,
            instead=f"0 to {profile.microthreads - 1}",
        )


BLOCK_MICROTHREAD: Final = Kind(
    record=BlockMicrothread,
    words={
        "block_ut": lambda line, _: BlockMicrothread(line.integer("a microthread"), True),
        "unblock_ut": lambda line, _: BlockMicrothread(line.integer("a microthread"), False),
    },
    text=lambda change: f"{'block' if change.blocks else 'unblock'}_ut {change.microthread}",
    check_profile=_check_microthread,
    encode=lambda change, encoder: encoder.emit(
        at.I_PAUSE, encoder.thread(change.microthread), int(change.blocks)
    ),
)
