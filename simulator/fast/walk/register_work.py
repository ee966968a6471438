"""Work on memory through data-structure registers: what they hold, and how long operations take.

An operation on registers is timed like one on descriptors, at the places that the registers hold
when it starts. A register that saves its address moves behind the values of each operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tilewright.simulator.compile import columns as at
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.walk.memory_work import (
    Span,
    TouchedWords,
    cycles_of_extent,
    first_word,
    free_cycles,
    read_from,
)
from tilewright.simulator.fast.walk.plain_code import CodeWords


@dataclass(slots=True)
class HeldVector:
    """What a data-structure register holds: a vector in memory.

    `row`: address of the vector's operand row; `position`: its first 16-bit word now; `saves`:
    whether operations move the register behind the values that they used.
    """

    row: int
    position: int
    saves: bool


class RegisterRun(NamedTuple):
    """One run of an operation on data-structure registers.

    `row`: address of the operation's row for what the registers hold; `extent`: number of values;
    `busy`, `free`: cycles with and without bank conflicts; `words`: memory words that it touches.
    """

    row: int
    extent: int
    busy: int
    free: int
    words: TouchedWords


def held_vector(code: CodeWords, load: int, counters: Mapping[int, int]) -> HeldVector:
    """Return the vector that a load instruction puts into its data-structure register.

    load: address of the load; counters: values by slot, on which the vector's address may depend.
    Raises NotCovered for anything but a vector of one dimension.
    """
    row = code.load(load)[at.L_ROW]
    words = code.row(row, at.D_WIDTH)
    is_vector = words[at.D_KIND] == at.MEMORY and words[at.D_DIMENSIONS] == 1
    if not is_vector or words[at.D_WRAP] or words[at.D_LENGTH_ROW] >= 0:
        raise NotCovered("a register that holds no plain vector")
    saves = code.load(load)[at.L_SETTINGS + at.R_SAVES - at.R_ASYNC]
    return HeldVector(row, first_word(code, row, counters), bool(saves))


def run_on_registers(code: CodeWords, op: int, registers: Mapping[int, HeldVector]) -> RegisterRun:
    """Return one run of an operation on registers, and move the registers that save their address.

    op: address of the operation's row; registers: what each holds, by number, changed. Raises
    NotCovered for an operation with other operands than registers and scalars.
    """
    held = _held(code, op, registers)
    row = _variant(code, op, held)
    words = code.row(row, at.O_WIDTH)
    vectors = [vector for vector in held if vector is not None]  # that of the destination first
    extent = min(code[vector.row + at.D_LENGTH] for vector in vectors)
    reads = []
    if words[at.O_BANKS] and len(vectors) == 3:
        reads = [read_from(code, vector.row, vector.position) for vector in vectors[1:]]
    spans = [_span(code, vector) for vector in vectors]
    result = RegisterRun(
        row,
        extent,
        cycles_of_extent(words, extent, reads),
        free_cycles(words, extent),
        TouchedWords(spans, spans[:1]),
    )
    _move_saved(code, vectors, extent)
    return result


def _move_saved(code: CodeWords, vectors: Sequence[HeldVector], extent: int) -> None:
    """Move the registers that save their address behind the `extent` values of an operation."""
    for vector in vectors:
        if vector.saves:
            vector.position += extent * code[vector.row + at.D_STRIDE]


def _held(
    code: CodeWords, op: int, registers: Mapping[int, HeldVector]
) -> tuple[HeldVector | None, ...]:
    """Return the vectors that the registers of destination and sources hold, None for a scalar.

    Raises NotCovered for other operands.
    """
    held: list[HeldVector | None] = []
    for row in code.row(op + at.O_OPERANDS, 3):
        if row < 0:
            held.append(None)
        elif code[row + at.D_KIND] != at.REGISTER or code[row + at.D_BASE] not in registers:
            raise NotCovered("an operation of the general part of the engine")
        else:
            held.append(registers[code[row + at.D_BASE]])
    if held[0] is None or code[op + at.O_POINTER] or code[op + at.O_INDEX] >= 0:
        raise NotCovered("an operation of the general part of the engine")
    return tuple(held)


def _variant(code: CodeWords, op: int, held: tuple[HeldVector | None, ...]) -> int:
    """Return the operation's row for the vectors in its registers, else its own row."""
    rows = [-1 if vector is None else vector.row for vector in held]
    for number in range(code[op + at.O_VARIANTS]):
        variant = code[op + at.O_VARIANT] + number * at.O_WIDTH
        wanted = code.row(variant + at.O_HELD, 3)
        if all(loaded in (-1, row) for loaded, row in zip(wanted, rows, strict=True)):
            return variant
    return op


def _span(code: CodeWords, vector: HeldVector) -> Span:
    words = code.row(vector.row, at.D_WIDTH)
    last = vector.position + (words[at.D_LENGTH] - 1) * words[at.D_STRIDE]
    low, high = sorted((vector.position, last))
    return low, high + words[at.D_WIDE] - 1
