"""The Pareto set of a grid is that of all executed mappings of the mapspace."""

from __future__ import annotations

from itertools import chain
from math import inf

import pytest
from grid_mappings import einsum_workload, grid_arch
from loop_orders import ordered_choices

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridChoice, GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.restrictions import names_of
from tilewright.mapper.workload.errors import InfeasibleMapping, NoFeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings, execute_einsum
from tilewright.simulator.isa.machine_errors import RunStoppedError
from tilewright.simulator.run.machine import Stop
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.fronts import grid_front
from tilewright.simulator.search.fronts.grid_front import (
    METRICS,
    GridFrontSearch,
    _FrontWalk,
    metrics_of,
)

CONSTRAINTS = {
    "matrix times vector": GridConstraints(),
    "matrix product": GridConstraints(x="k", tile="m"),
    "elementwise sum": GridConstraints(y="m"),
    "largest of rows": GridConstraints(),
}


def all_values(form: str, metrics: tuple[str, ...]) -> set[tuple[float, ...]]:
    flat, einsum = grid_arch(form, 32, 2, 2), einsum_workload(form).einsums[0]
    space = GridMapspace(grid_of(flat), einsum, CONSTRAINTS[form])
    values = set()
    further = space.further_shares(inf, 1 << 20)
    assert further is not None
    for family in chain.from_iterable(map(space.families_of, (*space.shares(), *further))):
        for choice in ordered_choices(flat, space, family):
            try:
                run = execute_einsum(space_time(flat, einsum, space.mapping_of(choice)))
            except InfeasibleMapping:
                continue
            values.add(metrics_of(run, metrics))
    return values


def unbeaten(values: set[tuple[float, ...]]) -> set[tuple[float, ...]]:
    return {
        a
        for a in values
        if not any(b != a and all(x <= y for x, y in zip(b, a, strict=True)) for b in values)
    }


@pytest.mark.parametrize(
    ("form", "metrics"),
    [
        pytest.param("matrix times vector", METRICS, marks=pytest.mark.nightly),
        pytest.param("matrix product", ("energy", "latency"), marks=pytest.mark.nightly),
        pytest.param("elementwise sum", ("energy", "latency"), marks=pytest.mark.nightly),
        ("largest of rows", METRICS),
    ],
)
def test_the_set_is_that_of_all_mappings(form: str, metrics: tuple[str, ...]) -> None:
    flat, einsum = grid_arch(form, 32, 2, 2), einsum_workload(form).einsums[0]
    search = GridFrontSearch(metrics=metrics, constraints=CONSTRAINTS[form])
    front = search.run(flat, einsum)
    values = [point.values for point in front.points]
    assert values == sorted(unbeaten(all_values(form, metrics)))
    certificate = front.certificate
    assert certificate.is_complete
    assert certificate.executed >= len(values)
    assert "shares of least work" not in names_of(certificate.restrictions)
    assert str(certificate).startswith("complete: ")


def test_a_budget_says_what_is_left() -> None:
    flat = grid_arch("matrix product", 32, 2, 2)
    einsum = einsum_workload("matrix product").einsums[0]
    seen: list[int] = []
    search = GridFrontSearch(budget_s=0, on_progress=lambda n, _: seen.append(n))
    front = search.run(flat, einsum)
    assert seen == [1]
    assert not front.certificate.is_complete
    assert front.certificate.undecided > 0
    assert "candidates are left" in str(front.certificate)
    assert "% of the whole set" in str(front.certificate)


