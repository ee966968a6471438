"""Points of a walk run on data, or leave it; certificates of several searches are one."""

from __future__ import annotations

from math import inf

import pytest
from cascades import cascade_arch, cascade_workload

from tilewright.mapper.searches.budget import UNLIMITED, Budget
from tilewright.mapper.searches.restrictions import ALIGNED_SIZES, names_of
from tilewright.simulator.execution.drawn_operands import WrongResult
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.execution.execution import execute
from tilewright.simulator.search.fronts.front_walk import FrontWalk
from tilewright.simulator.search.fronts.walk_answers import (
    NOTHING_SHOWN,
    certificate_of_one,
    certificate_of_walk,
    executed_paths,
    together,
)
from tilewright.simulator.search.grid_certificate import Costs
from tilewright.simulator.search.grid_mapping import GridRequest, cascade_of, map_on_grid

ARCH, WORKLOAD = cascade_arch(2, 2), cascade_workload("normalized rows")
SETTINGS = ExecutionSettings()


def whole_walk() -> FrontWalk:
    run = map_on_grid(ARCH, WORKLOAD, GridRequest(objective="energy")).execution
    cascade = cascade_of(ARCH, WORKLOAD, GridRequest(), counts_energy=True)
    walk = FrontWalk(cascade, [Costs(run.latency, run.energy)])
    walk.go_on(lambda: False, lambda: None)
    return walk


def test_points_are_executed_and_cost_what_was_found() -> None:
    walk = whole_walk()
    costs = [path.costs for path in walk.unbeaten_paths]
    runs = executed_paths(walk, ARCH, SETTINGS, UNLIMITED)
    assert len(runs) == len(costs) > 2
    for (mapping, run), found in zip(runs, costs, strict=True):
        assert (run.latency, run.energy) == pytest.approx(found, rel=1e-12)
        again = execute(ARCH, WORKLOAD, mapping)
        assert (again.latency, again.energy) == (run.latency, run.energy)
    assert [run.usage for run in runs] == [
        max(einsum.sram_bits for einsum in run.execution.einsums) for run in runs
    ]
    shown = certificate_of_walk(walk, 2)
    assert shown.is_complete
    assert shown.executed == walk.executed
    assert shown.excluded > 0
    assert shown.undecided == 0


def test_points_that_do_not_run_leave_a_gap() -> None:
    walk = whole_walk()
    assert executed_paths(walk, ARCH, SETTINGS, Budget(deadline=0.0)) == []
    shown = certificate_of_walk(walk, 2)
    assert not shown.is_complete
    assert 0 < shown.gap < inf
    assert "% of the whole set" in str(shown)
    assert shown.undecided > 0


def test_a_run_that_costs_something_else_is_a_fault() -> None:
    walk = whole_walk()
    first = walk.unbeaten_paths[0]
    walk.paths = [first._replace(costs=Costs(first.costs.latency, 0.99 * first.costs.energy))]
    with pytest.raises(WrongResult, match="please report this"):
        executed_paths(walk, ARCH, SETTINGS, UNLIMITED)


def test_certificates_of_several_searches_are_one() -> None:
    walk, answer = certificate_of_walk(whole_walk(), 2), map_on_grid(ARCH, WORKLOAD)
    one = certificate_of_one(answer)
    assert one.is_complete
    both = together([walk, one], (ALIGNED_SIZES(),))
    assert both.is_complete
    assert both.executed == walk.executed + answer.certificate.executed
    assert both.infeasible == walk.infeasible + one.infeasible
    assert names_of(both.restrictions)[0] == "sizes with room for alignment"
    left = together([walk, NOTHING_SHOWN], ())
    assert not left.is_complete
    assert left.gap == inf
    assert "whole set" not in str(left)
