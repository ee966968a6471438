"""The corners of a workload's front: no price of a second, and no memory, has a better mapping."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cascades import cascade_workload
from explore import at_night
from grid_mappings import HARDWARE

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.searches.restrictions import names_of
from tilewright.mapper.workload.errors import InfeasibleMapping, NoFeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.execution.execution import execute
from tilewright.simulator.search.fronts.cascade_front import CascadeFrontSearch
from tilewright.simulator.search.fronts.grid_front import GridFront
from tilewright.simulator.search.grid_certificate import (
    GridObjective,
    NotExecuted,
    PricedTime,
    objective_value,
)
from tilewright.simulator.search.grid_mapping import GridRequest, grid_paths, map_on_grid

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


def limited(bits: int) -> ExecutionSettings:
    """Settings by which mappings may take so many bits of an element's memory."""
    flat = grid_paths(arch_of(), cascade_workload(FORMS[0]))["S"]
    whole = int(grid_of(flat).memory.size) // 8
    return ExecutionSettings(overrides={"sram_reserved_bytes": whole - bits // 8})


@pytest.mark.parametrize("form", ["product, row sums", *at_night("two products", "smoothing")])
@pytest.mark.parametrize("priced", [("latency",), ("energy",), ("latency", "energy")])
def test_no_size_of_the_memory_has_a_better_mapping(form: str, priced: tuple[str, ...]) -> None:
    front = front_of(form, metrics=(*priced, "usage"))
    assert front.certificate.is_complete
    names = names_of(front.certificate.restrictions)
    assert "sizes with room for alignment" in names
    assert ("corners of the convex hull" in names) == (len(priced) > 1)
    sizes = sorted(point.values[-1] for point in front.points)
    assert len(sizes) >= 4
    objectives: list[GridObjective] = [name for name in ("latency", "energy") if name in priced]
    if len(priced) > 1:
        objectives.append(PricedTime(front.points[-1].values[1] / front.points[-1].values[0]))
    for size in (sizes[0], sizes[1] - 16, sizes[2], sizes[-1] + 160):
        for objective in objectives:
            least = min(
                objective_value(objective, point.execution.latency, point.execution.energy)
                for point in front.points
                if point.values[-1] <= size
            )
            request = GridRequest(objective=objective, settings=limited(int(size)))
            try:
                answer = map_on_grid(arch_of(), cascade_workload(form), request)
            except NoFeasibleMapping:
                continue
            assert least <= answer.value * (1 + 1e-9)
    request = GridRequest(settings=limited(int(sizes[0]) - 16))
    with pytest.raises(NoFeasibleMapping, match="free bytes"):
        map_on_grid(arch_of(), cascade_workload(form), request)


def test_points_by_memory_take_what_they_say() -> None:
    front = front_of("product, row sums", metrics=("usage", "latency"))
    assert [point.values for point in front.points] == sorted(p.values for p in front.points)
    for point in front.points:
        usage, latency = point.values
        for bits, fits in ((usage, True), (usage - 16, False)):
            try:
                run = execute(arch_of(), cascade_workload("product, row sums"), point.mapping,
                              settings=limited(int(bits)))  # fmt: skip
            except InfeasibleMapping:
                assert not fits
                continue
            assert fits
            assert run.latency == latency
