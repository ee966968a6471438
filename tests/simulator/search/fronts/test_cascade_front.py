"""The points of a workload's front: no combination of mappings beats one or is beaten by none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cascade_combinations import all_runs, small_constraints
from cascades import cascade_workload
from explore import at_night
from grid_mappings import HARDWARE

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.searches.restrictions import names_of
from tilewright.mapper.workload.errors import InfeasibleMapping, NoFeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.execution.execution import execute
from tilewright.simulator.search.fronts.cascade_front import CascadeFrontSearch
from tilewright.simulator.search.fronts.front_boxes import unbeaten
from tilewright.simulator.search.fronts.grid_front import GridFront
from tilewright.simulator.search.fronts.walk_answers import MappedRun
from tilewright.simulator.search.grid_certificate import (
    Costs,
    GridObjective,
    NotExecuted,
    PricedTime,
    objective_value,
)
from tilewright.simulator.search.grid_mapping import GridRequest, grid_paths, map_on_grid

FORMS = ["product, row sums", *at_night("normalized rows", "smoothing")]
ROUNDED = 1e-9


def arch_of(columns: int = 2, rows: int = 2) -> Arch:
    return load_arch(HARDWARE).with_values({"variables.GridX": columns, "variables.GridY": rows})


def front_of(form: str, **options: object) -> GridFront:
    return CascadeFrontSearch(**options).run(arch_of(), cascade_workload(form))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("form", "x"),
    [
        ("product, row sums", "m"),
        pytest.param("product, row sums", "free", marks=pytest.mark.nightly),
        pytest.param("normalized rows", "free", marks=pytest.mark.nightly),
        pytest.param("smoothing", "free", marks=pytest.mark.nightly),
        pytest.param("read twice", "free", marks=pytest.mark.nightly),
    ],
)
def test_the_points_are_those_of_all_combinations(form: str, x: str) -> None:
    """Those with parts of the grid, any order of loops and any division among them."""
    workload = cascade_workload(form)
    constraints = small_constraints(form, workload, x)
    runs = list(all_runs(workload, constraints, has_parts=True))
    assert len(runs) > 15
    expected = unbeaten(Costs(run.latency, run.energy) for run in runs)
    front = front_of(form, request=GridRequest(constraints=constraints))
    assert front.certificate.is_complete
    assert [point.values[0] for point in front.points] == pytest.approx(
        [point.latency for point in expected], rel=1e-12
    )
    assert [point.values[1] for point in front.points] == pytest.approx(
        [point.energy for point in expected], rel=1e-12
    )


@pytest.mark.parametrize(
    "tile",
    ["none", pytest.param("free", marks=pytest.mark.nightly)],
)
def test_the_points_of_all_three_are_those_of_all_combinations(tile: str) -> None:
    """Where nothing stays no room is kept for alignment, and sizes are exact."""
    form = "product, row sums"
    workload = cascade_workload(form)
    constraints = small_constraints(form, workload, "m")
    constraints = {name: replace(each, tile=tile) for name, each in constraints.items()}
    runs = all_runs(workload, constraints, has_parts=False, stays=False)
    values = {(r.cycles, f"{r.energy:.9e}", MappedRun(Mapping(()), r).usage) for r in runs}
    expected = {
        a for a in values
        if not any(b != a and b[0] <= a[0] and float(b[1]) <= float(a[1]) and b[2] <= a[2]
                   for b in values)
    }  # fmt: skip
    request = GridRequest(constraints=constraints, exchanges=False)
    front = front_of(form, metrics=("latency", "energy", "usage"), request=request)
    assert front.certificate.is_complete
    found = [(p.execution.cycles, f"{p.execution.energy:.9e}", p.values[2]) for p in front.points]
    assert len(found) > 1
    assert found == sorted(expected)


def test_points_above_the_line_between_others_are_among_them() -> None:
    front = front_of("normalized rows")
    points = [point.values for point in front.points]
    (first, _), (last, _) = points[0], points[-1]
    lines = [
        left[1] + (left[1] - right[1]) * (left[0] - middle[0]) / (right[0] - left[0]) - middle[1]
        for left, middle, right in zip(points, points[1:], points[2:], strict=False)
    ]
    assert first < last
    assert any(below < 0 for below in lines)


@pytest.mark.parametrize("form", FORMS)
def test_no_price_has_a_better_mapping_than_the_points(form: str) -> None:
    """The search for the best mapping at a price of a second says the same."""
    front = front_of(form)
    assert front.certificate.is_complete
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
        assert answer.value == pytest.approx(least, rel=ROUNDED)


def test_points_are_executions_of_their_mappings() -> None:
    form = FORMS[0]
    front = front_of(form, metrics=("energy", "latency"))
    assert [point.values[0] for point in front.points] == sorted(p.values[0] for p in front.points)
    for point in front.points:
        run = execute(arch_of(), cascade_workload(form), point.mapping)
        assert (run.energy, run.latency) == point.values


def test_progress_is_reported() -> None:
    seen: list[tuple[int, int]] = []
    front = front_of("normalized rows", on_progress=lambda *of: seen.append(of))
    executed, points = zip(*seen, strict=True)
    assert sorted(executed) == list(executed)
    assert executed[-1] <= front.certificate.executed
    assert max(points) >= len(front.points)


@pytest.mark.parametrize("most", [1, 3, 6, 10])
def test_a_limit_leaves_a_stated_gap(most: int) -> None:
    """Each mapping is beaten by a point whose values are divided by 1 + gap."""
    whole = front_of("normalized rows")
    short = front_of("normalized rows", request=GridRequest(most_executions=most))
    gap = short.certificate.gap
    assert whole.certificate.gap == 0
    assert short.certificate.is_complete == (gap == 0)
    assert gap < 1
    for point in whole.points:
        assert any(
            all(
                v <= w * (1 + gap) * (1 + ROUNDED)
                for v, w in zip(p.values, point.values, strict=True)
            )
            for p in short.points
        )
    if gap > 0:
        assert "of the whole set" in str(short.certificate)
        assert short.certificate.undecided > 0


def test_a_budget_leaves_points_out() -> None:
    whole = front_of(FORMS[0], request=GridRequest(budget_s=60.0))
    try:
        front = front_of(FORMS[0], request=GridRequest(budget_s=1e-3))
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