def test_a_gap_covers_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each point of the whole set is beaten by one whose values are divided by 1 + gap."""
    flat = grid_arch("matrix product", 32, 2, 2)
    einsum = einsum_workload("matrix product").einsums[0]
    whole = GridFrontSearch().run(flat, einsum)
    assert whole.certificate.gap == 0
    late = {"at": 1}
    monkeypatch.setattr(_FrontWalk, "widen", lambda *_: False)
    step, gaps = _FrontWalk.step, []

    def until_late(walk: _FrontWalk, hurried: bool = False) -> bool:
        has_run = step(walk, hurried)
        if walk.executed == late["at"]:
            object.__setattr__(walk._budget, "deadline", 0.0)
        return has_run

    monkeypatch.setattr(_FrontWalk, "step", until_late)
    for late["at"] in (1, 4, 8, 12):
        short = GridFrontSearch(budget_s=1000.0).run(flat, einsum)
        gaps.append(short.certificate.gap)
        for point in whole.points:
            assert any(
                all(
                    v <= w * (1 + gaps[-1]) * (1 + 1e-9)
                    for v, w in zip(p.values, point.values, strict=True)
                )
                for p in short.points
            )
    assert 0 < gaps[-1] < gaps[0] < inf


def test_without_time_the_first_choice_found_is_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    flat = grid_arch("matrix product", 32, 2, 2)
    einsum = einsum_workload("matrix product").einsums[0]
    steps: list[bool] = []
    step = _FrontWalk.step

    def counted(walk: _FrontWalk, hurried: bool = False) -> bool:
        steps.append(hurried)
        return step(walk, hurried)

    monkeypatch.setattr(_FrontWalk, "step", counted)
    front = GridFrontSearch(budget_s=0).run(flat, einsum)
    assert len(front.points) == 1
    assert len(steps) == 2  # a family is replaced by its members, and one of them runs
    GridFrontSearch().run(flat, einsum)
    assert len(steps) > 10


def test_nothing_fits_a_memory_that_is_too_small() -> None:
    flat = grid_arch("matrix product", 32, 1, 1)
    einsum = einsum_workload("matrix product").einsums[0]
    settings = ExecutionSettings(overrides={"sram_reserved_bytes": 49_142})
    with pytest.raises(NoFeasibleMapping, match="too small"):
        GridFrontSearch(settings=settings).run(flat, einsum)


def test_what_has_no_time_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Families are not bounded, runs end, and points do not run on numbers."""
    flat = grid_arch("matrix product", 32, 2, 2)
    einsum = einsum_workload("matrix product").einsums[0]
    whole = GridFrontSearch().run(flat, einsum)
    monkeypatch.setattr(grid_front, "budget_of_answer", lambda *_: Budget(deadline=0.0))
    short = GridFrontSearch(budget_s=60.0).run(flat, einsum)
    assert short.certificate.is_whole
    assert [point.values for point in short.points] == [whole.points[0].values]
    assert short.certificate.undecided == len(whole.points) - 1
    assert 0 < short.certificate.gap < inf
    monkeypatch.setattr(grid_front, "BOUNDING_SHARE", 0.0)
    short = GridFrontSearch(budget_s=60.0).run(flat, einsum)
    assert not short.certificate.is_complete
    assert short.certificate.gap == inf
    assert "others not looked at for lack of time" in str(short.certificate)


def test_a_run_that_ends_with_the_budget_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    flat = grid_arch("matrix product", 32, 2, 2)
    einsum = einsum_workload("matrix product").einsums[0]
    space = GridMapspace(grid_of(flat), einsum)
    candidates = Candidates.of("latency", ExecutionSettings(), flat, space)
    walk = _FrontWalk(candidates, METRICS, Budget(deadline=0.0))
    while not walk.points:
        walk.step()

    def stopped(_: Candidates, choice: GridChoice, stop: Stop) -> int:
        assert stop(1)
        raise RunStoppedError("stopped", value=str(choice))

    monkeypatch.setattr(Candidates, "simulated_cycles", stopped)
    executed, sizes = walk.executed, 0
    for _ in range(20):
        assert not walk.step()
        sizes = sum(map(walk.heap.size, walk.heap.entries))
    assert (walk.executed, len(walk.points)) == (executed, 1)
    assert sizes + walk.excluded + executed + walk.reasons.total() == sum(
        len(space.members(family.family)) for family in candidates.families
    )
