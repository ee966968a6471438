"""The table of all kinds of instructions: a new kind is a file of this folder and an entry here."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from tilewright.simulator.instructions.control_flow import ADD, IF, LOOP, POINT, SET
from tilewright.simulator.instructions.dsd_operation import DSD_OPERATION
from tilewright.simulator.instructions.element_map import MAP
from tilewright.simulator.instructions.fifo_length import SET_LENGTH
from tilewright.simulator.instructions.kind import Kind
from tilewright.simulator.instructions.queue_changes import BIND_QUEUE, BLOCK_MICROTHREAD, FLUSH
from tilewright.simulator.instructions.register_load import LOAD_REGISTER
from tilewright.simulator.instructions.router_changes import END_TEARDOWN, RECONFIGURE
from tilewright.simulator.instructions.scalar_operation import COMPUTE
from tilewright.simulator.instructions.task_states import ACTIVATE, BLOCK, UNBLOCK
from tilewright.simulator.program.instruction import Instruction

KINDS: Final[list[Kind[Any]]] = [
    DSD_OPERATION,
    LOOP,
    SET,
    POINT,
    ADD,
    IF,
    ACTIVATE,
    BLOCK,
    UNBLOCK,
    COMPUTE,
    SET_LENGTH,
    LOAD_REGISTER,
    END_TEARDOWN,
    RECONFIGURE,
    BIND_QUEUE,
    FLUSH,
    BLOCK_MICROTHREAD,
    MAP,
]
"""All kinds, in the order in which errors list them."""
_BY_RECORD: Final[dict[type[Instruction], Kind[Any]]] = {kind.record: kind for kind in KINDS}


def kind_of(instruction: Instruction) -> Kind[Any]:
    """Return the kind of an instruction: how it is printed, checked and encoded."""
    return _BY_RECORD[type(instruction)]


def register_kind(kind: Kind[Any]) -> None:
    """Add a kind of instruction to the table at run time (for tests and extensions)."""
    KINDS.append(kind)
    _BY_RECORD[kind.record] = kind
    _forget_answers()


def unregister_kind(kind: Kind[Any]) -> None:
    """Remove a kind of instruction from the table again."""
    KINDS.remove(kind)
    del _BY_RECORD[kind.record]
    _forget_answers()


def _forget_answers() -> None:
    for answer in (kinds_by_word, kinds_without_word, records):
        answer.cache_clear()


@cache
def records() -> tuple[type[Instruction], ...]:
    """Return the dataclasses of all kinds of instructions, in the order of the table."""
    return tuple(kind.record for kind in KINDS)


@cache
def kinds_by_word() -> dict[str, Kind[Any]]:
    """Return the kind of instruction for each word that a line of text may begin with.

    In the order in which error messages list the words.
    """
    simple = [kind for kind in KINDS if not kind.has_bodies]
    nested = [kind for kind in KINDS if kind.has_bodies]
    return {word: kind for kind in (*simple, *nested) for word in kind.words}


@cache
def kinds_without_word() -> tuple[Kind[Any], ...]:
    """Return the kinds whose lines begin with no word of their own: scalar instructions."""
    return tuple(kind for kind in KINDS if kind.begins is not None)
