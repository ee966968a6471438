"""Runs that take too long: the answer lies between two bounds, and they enclose the optimum."""

from collections.abc import Mapping

import pytest
from grid_mappings import HARDWARE

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.searches.budget import UNLIMITED, budget_from
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.execution.execution import execute
from tilewright.simulator.search.candidates import candidates, long_runs
from tilewright.simulator.search.candidates.long_runs import LongRuns
from tilewright.simulator.search.fronts.grid_front import GridFrontSearch
from tilewright.simulator.search.grid_certificate import NotExecuted
from tilewright.simulator.search.grid_mapping import (
    GridMapping,
    GridRequest,
    cascade_of,
    map_on_grid,
)
from tilewright.simulator.search.grid_search import GridSearch

SETTINGS = ExecutionSettings(machine="wse3-sdk-sim")
ROWS_AND_COLUMNS = {"x": "n", "y": "m", "tile": "k"}


def arch() -> Arch:
    return load_arch(HARDWARE, variables={"GridX": 4, "GridY": 4})


def product(k: int = 64) -> Workload:
    text = (
        f"workload:\n  rank_sizes: {{M: 40, K: {k}, N: 48}}\n  bits_per_value: {{All: 32}}\n"
        "  einsums: ['C[m, n] = A[m, k] * B[k, n]']\n"
    )
    return load_workload(load_document("product.yaml", text=text))


def answer(constraints: Mapping[str, object], budget: float | None = None) -> GridMapping:
    request = GridRequest(
        settings=SETTINGS,
        constraints={"C": GridConstraints.of(constraints)},
        budget_s=budget,
    )
    return map_on_grid(arch(), product(), request)


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every run take too long, also on a small grid, and proofs by the pattern."""
    monkeypatch.setattr(candidates, "LARGE_GRID", 1)
    monkeypatch.setattr(candidates, "MOST_VISITS", 0)
    monkeypatch.setattr(long_runs, "MOST_OF_PROOFS", 0)


@pytest.mark.parametrize("constraints", [ROWS_AND_COLUMNS, {"x": "n", "y": "m"}, {"x": "n"}])
def test_the_bounds_enclose_the_optimum(
    constraints: Mapping[str, object], request: pytest.FixtureRequest
) -> None:
    best = answer(constraints)
    assert best.certificate.is_optimal
    assert not best.is_too_long
    request.getfixturevalue("nothing_runs")
    found = answer(constraints)
    assert found.certificate.bound <= best.value <= found.value
    assert found.gap == pytest.approx(found.value / found.certificate.bound - 1)
    assert found.certificate.executed == 0
    assert found.certificate.enclosed > 0
    assert found.is_too_long
    assert "least upper bound" in str(found.certificate)


@pytest.mark.usefixtures("nothing_runs")
def test_the_mapping_runs_between_its_bounds() -> None:
    found = answer(ROWS_AND_COLUMNS)
    run = execute(arch(), product(), found.mapping, settings=SETTINGS)
    assert found.prediction is not None
    least, most = found.prediction.lower_bound_cycles, found.prediction.cycles_at_most
    assert most is not None
    assert least <= run.cycles <= most
    assert found.value == most / 875e6
    with pytest.raises(NotExecuted, match=f"at most {most:,}"):
        found.execution  # noqa: B018


@pytest.mark.usefixtures("nothing_runs")
def test_mappings_without_an_upper_bound_are_answered_by_the_least_lower_one() -> None:
    found = answer({**ROWS_AND_COLUMNS, "buffers": 1})
    assert found.value == float("inf")
    assert found.is_too_long
    assert found.prediction is not None
    assert found.prediction.cycles_at_most is None
    assert found.prediction.lower_bound_cycles / 875e6 == pytest.approx(found.certificate.bound)
    assert found.certificate.enclosed == 0


@pytest.mark.usefixtures("nothing_runs")
def test_a_search_of_one_einsum_says_that_nothing_runs() -> None:
    workload = product()
    flat = cascade_of(arch(), workload, GridRequest()).flats["C"]
    search = GridSearch(settings=SETTINGS, constraints=GridConstraints.of(ROWS_AND_COLUMNS))
    with pytest.raises(NotExecuted, match="take too long"):
        search.run(flat, workload.einsums[0])


@pytest.mark.usefixtures("nothing_runs")
def test_a_front_says_that_its_mappings_would_not_run() -> None:
    workload = product()
    flat = cascade_of(arch(), workload, GridRequest()).flats["C"]
    with pytest.raises(NotExecuted, match="a front executes its mappings"):
        GridFrontSearch(metrics=("latency", "energy"), settings=SETTINGS).run(
            flat, workload.einsums[0]
        )


def long_runs_of(constraints: Mapping[str, object]) -> LongRuns:
    request = GridRequest(settings=SETTINGS, constraints={"C": GridConstraints.of(constraints)})
    return LongRuns(cascade_of(arch(), product(), request).options[0][0].candidates)


def test_a_budget_counts_where_there_may_be_an_upper_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    long = long_runs_of(ROWS_AND_COLUMNS)
    one, two = (
        next(f.family for f in long.candidates.families if f.family.buffers == n) for n in (1, 2)
    )
    assert not long.has(two, budget_from(0.0))  # a small grid
    monkeypatch.setattr(candidates, "LARGE_GRID", 1)
    assert not long.has(two, budget_from(0.0))  # a short run
    monkeypatch.setattr(long_runs, "LEAST_VISITS", 0)
    assert long.has(two, budget_from(0.0))
    assert not long.has(two, budget_from(1000.0))
    assert not long.has(one, budget_from(0.0))
    assert not long.has(two, UNLIMITED)
    monkeypatch.setattr(candidates, "MOST_VISITS", long.candidates.visits(one) - 1)
    assert long.has(one, UNLIMITED)


def test_a_budget_that_no_run_fits_in_gives_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "LARGE_GRID", 1)
    monkeypatch.setattr(long_runs, "LEAST_VISITS", 0)
    monkeypatch.setattr(long_runs, "VISITS_A_SECOND", 0)
    found = answer({**ROWS_AND_COLUMNS, "buffers": 2}, budget=30.0)
    assert found.is_too_long
    assert found.certificate.enclosed > 0
    assert found.value < float("inf")
