"""Guess the times on a large grid from small ones, as affine functions of place and of grid size.

Three small grids give the guess. The difference between the first two periods of a block is the
slope inside it; the difference between a small grid and one that is a period longer is the slope by
size. Whether the guess is right is proved elsewhere (`pattern_proof.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.partition_solve import ProofEffort
from tilewright.simulator.fast.times.segments import T
from tilewright.simulator.fast.units.graph import X_EVALUATIONS, Ints, Times
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.quotient.line_blocks import KEPT_PERIODS, LineCut
from tilewright.simulator.quotient.shrink import GridCut, canonical_lines, shrink
from tilewright.simulator.quotient.small_times import WHOLE, SmallTimes, matching, small_times

MORE_SEGMENTS: Final = 8
"""Working space as a multiple of that of the small grid's solution: where all times are known, a
condition may need more segments on its way than where some of them still were not."""
WORDS, START, READY = 0, 1, 2
"""The times of a unit that move: its words, its dispatch, and when its words could go if an arbiter
let them."""


@dataclass(frozen=True, slots=True)
class Corner:
    """Say, by axis, which end of its blocks in the large grid the small grid stands for.

    `far`: for rows and for columns, False if the three periods that the small grid keeps stand for
    the first three of each block, True if they stand for the last three.
    """

    far: tuple[bool, bool]


FARS: Final = (False, True)
NOT_AFFINE: Final = "times are not affine in the size of the grid"
CORNERS: Final = tuple(Corner((rows, columns)) for rows in FARS for columns in FARS)


@dataclass(frozen=True, slots=True)
class AffineTimes:
    """Guessed times of all units of a large grid.

    A unit is one run of an operation on queues in an element, or one message. `small`: a small
    grid; `cut`: the lines that it keeps. `base`: (units of the small grid, 3) cycles WORDS (of the
    first word), START and READY on the large grid, if the unit stood in the first period of its
    blocks. `slope`: (units, 2 axes, 3) cycles by which they grow per period of the block, 0 for
    units outside blocks.
    """

    small: SmallTimes
    cut: GridCut
    base: Ints
    slope: Ints

    def shifts(self, corner: Corner) -> Ints:
        """Return (units, 3): cycles to add to the small grid's times for a corner.

        Columns: WORDS, START and READY, as of `base`.
        """
        cycles = self.base.copy()
        for axis, cut in enumerate(self.cut.axes):
            period = _periods(cut, far=corner.far[axis])[self.small.places[:, axis]]
            cycles += self.slope[:, axis] * period[:, None]
        return np.asarray(cycles - _moving(self.small))

    def at(self, corner: Corner) -> Times:
        """Return the guessed times of the small grid's units, as if they stood at a corner."""
        times, shift = self.small.timed.times, self.shifts(corner)
        segment = times.segment[:, : int(times.pieces.max(initial=1))].copy()
        segment[:, :, T] += shift[:, WORDS, None]
        ready = times.ready.copy()
        ready[:, :, T] += shift[: ready.shape[0], READY, None]
        header = times.header.copy()
        header[X_EVALUATIONS] = 0
        space = times.work.shape[1] * (1 if ready.size else MORE_SEGMENTS)  # `ready` has no more
        return times._replace(
            work=np.empty((4, space, 3), dtype=np.int64),
            segment=segment,
            ready=ready,
            pieces=times.pieces.copy(),
            start=times.start + shift[:, START],
            first=times.first + shift[:, WORDS],
            last=times.last + shift[:, WORDS],
            header=header,
        )


