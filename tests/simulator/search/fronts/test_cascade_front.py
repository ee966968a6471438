"""The corners of a workload's front: no price of a second has a better mapping than they are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cascades import cascade_workload
from explore import at_night
from grid_mappings import HARDWARE

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.searches.restrictions import names_of
from tilewright.simulator.execution.execution import execute
from tilewright.simulator.search.fronts.cascade_front import CascadeFrontSearch
from tilewright.simulator.search.fronts.grid_front import GridFront
from tilewright.simulator.search.grid_certificate import NotExecuted, PricedTime
from tilewright.simulator.search.grid_mapping import GridRequest, map_on_grid

FORMS = ["product, row sums", *at_night("normalized rows", "smoothing")]


def arch_of(columns: int = 2, rows: int = 2) -> Arch:
    return load_arch(HARDWARE).with_values({"variables.GridX": columns, "variables.GridY": rows})


def front_of(form: str, **options: object) -> GridFront:
    return CascadeFrontSearch(**options).run(arch_of(), cascade_workload(form))  # type: ignore[arg-type]


@pytest.mark.parametrize("form", FORMS)
def test_no_price_has_a_better_mapping_than_the_corners(form: str) -> None:
    front = front_of(form)
    assert front.certificate.is_complete
    assert "corners of the convex hull" in names_of(front.certificate.restrictions)
    assert len(front.points) > 1
    latencies, energies = zip(*(point.values for point in front.points), strict=True)
    assert sorted(latencies) == list(latencies)
    assert sorted(energies, reverse=True) == list(energies)
    slope = (energies[0] - energies[-1]) / (latencies[-1] - latencies[0])
    for factor in (0.01, 1.0, 100.0):
        price = factor * slope
        request = GridRequest(objective=PricedTime(price))
        answer = map_on_grid(arch_of(), cascade_workload(form), request)
        least = min(e + price * t for t, e in zip(latencies, energies, strict=True))
        assert answer.certificate.is_optimal
        assert answer.value == pytest.approx(least, rel=1e-9)


def test_corners_are_executions_of_their_mappings() -> None:
    form = FORMS[0]
    front = front_of(form, metrics=("energy", "latency"))
    assert [point.values[0] for point in front.points] == sorted(p.values[0] for p in front.points)
    for point in front.points:
        run = execute(arch_of(), cascade_workload(form), point.mapping)
        assert (run.energy, run.latency) == point.values


def test_a_budget_leaves_corners_out() -> None:
    seen: list[int] = []
    request = GridRequest(budget_s=60.0)
    search = CascadeFrontSearch(
        request=request, on_progress=lambda _, corners: seen.append(corners)
    )
    whole = search.run(arch_of(), cascade_workload(FORMS[0]))
    assert seen == list(range(1, len(seen) + 1))
    short = replace(search, request=GridRequest(budget_s=1e-3))
    try:
        front = short.run(arch_of(), cascade_workload(FORMS[0]))
    except NotExecuted:
        return
    assert not front.certificate.is_complete
    assert "not proved" in str(front.certificate)
    assert len(front.points) <= len(whole.points)
