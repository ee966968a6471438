"""A lower bound of the cycles of several Einsums in one program (theory/grid.md §13)."""

from __future__ import annotations

from math import ceil

from tilewright.simulator.lowering.lower_bound.cycle_bound import ROUNDING, lower_bound
from tilewright.simulator.lowering.lower_bound.stream_cycles import behind_stream
from tilewright.simulator.lowering.lower_bound.task_cycles import BodyCycles, TaskCycles
from tilewright.simulator.lowering.pipelines.pipeline_plan import PipelinePlan
from tilewright.simulator.profiles.profile import Profile


def pipeline_bound(plan: PipelinePlan, profile: Profile) -> int:
    """Return a number of cycles that no execution of a pipeline on a machine goes below.

    It is the greatest of the bounds of its Einsums alone, the work of an element for all of them,
    and what an element still has to do behind the words that come to it over the border.
    """
    longest = max(lower_bound(part, profile) for part in plan.plans) - ROUNDING
    if plan.peeled:  # the loop around an Einsum alone may have a turn more
        longest -= profile.loop_back_edge_cycles
    last = plan.placement.shape[0] - 1, plan.placement.shape[1] - 1
    works = [_work(plan, profile, number) for number in range(len(plan.codes))]
    longest = max(longest, *(work.total for work in works))
    for place in ((0, 0), last):
        work = works[plan.placement[place]]
        for part in plan.plans:
            streams = (behind_stream(part, profile, s, place, work) for s in part.streams)
            longest = max(longest, *streams, 0.0)
    return ceil(longest - ROUNDING)


def _work(plan: PipelinePlan, profile: Profile, number: int) -> BodyCycles:
    """Return the cycles of an element of a class, by its number, without waiting."""
    code = plan.codes[number]
    return TaskCycles(code, profile).of("work", code.tasks[0].body)
