"""Exact cycles of a program on a large grid, from a small grid of the same pattern.

Some small programs are solved, or some columns, bands or pieces of the large one simulated, and a
proof says that the times of the large one follow (theory/engines.md §11 and §13 to §15).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Final, NamedTuple

from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.partition_solve import ProofEffort
from tilewright.simulator.fast.times.attempts import UNSETTLED
from tilewright.simulator.fast.times.timed_program import end_cycle, last_timed_exit
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.quotient.affine_times import guess_times
from tilewright.simulator.quotient.bands import one_of_each_band
from tilewright.simulator.quotient.line_shifts import (
    NARROW_WIDTHS,
    IsOver,
    cycles_by_columns,
    end_if,
    never,
)
from tilewright.simulator.quotient.narrow_run import check_values_decide_nothing
from tilewright.simulator.quotient.pattern_proof import prove
from tilewright.simulator.quotient.pieces.column_pieces import column_pieces
from tilewright.simulator.quotient.pieces.piece_cycles import cycles_by_pieces
from tilewright.simulator.quotient.shrink import GridCut, grid_cuts
from tilewright.simulator.quotient.small_times import QUICK, WHOLE
from tilewright.simulator.run.machine import Machine

MARGINS: Final = (2, 4, 8)
"""Periods kept at both ends of a block, by attempt: times settle some periods from its ends."""
LARGEST_SHARE: Final = 4
"""A small grid of more than a quarter of the elements saves nothing."""
TOO_FEW_LINES: Final = "too few lines of the grid repeat"


@dataclass(frozen=True, slots=True)
class PatternCycles:
    """The exact cycles of a program, if they follow from small grids.

    `cycles`: those of any run, None without a proof; `reason`: why there is none, else empty.
    `elements`: number of elements of the small grid, of the columns, bands or pieces; 0 without a
    proof.
    """

    cycles: int | None
    reason: str
    elements: int


def pattern_cycles(
    program: Program,
    profile: Profile,
    is_over: IsOver = never,
    most_elements: int | None = None,
) -> PatternCycles:
    """Return the exact cycles of a program by its pattern, or why they do not follow.

    The cycles are those of `Machine.run` on any data. No exception says that they do not follow:
    `cycles` is then None. `is_over`: says before each attempt whether to end; `most_elements`: of
    the grids that are simulated, None for a quarter of all. Raises ProgramError
    if the program does not fit the machine, RunStoppedError where `is_over` says so.
    """
    reasons: list[str] = []
    most = program.placement.size if most_elements is None else most_elements
    bands = bands_of(program, profile)
    for attempt in _attempts(_Grids(program, bands, profile, most), reasons, is_over):
        end_if(is_over)
        try:
            return attempt()
        except NotCovered as missing:
            reasons.append(missing.reason)
    return PatternCycles(None, "; ".join(dict.fromkeys(reasons)) or TOO_FEW_LINES, 0)


def bands_of(program: Program, profile: Profile) -> Program:
    """Return a program on one of each kind of its bands: with the same cycles, on any data."""
    bands = one_of_each_band(program)
    if bands.placement.size == program.placement.size:
        return program
    try:
        check_values_decide_nothing(Machine(bands, profile).compiled)
    except NotCovered:
        return program
    return bands


class _Grids(NamedTuple):
    """Name a program, `bands`: one of each kind of its bands, and `most`: elements of a grid."""

    program: Program
    bands: Program
    profile: Profile
    most: int

    @property
    def bands_are_few(self) -> bool:
        """Whether a run of the bands saves much."""
        return self.bands.placement.size * LARGEST_SHARE <= self.program.placement.size

    @property
    def most_small(self) -> int:
        """Elements of a small grid, or of pieces."""
        whole = self.bands if self.bands_are_few else self.program
        return min(self.most, whole.placement.size // LARGEST_SHARE)


def _attempts(
    grids: _Grids, reasons: list[str], is_over: IsOver
) -> Iterator[Callable[[], PatternCycles]]:
    """Yield the ways to the cycles of a program, quick ones first.

    A run of the bands is tried last, or else small grids with more effort. reasons: why the ways
    before have failed; it grows.
    """
    _, bands, profile, _ = grids
    cuts = [cut for cut in grid_cuts(bands, MARGINS) if cut.elements <= grids.most_small]
    yield from _small_grids(grids, cuts, reasons, is_over)
    if len(column_pieces(bands)) > 1:
        yield partial(_by_pieces, bands, profile, grids.most_small)
    if grids.bands_are_few and bands.placement.size <= grids.most:
        yield partial(_by_bands, bands, profile)
    elif UNSETTLED in reasons:
        failures = reasons.count(UNSETTLED)
        lines = [partial(_by_lines, bands, profile, cut, WHOLE) for cut in cuts]
        yield from takewhile(lambda _: reasons.count(UNSETTLED) == failures, lines)


def _small_grids(
    grids: _Grids, cuts: list[GridCut], reasons: list[str], is_over: IsOver
) -> Iterator[Callable[[], PatternCycles]]:
    """Yield the quick ways by lines and by columns.

    A small grid is first if it has fewer elements than four columns, or fewer columns than a narrow
    grid mostly has. Where its times do not settle, those of a larger one hardly do.
    """
    bands = grids.bands
    lines = [partial(_by_lines, bands, grids.profile, cut, QUICK) for cut in cuts]
    fewest, usual = NARROW_WIDTHS[0].columns, NARROW_WIDTHS[1].columns
    may_be_narrow = fewest * LARGEST_SHARE <= bands.width and fewest * bands.height <= grids.most
    columns = [partial(_by_columns, bands, grids.profile, is_over)] * may_be_narrow
    less = cuts and cuts[0].elements < fewest * bands.height
    if less or (cuts and cuts[0].columns.numbers.size < usual):
        yield lines.pop(0)
    yield from columns
    yield from takewhile(lambda _: UNSETTLED not in reasons, lines)


def _by_lines(
    program: Program, profile: Profile, cut: GridCut, effort: ProofEffort
) -> PatternCycles:
    return PatternCycles(cycles_by_cut(program, profile, cut, effort), "", cut.elements)


def _by_columns(program: Program, profile: Profile, is_over: IsOver) -> PatternCycles:
    cycles, columns = cycles_by_columns(program, profile, is_over)
    return PatternCycles(cycles, "", columns * program.height)


def _by_pieces(program: Program, profile: Profile, most: int) -> PatternCycles:
    cycles, elements = cycles_by_pieces(program, profile, most)
    return PatternCycles(cycles, "", elements)


def _by_bands(bands: Program, profile: Profile) -> PatternCycles:
    return PatternCycles(Machine(bands, profile).cycles(), "", bands.placement.size)


def cycles_by_cut(
    program: Program, profile: Profile, cut: GridCut, effort: ProofEffort = WHOLE
) -> int:
    """Return the exact cycles of a program from the small grid of a cut.

    effort: how much is done to find the times of small grids. Raises NotCovered, with the reason,
    if they do not follow.
    """
    guess = guess_times(program, profile, cut, effort)
    timed = [replace(guess.small.timed, times=times) for times in prove(guess)]
    return max(max(end_cycle(t, guess.small.execute), last_timed_exit(t)) for t in timed)
