"""Work on memory through data-structure registers: what they hold, and how long operations take.

An operation on registers is timed like one on descriptors, at the places that the registers hold
when it starts. A register that saves its address moves behind the values of each operation.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
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
    `busy`, `free`: cycles with and without bank conflicts.
    """

    row: int
    extent: int
    busy: int
    free: int


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


class RegisterWork:
    """Runs of the operations of a code on data-structure registers.

    A run whose registers begin at the same memory banks as those of an earlier one takes as many
    cycles (theory/engines.md §10), so it is counted once.
    """

    def __init__(self, code: CodeWords) -> None:
        self._code = code
        self._operands: dict[int, list[int | None]] = {}
        self._runs: dict[Hashable, RegisterRun] = {}

    def run(self, op: int, registers: Mapping[int, HeldVector]) -> RegisterRun:
        """Return one run of an operation, and move the registers that save their address.

        op: address of the operation's row; registers: what each holds, by number, changed. Raises
        NotCovered for an operation with other operands than registers and scalars.
        """
        held = self._held(op, registers)
        key = _banks(op, held)
        run = None if key is None else self._runs.get(key)
        if run is None:
            run = _run(self._code, op, held)
            if key is not None:
                self._runs[key] = run
        for vector in held:
            if vector is not None and vector.saves:
                vector.position += run.extent * self._code[vector.row + at.D_STRIDE]
        return run

    def words(self, op: int, registers: Mapping[int, HeldVector]) -> TouchedWords:
        """Return the memory words that the next run of an operation touches; arguments as `run`."""
        held = self._held(op, registers)
        spans = [_span(self._code, vector) for vector in held if vector is not None]
        return TouchedWords(spans, spans[:1])  # that of the destination is first

    def _held(self, op: int, registers: Mapping[int, HeldVector]) -> list[HeldVector | None]:
        """Return the vectors that destination and sources hold, None for a scalar.

        Raises NotCovered for other operands.
        """
        if op not in self._operands:
            self._operands[op] = _operands(self._code, op)
        try:
            return [None if n is None else registers[n] for n in self._operands[op]]
        except KeyError:
            raise NotCovered("an operation of the general part of the engine") from None


def _operands(code: CodeWords, op: int) -> list[int | None]:
    """Return the registers that are the operands of an operation, None for a scalar.

    Raises NotCovered for other operands.
    """
    rows = code.row(op + at.O_OPERANDS, 3)
    others = any(row >= 0 and code[row + at.D_KIND] != at.REGISTER for row in rows)
    if rows[0] < 0 or others or code[op + at.O_POINTER] or code[op + at.O_INDEX] >= 0:
        raise NotCovered("an operation of the general part of the engine")
    return [None if row < 0 else code[row + at.D_BASE] for row in rows]


def _banks(op: int, held: Sequence[HeldVector | None]) -> Hashable | None:
    """Return what decides the cycles of a run: the vectors and the banks at which they begin.

    None for addresses that are traced.
    """
    vectors = [vector for vector in held if vector is not None]
    if any(type(vector.position) is not int for vector in vectors):
        return None
    return op, *[None if v is None else (v.row, v.position % at.BANKS) for v in held]


def _run(code: CodeWords, op: int, held: Sequence[HeldVector | None]) -> RegisterRun:
    row = _variant(code, op, held)
    words = code.row(row, at.O_WIDTH)
    vectors = [vector for vector in held if vector is not None]
    extent = min(code[vector.row + at.D_LENGTH] for vector in vectors)
    reads = []
    if words[at.O_BANKS] and len(vectors) == 3:
        reads = [read_from(code, vector.row, vector.position) for vector in vectors[1:]]
    busy = cycles_of_extent(words, extent, reads)
    return RegisterRun(row, extent, busy, free_cycles(words, extent))


def _variant(code: CodeWords, op: int, held: Sequence[HeldVector | None]) -> int:
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