def guess_times(
    program: Program, profile: Profile, cut: GridCut, effort: ProofEffort = WHOLE
) -> AffineTimes:
    """Guess the times of a program on a large grid from those on small grids.

    cut: the lines that the small grid keeps. effort: how much is done. Raises NotCovered where the
    fast engine does not cover a small program, or where the times of the third period do not
    continue those of the first two.
    """
    small = small_times(shrink(program, cut), profile, effort=effort)
    now = _moving(small)
    canonical = _canonical_units(small, cut)
    slope = _slopes(small, cut, now)[canonical]
    base = now[canonical]
    for length in cut.lengths:
        longer_cut = cut.lengthened(length)
        copied = np.ix_(*(lines.copied(length) for lines in cut.axes))
        contended = small.contended[copied]
        longer = small_times(shrink(program, longer_cut), profile, contended, effort)
        units = _units_of_longer(small, longer, cut, longer_cut)[canonical]
        base += (_moving(longer)[units] - now[canonical]) * (length - KEPT_PERIODS)
    return AffineTimes(small, cut, base, slope)


def _moving(small: SmallTimes) -> Ints:
    times = small.timed.times
    ready = times.first.copy()
    arbitrated = np.flatnonzero(times.arrived)
    ready[arbitrated] = times.ready[arbitrated, 0, T]
    return np.column_stack([times.first, times.start, ready])


def _canonical_units(small: SmallTimes, cut: GridCut) -> Ints:
    """Return for each unit the one at the same place in the first period of its blocks."""
    wanted = small.places.copy()
    for axis, lines in enumerate(cut.axes):
        wanted[:, axis] = canonical_lines(lines)[wanted[:, axis]]
    return matching(small.places, wanted)


def _units_of_longer(
    small: SmallTimes, longer: SmallTimes, cut: GridCut, longer_cut: GridCut
) -> Ints:
    """Return, for each unit of the small grid, the number of the same unit in a longer grid."""
    wanted = small.places.copy()
    for axis, (lines, more) in enumerate(zip(cut.axes, longer_cut.axes, strict=True)):
        wanted[:, axis] = np.searchsorted(more.numbers, lines.numbers[wanted[:, axis]])
    return matching(longer.places, wanted)


def _slopes(small: SmallTimes, cut: GridCut, now: Ints) -> Ints:
    """Return (units, 2 axes, 3): cycles from the first to the second period of each unit's block.

    now: (units, 3) times of the small grid. Units outside the first periods have 0. Raises
    NotCovered if the third period does not follow the second one in the same way.
    """
    slope = np.zeros((now.shape[0], 2, 3), dtype=np.int64)
    for axis, lines in enumerate(cut.axes):
        period = np.zeros(lines.numbers.size, dtype=np.int64)
        for block in lines.blocks:
            period[block.start : block.start + block.period] = block.period
        units = np.flatnonzero(period[small.places[:, axis]])
        place = small.places[units]
        steps = []
        for _ in range(KEPT_PERIODS):
            steps.append(now[matching(small.places, place)])
            place[:, axis] += period[small.places[units, axis]]
        if not np.array_equal(steps[1] - steps[0], steps[2] - steps[1]):
            raise NotCovered(NOT_AFFINE)
        slope[units, axis] = steps[1] - steps[0]
    return slope


def _periods(lines: LineCut, *, far: bool) -> Ints:
    """Return for each line of the small grid the number of its period in the large grid's block.

    0 for lines outside of blocks. far: whether the lines stand for the last periods of each block.
    """
    periods = np.zeros(lines.numbers.size, dtype=np.int64)
    for block in lines.blocks:
        inside = periods[block.start : block.start + KEPT_PERIODS * block.period]
        inside[:] = np.arange(inside.size) // block.period
        inside += (block.times - KEPT_PERIODS) * far
    return periods


def checked_lines(lines: LineCut, *, far: bool) -> Iterator[int]:
    """Yield the lines of the small grid at which the conditions of the large grid can be evaluated.

    These are the lines whose neighbours in the small grid stand for their neighbours in the large
    one. far: whether the periods of a block stand for its last ones; then the lines before its
    second period are left out, else those from its third period on.
    """
    left_out: set[int] = set()
    for block in lines.blocks:
        end = block.start + KEPT_PERIODS * block.period
        if far:
            left_out.update(range(block.start - 1, block.start + block.period))
        else:
            left_out.update(range(end - block.period, end + 1))
    yield from (line for line in range(lines.numbers.size) if line not in left_out)
