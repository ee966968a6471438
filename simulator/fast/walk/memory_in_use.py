"""Words of memory that microthreads may touch, beside which other work must touch none of them."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.simulator.compile import columns as at
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.walk.memory_work import (
    OperandReach,
    Span,
    TouchedWords,
    have_common_word,
    reaches_of,
)
from tilewright.simulator.fast.walk.plain_code import CodeWords
from tilewright.simulator.fast.walk.walk_state import WalkState


class MemoryInUse:
    """The memory that the operations in flight of a walk may touch (`WalkState.touched`)."""

    def __init__(self, store: CodeWords, state: WalkState) -> None:
        self._store = store
        self._state = state
        self._reaches: dict[int, list[OperandReach]] = {}

    def words_of(self, op: int, ranges: dict[int, Span]) -> TouchedWords:
        """Return the words that an operation may touch; ranges: values of loop counters.

        op: address. Nothing is computed if no operation can run beside it.
        """
        if not self._state.touched and not self._store[op + at.O_ASYNC]:
            return TouchedWords([], [])
        if op not in self._reaches:
            self._reaches[op] = reaches_of(self._store, op)
        return self._words(self._reaches[op], ranges)

    def check_work(self, reaches: Sequence[OperandReach], ranges: dict[int, Span]) -> None:
        """Refuse a map or scalar instruction that shares memory with a microthread beside it."""
        if self._state.touched:
            self.check(self._words(reaches, ranges))

    def check(self, words: TouchedWords) -> None:
        """Raise NotCovered for work on words that a microthread may touch at the same time."""
        for beside in self._state.touched.values():
            if have_common_word(words.written, beside.touched) or have_common_word(
                words.touched, beside.written
            ):
                raise NotCovered("a microthread shares memory with what runs beside it")

    def _words(self, reaches: Sequence[OperandReach], ranges: dict[int, Span]) -> TouchedWords:
        """Return the words that operands may touch; ranges: values of loop counters."""
        variables = self._state.variables
        spans = [(reach.written, reach.span(variables, ranges)) for reach in reaches]
        touched = [span for _, span in spans]
        return TouchedWords(touched, [span for written, span in spans if written])
