"""The best orders of a family are those of all orders that none beats, by the cycles of plans."""

import random

import pytest
from grid_mappings import FORMS, einsum_workload, grid_arch
from loop_orders import all_orders

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridChoice, GridFamily, GridMapspace
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.lowering.lower_bound.cycle_bound import alone_cycles
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.grid_certificate import GridObjective

QUICK = ("matrix product", "correlation with channels", "elementwise sum")
MOST_LOOPS = 5


def candidates_of(form: str, objective: GridObjective) -> Candidates:
    flat, einsum = grid_arch(form, 16, 2, 2), einsum_workload(form, 16).einsums[0]
    space = GridMapspace(grid_of(flat), einsum)
    return Candidates.unbounded(objective, ExecutionSettings(), flat, space)


def metrics_of(candidates: Candidates, plan: Plan) -> tuple[int, float]:
    """Values of the register for each point, and the cycles of an element alone."""
    cycles = alone_cycles(plan, candidates.quick.profile).total
    return (0 if plan.read.scalar is None else -plan.kernel.elements), cycles


def all_metrics(candidates: Candidates, family: GridFamily) -> set[tuple[int, float]]:
    metrics = set()
    first = candidates.space.members(family)[0]
    for order in all_orders(candidates.space, family):
        try:
            plan = candidates.plan(GridChoice(family, first.reduction, order))
        except InfeasibleMapping:
            continue
        metrics.add(metrics_of(candidates, plan))
    return metrics


@pytest.mark.parametrize("objective", ["latency", "energy"])
@pytest.mark.parametrize(
    "form",
    [*QUICK, *(pytest.param(f, marks=pytest.mark.nightly) for f in FORMS if f not in QUICK)],
)
def test_the_best_orders_are_those_that_none_beats(form: str, objective: GridObjective) -> None:
    candidates = candidates_of(form, objective)
    families = list(candidates.space.families())
    for family in random.Random(form).sample(families, min(6, len(families))):
        sizes = candidates.quick._tiles(family).tile.values()
        if sum(size > 1 for size in sizes) > MOST_LOOPS:
            continue
        every = all_metrics(candidates, family)
        orders = {choice.order for choice, _ in candidates.members(family)}
        first = candidates.space.members(family)[0]
        found = {
            metrics_of(candidates, candidates.plan(GridChoice(family, first.reduction, order)))
            for order in orders
            if every
        }
        unbeaten = {
            (values, cycles)
            for values, cycles in every
            if not any(
                other != (values, cycles) and other[0] <= values and other[1] <= cycles
                for other in every
            )
        }
        least = {min(every, key=lambda metrics: metrics[1])[1]} if every else set()
        assert found == unbeaten if objective == "energy" else {c for _, c in found} == least
