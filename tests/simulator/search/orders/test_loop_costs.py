"""The best order of the loops around an operation is the best of all, by the cycles of plans."""

import random

import pytest
from grid_mappings import FORMS, einsum_workload, grid_arch
from loop_orders import all_orders

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridChoice, GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.lowering.lower_bound.cycle_bound import alone_cycles
from tilewright.simulator.lowering.plan import Plan, plan_of
from tilewright.simulator.search.orders.best_orders import ordered_loops
from tilewright.simulator.search.orders.loop_costs import best_outer_loops

MOST_LOOPS = 4
QUICK = ("matrix product", "correlation with channels", "sum of columns", "largest in windows")


def vector_of(plan: Plan) -> tuple[str, ...]:
    return tuple(plan.read.time[number].variable for number in plan.kernel.vector)


@pytest.mark.parametrize(
    ("machine", "bits", "nests", "forms"),
    [
        ("wse2-sdk-sim", 16, False, QUICK),
        ("wse3-sdk-sim", 32, True, QUICK[:2]),
        pytest.param("wse2-sdk-sim", 32, False, tuple(FORMS), marks=pytest.mark.nightly),
        pytest.param("wse3-sdk-sim", 16, False, tuple(FORMS), marks=pytest.mark.nightly),
        pytest.param("wse3-sdk-sim", 32, True, tuple(FORMS), marks=pytest.mark.nightly),
    ],
)
def test_no_order_around_the_same_operation_has_less_work(
    machine: str, bits: int, forms: tuple[str, ...], *, nests: bool
) -> None:
    better = 0
    for form in forms:
        flat, einsum = grid_arch(form, bits, 2, 2), einsum_workload(form, bits).einsums[0]
        space = GridMapspace(grid_of(flat), einsum, nests=nests)
        profile = ExecutionSettings(machine=machine).profile(space.grid)
        families = list(space.families())
        for family in random.Random(form).sample(families, min(6, len(families))):
            plans = []
            for order in (None, *all_orders(space, family)):
                choice = GridChoice(family, space.members(family)[0].reduction, order)
                try:
                    plans.append(plan_of(space_time(flat, einsum, space.mapping_of(choice))))
                except InfeasibleMapping:
                    continue
            if not plans or len(plans[0].kernel.outer) > MOST_LOOPS:
                continue
            first = plans[0]
            alike = [plan for plan in plans if vector_of(plan) == vector_of(first)]
            works = [alone_cycles(plan, profile).total for plan in alike]
            found = best_outer_loops(first.kernel, profile).loops
            order = ordered_loops(first.kernel, found)
            choice = GridChoice(family, space.members(family)[0].reduction, order)
            best = plan_of(space_time(flat, einsum, space.mapping_of(choice)))
            assert vector_of(best) == vector_of(first)
            assert alone_cycles(best, profile).total == min(works), (form, family)
            better += min(works) < works[0]
    assert better > 0
