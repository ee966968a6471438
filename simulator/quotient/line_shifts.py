"""Exact cycles of a large grid from a few of its columns, simulated by the reference engine.

Where nothing but passing streams crosses from one column to the next, and no word of them waits,
a column does what an equal one does, some cycles later (theory/engines.md §13). How much later
follows from the cycles in which the words come that each column takes: all of them come equally
late, or all between two pauses of the whole column do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.exit_times import exit_cycles
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.isa.machine_errors import RunStoppedError
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.quotient.line_blocks import Ints
from tilewright.simulator.quotient.narrow_run import NarrowRun
from tilewright.simulator.quotient.passing_streams import (
    PassingStream,
    PassingStreams,
    passing_streams,
)
from tilewright.simulator.quotient.pieces.column_pieces import Crossings, piece_of
from tilewright.simulator.quotient.pieces.piece_cycles import PieceRun

IsOver = Callable[[], bool]
"""Says whether what has not begun is not wanted any more."""


def never() -> bool:
    """Return False: all attempts are wanted."""
    return False


def end_if(is_over: IsOver) -> None:
    """Raise RunStoppedError where no more attempts are wanted."""
    if is_over():
        raise RunStoppedError("the search for cycles by a pattern was stopped")


class NarrowWidth(NamedTuple):
    """Say from which column on streams pass, and how many columns run in the west at least."""

    first: int
    columns: int


NARROW_WIDTHS: Final = (
    NarrowWidth(1, 4),
    NarrowWidth(2, 12),
    NarrowWidth(4, 32),
    NarrowWidth(4, 48),
)
SETTLED_WIDTHS: Final = (NarrowWidth(8, 12), NarrowWidth(16, 20))
"""Tried where words wait behind the first columns: a stream may be slow enough behind more."""
LARGEST_SHARE: Final = 2
"""A narrow grid of more than half of the columns saves little."""
MOST_PAUSES: Final = 16
"""Pauses of a column at which others may become later."""
MOST_ALONE: Final = 4
"""Columns that do as no other one does, each simulated alone."""
TOO_FEW: Final = "too few columns do the same"
WAIT: Final = "words of a stream along the rows wait"


class TakenWords(NamedTuple):
    """The words of passing streams that a column takes, by stream, row and number.

    `row`: of the element, those of the streams behind each other. `comes`: cycle in which the
    router sends each to the element. `before`: cycle in which it sent the word before it in its
    stream; the same as `comes` where that does not matter: for the first word of a stream, and
    where no others go to the element.
    """

    row: Ints
    comes: Ints
    before: Ints

    def sorted(self, order: Ints) -> TakenWords:
        """Return the words in another order."""
        return TakenWords(*(values[order] for values in self))


class StreamTimes(NamedTuple):
    """Cycles in which the words of passing streams come to the routers of their first column.

    `times`: of each stream (rows, words). `hop`: cycles from a router to the next one.
    """

    streams: PassingStreams
    times: tuple[Ints, ...]
    hop: int

    def taken(self, column: int, behind: int) -> TakenWords:
        """Return what a column takes, if it stands `behind` columns behind the first one."""
        parts = [np.zeros((3, 0), dtype=np.int64)]
        passing = enumerate(zip(self.streams.streams, self.times, strict=True))
        for number, (stream, times) in passing:
            first_row = number * self.streams.program.height
            parts.extend(_words_of(stream, times, column, first_row))
        row, comes, before = np.concatenate(parts, axis=1)
        later = self.hop * (behind + 1)
        words = TakenWords(row, comes + later, before + later)
        if (row[1:] >= row[:-1]).all():
            return words
        return words.sorted(np.argsort(row, kind="stable"))

    def enters(self, column: int) -> Crossings:
        """Return the cycles in which words leave the columns before one of the whole grid."""
        later = self.hop * (column - self.streams.first)
        return {
            (stream.color, row): cycles + later
            for stream, times in zip(self.streams.streams, self.times, strict=True)
            for row, cycles in zip(stream.rows.tolist(), times, strict=True)
        }


def _words_of(stream: PassingStream, times: Ints, column: int, first_row: int) -> Iterator[Ints]:
    """Yield (3, words) of what a column takes of a stream, by rows with the same filter.

    The first router sends them in the cycles `times` (rows, words). Columns: the row plus
    `first_row`, and two cycles as of `TakenWords`.
    """
    for rows, words in stream.taken(column, times.shape[1]):
        comes = times[np.ix_(rows, words)]
        earlier = times[np.ix_(rows, np.maximum(words - 1, 0))]
        alone = stream.alone[rows, column, None] == 1
        row = np.broadcast_to(first_row + stream.rows[rows, None], comes.shape)
        yield np.stack([row.ravel(), comes.ravel(), np.where(alone, comes, earlier).ravel()])


class Delays(NamedTuple):
    """By how many cycles a column is later than its representative: `cycles` from `since` on each.

    Both ascending; nothing is later before the first of `since`.
    """

    since: Ints
    cycles: Ints

    @property
    def last(self) -> int:
        """The delay in the end."""
        return int(self.cycles[-1]) if self.cycles.size else 0

    def later(self, cycles: Ints) -> Ints:
        """Return the cycles of the column that are `cycles` of the representative."""
        delays = np.concatenate([[0], self.cycles])
        return np.asarray(cycles + delays[np.searchsorted(self.since, cycles, side="right")])


NO_DELAYS: Final = Delays(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


@dataclass(slots=True)
class Representative:
    """A column of the narrow grid, and those of the whole one that do the same later.

    `place`: in the narrow grid. `words`: what it takes there, in the order of the cycles. `order`:
    of these words among all. `free`: (words,) the earliest cycle from which on all words from this
    one on come, with those before them in their streams. `pauses`: (words,) True where the columns
    that do the same may be later from this word on. `delays`: by how much each of them is later.
    """

    place: int
    words: TakenWords
    order: Ints
    free: Ints
    pauses: Ints
    delays: list[Delays] = field(default_factory=list)

    @staticmethod
    def of(place: int, taken: TakenWords) -> Representative:
        """Return a column of the narrow grid by what it takes there."""
        order = np.argsort(taken.comes, kind="stable")
        words = taken.sorted(order)
        free = np.minimum.accumulate(words.before[::-1])[::-1]
        return Representative(place, words, order, free, np.zeros(order.size, dtype=np.int64))

    def stands_for(self, taken: TakenWords) -> bool:
        """Return whether another column does the same later, if this one rests at the pauses.

        taken: what the other column takes in the whole grid. Then it is noted.
        """
        words, others = self.words, taken
        if taken.row.size == self.order.size:
            others = taken.sorted(self.order)
        gaps = words.comes - words.before, others.comes - others.before
        if not (np.array_equal(words.row, others.row) and np.array_equal(gaps[0], gaps[1])):
            return False
        later = np.diff(others.comes - words.comes, prepend=0)
        apart = self.free > np.concatenate([[-1], words.comes[:-1]])[: words.comes.size]
        pauses = (later != 0) | (self.pauses == 1)
        if (later < 0).any() or (pauses & ~apart).any() or pauses.sum() > MOST_PAUSES:
            return False
        self.pauses = pauses.astype(np.int64)
        places = np.flatnonzero(later)
        self.delays.append(Delays(self.free[places], np.cumsum(later[places])))
        return True

    @property
    def rests(self) -> Ints:
        """The cycles at whose beginnings the column must rest."""
        return np.asarray(self.free[self.pauses == 1])


def cycles_by_columns(
    program: Program, profile: Profile, is_over: IsOver = never
) -> tuple[int, int]:
    """Return the exact cycles of a program, and how many columns of it were simulated.

    The cycles are those of `Machine.run` on any data. Raises NotCovered, with the reason, if they
    do not follow, RunStoppedError if `is_over` says so before an attempt.
    """
    reason = TOO_FEW
    attempts: tuple[NarrowWidth, ...] = NARROW_WIDTHS
    while attempts and attempts[0].columns * LARGEST_SHARE <= program.width:
        (first, count), *others = attempts
        end_if(is_over)
        try:
            return _by_columns(passing_streams(program, first), count, profile)
        except NotCovered as missing:
            reason = missing.reason
        attempts = tuple(others)
        if reason == WAIT and first > 1:
            attempts = tuple(attempt for attempt in SETTLED_WIDTHS if attempt.first > first)
    raise NotCovered(reason)


def _by_columns(streams: PassingStreams, count: int, profile: Profile) -> tuple[int, int]:
    if profile.router_buffer_words < 2 or profile.filter_counter_inclusive:
        raise NotCovered("routers of another kind")
    west = NarrowRun(streams, np.arange(streams.first), profile)
    west.step_to_end()
    begun = tuple(west.passed(stream) for stream in streams.streams)
    times = StreamTimes(streams, begun, profile.hop_cycles)
    numbers, columns, alone = _representatives(times, count)
    run = NarrowRun(streams, numbers, profile)
    _check_rests(run, columns)
    run.step_to_end()
    _check_passed(run, times, numbers.size - streams.first)
    if any(run.waits_outside(column.place, int(column.rests[0])) for column in _later(columns)):
        raise NotCovered("columns that become later wait for words from outside")
    ends = [_end_of_column(times, column, profile) for column in alone]
    return max(_end(run, streams.first, columns), *ends, 0), numbers.size + len(alone)


def _representatives(
    times: StreamTimes, count: int
) -> tuple[Ints, list[Representative], list[int]]:
    """Choose the columns of the narrow grid: `count` in the west, and those that differ from them.

    Return their numbers in the whole grid, those that stand for others, and the numbers of columns
    that do as none of these. Raises NotCovered if these are too many.
    """
    streams = times.streams
    width, first = streams.program.width, streams.first
    numbers, columns, alone = list(range(first)), [], []
    of_kind: dict[int, Representative] = {}
    for column in range(first, width):
        kind = int(streams.alike[column])
        taken = times.taken(column, column - first)
        if column >= count and kind in of_kind and of_kind[kind].stands_for(taken):
            continue
        place = len(numbers)
        representative = Representative.of(place, times.taken(column, place - first))
        if column < width - 1 and representative.stands_for(taken):
            numbers.append(column)
            columns.append(representative)
            of_kind[kind] = representative
        else:
            alone.append(column)
        if len(alone) > MOST_ALONE or (len(numbers) + len(alone)) * LARGEST_SHARE > width:
            raise NotCovered(TOO_FEW)
    return np.array(numbers, dtype=np.int64), columns, alone


def _end_of_column(times: StreamTimes, column: int, profile: Profile) -> int:
    """Return the last cycle of a column, simulated alone with the words that pass.

    Raises NotCovered if one of these waits.
    """
    program = times.streams.program
    piece = piece_of(program, range(column, column + 1), times.enters(column))
    most = 1 + max((stream.words for stream in times.streams.streams), default=0)
    run = PieceRun(piece, profile, most)
    passed = times.enters(column + 1)
    if any(not np.array_equal(cycles, passed[place]) for place, cycles in run.leaves().items()):
        raise NotCovered(WAIT)
    return run.cycles


def _check_rests(run: NarrowRun, columns: list[Representative]) -> None:
    """Step a run to each cycle at which a column must rest. Raises NotCovered if it does not."""
    for cycle, place in sorted(_rests(columns)):
        run.step_to(cycle)
        if not run.rests(place):
            raise NotCovered("columns do not rest where they become later")


def _check_passed(run: NarrowRun, times: StreamTimes, columns: int) -> None:
    """Check that no word waited in the last columns of a run. Raises NotCovered if one did.

    times: in which the words came to the first of them. `columns`: their number.
    """
    for stream, begun in zip(times.streams.streams, times.times, strict=True):
        if not np.array_equal(run.passed(stream), begun + times.hop * columns):
            raise NotCovered(WAIT)


def _later(columns: list[Representative]) -> Iterator[Representative]:
    """Yield the columns that stand for others which become later."""
    yield from (column for column in columns if column.rests.size)


def _rests(columns: list[Representative]) -> Iterator[tuple[int, int]]:
    for column in columns:
        yield from ((cycle, column.place) for cycle in column.rests.tolist())


def _end(run: NarrowRun, first: int, columns: list[Representative]) -> int:
    """Return the cycles of the whole grid after the run of the narrow one."""
    store, ends = run.store, run.ends()
    if ends.max() != max(store[at.S_END], run.last_outside):
        raise NotCovered("an element ends otherwise")
    end = int(ends[:first].max(initial=0))
    for place in range(first):
        end = max(end, _last_exit(run, place, [NO_DELAYS]))
    behind = int(max(store[at.K_EXECUTE], store[at.K_COMPLETION], run.hop_cycles))
    for column in columns:
        last = int(ends[column.place])
        if column.rests.size and last < int(column.rests[-1]) + behind:
            raise NotCovered("a column ends before others become later")
        end = max(end, last + max((delays.last for delays in column.delays), default=0))
        end = max(end, _last_exit(run, column.place, column.delays))
    return end


def _last_exit(run: NarrowRun, place: int, delays: list[Delays]) -> int:
    """Return when the last word has left by a slow port of a column, or one that does the same.

    A word is as late as the column was in the cycle in which its router sent it.
    """
    hop = run.hop_cycles
    return max(
        (
            int(exit_cycles(each.later(arrivals - hop) + hop, interval)[-1])
            for arrivals, interval in run.slow_exits(place)
            for each in delays
            if arrivals.size
        ),
        default=0,
    )
