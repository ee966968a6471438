"""Exact cycles of a large grid from a few of its columns, simulated by the reference engine.

Where nothing but passing streams crosses from one column to the next, and no word of them waits,
a column does what an equal one does, some cycles later (theory/engines.md §13). How much later
follows from the cycles in which the words come that each column takes: all of them come equally
late, or all between two pauses of the whole column do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
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
from tilewright.simulator.quotient.passing_streams import PassingStreams, passing_streams
from tilewright.simulator.quotient.pieces.column_pieces import piece_of
from tilewright.simulator.quotient.pieces.piece_cycles import PieceRun
from tilewright.simulator.quotient.stream_times import StreamTimes, TakenWords

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
SETTLED_BEHIND: Final = 4
"""Columns behind the first ones in which no word may wait."""
SETTLED_WIDTHS: Final = (NarrowWidth(8, 12), NarrowWidth(16, 20))
"""Tried where words wait behind the first columns: a stream may be slow enough behind more."""
LOOKS: Final = (16, 8, 4, 2)
"""Shares of a run after which it is seen whether words have waited."""
LARGEST_SHARE: Final = 2
"""A narrow grid of more than half of the columns saves little."""
MOST_PAUSES: Final = 16
"""Pauses of a column at which others may become later."""
MOST_ALONE: Final = 4
"""Columns that do as no other one does, each simulated alone."""
TOO_FEW: Final = "too few columns do the same"
WAIT: Final = "words of a stream along the rows wait"


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
    that do the same may be later from this word on. `kind`: as of `StreamTimes.kinds`; -1: of none.
    `delays`: by how much each of them is later.
    """

    place: int
    words: TakenWords
    order: Ints
    free: Ints
    pauses: Ints
    kind: int = -1
    delays: list[Delays] = field(default_factory=list)

    @staticmethod
    def of(place: int, taken: TakenWords, kind: int = -1) -> Representative:
        """Return a column of the narrow grid by what it takes there."""
        order = np.argsort(taken.comes, kind="stable")
        words = taken.sorted(order)
        free = np.minimum.accumulate(words.before[::-1])[::-1]
        pauses = np.zeros(order.size, dtype=np.int64)
        return Representative(place, words, order, free, pauses, kind)

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
        return self._waits_before(np.diff(others.comes - words.comes, prepend=0))

    def stands_for_all_later(self, cycles: int) -> bool:
        """Return whether a column does the same to which all words come so many cycles later.

        Then it is noted.
        """
        later = np.zeros(self.order.size, dtype=np.int64)
        later[:1] = cycles
        return self._waits_before(later)

    def _waits_before(self, later: Ints) -> bool:
        """Note a column to which each word comes so much later than the one before it did.

        Return whether it does the same: not if the pauses are too many, or words are in the way.
        """
        words = self.words
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
    reason, times = TOO_FEW, None
    attempts: tuple[NarrowWidth, ...] = NARROW_WIDTHS
    while attempts and attempts[0].columns * LARGEST_SHARE <= program.width:
        (first, count), *others = attempts
        end_if(is_over)
        try:
            if times is None or times.streams.first != first:
                times = _times_behind(passing_streams(program, first), profile)
            return _by_columns(times, count, profile)
        except NotCovered as missing:
            reason = missing.reason
        attempts = tuple(others)
        if reason == WAIT and first > 1:
            attempts = tuple(attempt for attempt in SETTLED_WIDTHS if attempt.first > first)
    raise NotCovered(reason)


def _times_behind(streams: PassingStreams, profile: Profile) -> StreamTimes:
    """Return when words come to the column behind the first ones, which run alone."""
    if profile.router_buffer_words < 2 or profile.filter_counter_inclusive:
        raise NotCovered("routers of another kind")
    west = NarrowRun(streams, np.arange(streams.first), profile)
    if streams.first > NARROW_WIDTHS[-1].first:
        _check_settled(west, streams, profile)
    west.step_to_end()
    begun = tuple(west.passed(stream) for stream in streams.streams)
    return StreamTimes.of(streams, begun, profile.hop_cycles)


def _by_columns(times: StreamTimes, count: int, profile: Profile) -> tuple[int, int]:
    streams = times.streams
    if streams.first == 1:
        count = max(count, _columns_before_rest(times, profile))
    numbers, columns, alone = _representatives(times, count)
    run = NarrowRun(streams, numbers, profile)
    _check_on_the_way(run, times, columns)
    run.step_to_end()
    _check_passed(run, times, ended=True)
    if any(run.waits_outside(column.place, int(column.rests[0])) for column in _later(columns)):
        raise NotCovered("columns that become later wait for words from outside")
    ends = [_end_of_column(times, column, profile) for column in alone]
    return max(_end(run, streams.first, columns), *ends, 0), numbers.size + len(alone)


