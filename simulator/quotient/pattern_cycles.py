"""Exact cycles of a program on a large grid, from a small grid of the same pattern.

The time does not depend on the size of the grid: some small programs are solved instead of the
large one, and a proof says that the times of the large one follow (theory/engines.md §11).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.timed_program import end_cycle, last_arrival
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.quotient.affine_times import guess_times
from tilewright.simulator.quotient.pattern_proof import prove
from tilewright.simulator.quotient.shrink import GridCut, grid_cuts

MARGINS: Final = (2, 4, 8)
"""Periods kept at both ends of a block, by attempt: times settle some periods from its ends."""
LARGEST_SHARE: Final = 4
"""A small grid of more than a quarter of the elements saves nothing."""


@dataclass(frozen=True, slots=True)
class PatternCycles:
    """The exact cycles of a program, if they follow from small grids.

    `cycles`: those of any run, None without a proof; `reason`: why there is none, else empty.
    `elements`: number of elements of the small grid.
    """

    cycles: int | None
    reason: str
    elements: int


def pattern_cycles(program: Program, profile: Profile) -> PatternCycles:
    """Return the exact cycles of a program by its pattern, or why they do not follow.

    The cycles are those of `Machine.run` on any data. No exception says that they do not follow:
    `cycles` is then None. Raises ProgramError if the program does not fit the machine.
    """
    reason, elements = "", 0
    for cut in grid_cuts(program, MARGINS):
        if cut.elements * LARGEST_SHARE > program.placement.size:
            reason = reason or "too few lines of the grid repeat"
            break
        elements = cut.elements
        try:
            return PatternCycles(cycles_by_cut(program, profile, cut), "", elements)
        except NotCovered as missing:
            reason = missing.reason
    return PatternCycles(None, reason, elements)


def cycles_by_cut(program: Program, profile: Profile, cut: GridCut) -> int:
    """Return the exact cycles of a program from the small grid of a cut.

    Raises NotCovered, with the reason, if they do not follow.
    """
    guess = guess_times(program, profile, cut)
    timed = [replace(guess.small.timed, times=times) for times in prove(guess)]
    return max(max(end_cycle(t, guess.small.execute), last_arrival(t)) for t in timed)
