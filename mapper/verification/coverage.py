"""Prove that every point of each Einsum's iteration space is computed exactly once.

The loops over a variable cut its range into tiles that neither overlap nor leave a gap
(tile_intervals.py), so loops over an Einsum's own variables visit each point once. What remains to
be shown is that the innermost tiles are single points and that no loop repeats the Einsum: a loop
over a variable that it does not have, with more than one turn for another Einsum below.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tilewright.mapper.verification.einsum_schedule import (
    EinsumSchedule,
    extents_below,
    turns_of_loops,
)
from tilewright.mapper.verification.violation import Violation
from tilewright.mapper.workload.workload import Workload

Turns = Mapping[int, int]  # node of a loop -> most turns that an Einsum below it has


def coverage_violations(
    schedules: tuple[EinsumSchedule, ...], workload: Workload
) -> Iterator[Violation]:
    """Yield a violation for each Einsum with a point that is computed twice or not at all."""
    yield from _not_one_branch(schedules, workload)
    turns = _turns(schedules, workload)
    for schedule in schedules:
        bounds = workload.einsum(schedule.einsum).bounds
        yield from _repeated(schedule, bounds, turns)
        yield from _not_single(schedule, bounds)


def _not_one_branch(
    schedules: tuple[EinsumSchedule, ...], workload: Workload
) -> Iterator[Violation]:
    """Yield a violation for each Einsum that the mapping leaves out or has in two branches."""
    branches = Counter(schedule.einsum for schedule in schedules)
    for einsum in workload.einsums:
        if branches[einsum.name] != 1:
            yield Violation(
                "computed once",
                f"the mapping has {branches[einsum.name]} branches for Einsum {einsum.name}",
                "one branch for each Einsum",
            )


def _turns(schedules: tuple[EinsumSchedule, ...], workload: Workload) -> dict[int, int]:
    """Return, by node number, the most iterations that each loop has for any Einsum below it."""
    turns: dict[int, int] = {}
    for schedule in schedules:
        counts = turns_of_loops(schedule, workload.einsum(schedule.einsum).bounds)
        for loop, count in zip(schedule.loops, counts, strict=True):
            turns[loop.node] = max(turns.get(loop.node, 1), count)
    return turns


def _repeated(
    schedule: EinsumSchedule, bounds: Mapping[str, int], turns: Turns
) -> Iterator[Violation]:
    for loop in schedule.loops:
        if loop.variable not in bounds and turns[loop.node] > 1:
            yield Violation(
                "computed once",
                f"Einsum {schedule.einsum} is computed {turns[loop.node]} times: it stands below "
                f"a loop over {loop.variable}, which is no rank variable of {schedule.einsum}",
                f"move {schedule.einsum} out of the loop over {loop.variable}",
                loop.node,
            )


def _not_single(schedule: EinsumSchedule, bounds: Mapping[str, int]) -> Iterator[Violation]:
    """Yield a violation for each variable with tiles of several positions at the Compute."""
    for variable, extent in extents_below(schedule.loops, bounds).items():
        if extent > 1:
            yield Violation(
                "computed once",
                f"Einsum {schedule.einsum}: the Compute is reached with a tile of {extent} "
                f"positions of {variable}, and computes one of them",
                f"a loop over {variable} with tile_shape: 1 above the Compute",
            )