def _columns_before_rest(times: StreamTimes, profile: Profile) -> int:
    """Return how many columns there must be for words to find the last one at rest.

    All begin with some work before the first words; that of one column is simulated. A guess, and 0
    where that work takes longer than words need to the last column of the usual narrow grid.
    """
    streams, (fewest, usual) = times.streams, (width.columns for width in NARROW_WIDTHS[:2])
    most = min(usual, streams.program.width // LARGEST_SHARE)
    colors = {stream.color for stream in streams.streams}
    others = (port for port in streams.program.edge_inputs if port.color not in colors)
    silent = replace(streams, program=replace(streams.program, edge_inputs=tuple(others)))
    run = NarrowRun(silent, np.array([streams.first]), profile)
    for column in range(fewest - 1, most):
        comes = times.taken(column, column - streams.first).before
        if comes.size:
            run.step_to(int(comes.min()))
        if not comes.size or run.rests(0):
            return column + 1
    return 0


def _check_settled(west: NarrowRun, streams: PassingStreams, profile: Profile) -> None:
    """Step the run of the first columns a bit. Raises NotCovered if words wait right behind them.

    Nothing else is proved by that, but it takes less than to run all.
    """
    behind = NarrowRun(streams, np.arange(streams.first + SETTLED_BEHIND), profile)
    ends = [port.start + port.interval * port.count for port in streams.program.edge_inputs]
    for share in LOOKS[:2]:
        for run in (west, behind):
            run.step_to(max(ends) // share)
        sent = tuple(west.sent(stream)[0] for stream in streams.streams)
        _check_passed(behind, StreamTimes(streams, sent, profile.hop_cycles, ()))


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
    kinds = times.kinds.tolist()
    for column in range(first, width):
        kind = int(streams.alike[column])
        other = of_kind.get(kind) if column >= count else None
        if other and _does_the_same(other, times, column, kinds[column]):
            continue
        place = len(numbers)
        taken = times.taken(column, place - first)
        representative = Representative.of(place, taken, kinds[column])
        later = times.hop * (column - place)
        if column < width - 1 and representative.stands_for_all_later(later):
            numbers.append(column)
            columns.append(representative)
            of_kind[kind] = representative
        else:
            alone.append(column)
        if len(alone) > MOST_ALONE or (len(numbers) + len(alone)) * LARGEST_SHARE > width:
            raise NotCovered(TOO_FEW)
    return np.array(numbers, dtype=np.int64), columns, alone


def _does_the_same(other: Representative, times: StreamTimes, column: int, kind: int) -> bool:
    """Return whether a column of the whole grid does what `other` does, later.

    kind: of what it takes, as of `StreamTimes.kinds`.
    """
    if kind == other.kind:
        return other.stands_for_all_later(times.hop * (column - other.place))
    return other.stands_for(times.taken(column, column - times.streams.first))


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


def _check_on_the_way(run: NarrowRun, times: StreamTimes, columns: list[Representative]) -> None:
    """Step a run to each cycle at which a column must rest, and to some more.

    Raises NotCovered if a column does not rest, or if a word has waited: a run that proves nothing
    ends early.
    """
    end = max((int(cycles.max(initial=0)) for cycles in times.times), default=0)
    looks = ((end // share, -1) for share in LOOKS)
    for cycle, place in sorted([*_rests(columns), *looks]):
        run.step_to(cycle)
        if place < 0:
            _check_passed(run, times)
        elif not run.rests(place):
            raise NotCovered("columns do not rest where they become later")


def _check_passed(run: NarrowRun, times: StreamTimes, *, ended: bool = False) -> None:
    """Check that no word has waited so far in the last columns of a run. Raises NotCovered.

    times: in which the words come to the first of them. ended: whether all must have passed.
    """
    later = times.hop * (run.program.width - times.streams.first)
    for stream, begun in zip(times.streams.streams, times.times, strict=True):
        cycles, words = run.sent(stream)
        most = cycles.shape[1]
        late = (cycles != begun[:, :most] + later) & (np.arange(most) < words[:, None])
        if late.any() or (ended and (words != begun.shape[1]).any()):
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
