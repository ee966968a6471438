"""The mapping of a candidate whose run takes too long, on a few elements of the same grid.

Elements have the same tiles, streams and loops, but fewer neighbours and turns. Its execution on
numbers is no proof of the large one; it shows that this kind of program computes the Einsum, in
cycles between its own bounds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tilewright.mapper.grid.grid_mapspace import GridChoice, GridFamily
from tilewright.mapper.grid.grid_shares import Share, local_sizes
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.drawn_operands import WrongResult
from tilewright.simulator.execution.einsum_execution import EinsumExecution
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.search.candidates.candidates import Candidates

SMALL: Final = 8
"""Elements along an axis, and turns of a loop in time, that are left at most."""


def small_run(candidates: Candidates, choice: GridChoice) -> EinsumExecution | None:
    """Execute the mapping of a choice on a few elements, on numbers, compared with numpy.

    None where fewer elements would make it another kind of mapping. Raises WrongResult if the
    result or the counts are wrong, or the cycles not between their bounds: defects.
    """
    try:
        small, other = _smaller(candidates, choice)
        if _kind(small.plan(other)) != _kind(candidates.plan(choice)):
            return None
        run = small.execute(other)
    except (InfeasibleMapping, ProgramError):
        return None
    least, most = small.least_cycles(other), small.most_cycles(other)
    if run.instance_cycles < least or (most is not None and run.instance_cycles > most):
        raise WrongResult(
            f"{run.name} takes {run.instance_cycles} cycles on {run.elements} elements, bounds are "
            f"{least} and {most}: please report this"
        )
    return run


def _smaller(candidates: Candidates, choice: GridChoice) -> tuple[Candidates, GridChoice]:
    """Return the candidates of an Einsum of fewer values, and the choice with the same tiles."""
    family, space = choice.family, candidates.space
    shares = _few(family.shares)
    counts = dict.fromkeys(space.einsum.bounds, 1)
    for share in shares:
        counts[share.variable] *= share.count
    local = local_sizes(space.einsum, family.shares)
    sizes = {name: _few_turns(family, name, local[name]) * n for name, n in counts.items()}
    einsum: Einsum = replace(space.einsum, bounds=sizes)
    other = Candidates.unbounded(
        "latency", candidates.settings, candidates.flat, replace(space, einsum=einsum)
    )
    return other, replace(choice, family=replace(family, shares=shares))


def _few(shares: tuple[Share, ...]) -> tuple[Share, ...]:
    """Return shares over a few elements of each axis."""
    several = {axis: sum(share.axis == axis for share in shares) for axis in ("X", "Y")}
    return tuple(
        replace(share, count=min(share.count, SMALL if several[share.axis] == 1 else SMALL // 4))
        for share in shares
    )


def _few_turns(family: GridFamily, name: str, extent: int) -> int:
    """Return the values of a rank variable in an element, for a few turns of loops over it."""
    sizes = [loop.size for loop in family.loops if loop.variable == name]
    return min([extent, *(SMALL * size for size in sizes)])


def _kind(plan: Plan) -> tuple[object, ...]:
    """Return what a plan has in common with those of other grids and numbers of turns."""
    read, sums = plan.read, plan.sums
    streams = tuple((s.lines, s.tiles > 1, s.tile_words) for s in plan.streams)
    tiles = tuple(  # what stands above all loops in time may have parts for all turns
        (t.name, t.depth, t.buffers, t.values * (t.depth > 0)) for t in read.tensors
    )
    groups = sums.group_columns > 1, sums.group_rows > 1
    return streams, tiles, groups, sums.exit, sums.order, len(read.time)
