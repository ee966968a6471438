"""Candidates on a large grid: timed by their pattern, the best of them executed."""

from pathlib import Path

import pytest
from grid_mappings import RESIDENT_GEMV

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.searches.budget import budget_from
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.quotient import pattern_cycles
from tilewright.simulator.search import candidate_search
from tilewright.simulator.search.candidates import candidates
from tilewright.simulator.search.candidates.candidate_runs import CandidateRuns
from tilewright.simulator.search.grid_mapping import (
    GridMapping,
    GridRequest,
    cascade_of,
    map_on_grid,
)
from tilewright.simulator.search.grid_search import GridObjective, GridSearch, GridSearchResult

HARDWARE = Path(__file__).resolve().parents[3] / "studies" / "hardware" / "wafer_grid.yaml"
CONSTRAINTS = GridConstraints(x="k", y="m", tile="none")


@pytest.fixture
def patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small grids be timed by their pattern, too."""
    monkeypatch.setattr(candidates, "LARGE_GRID", 64)
    monkeypatch.setattr(pattern_cycles, "LARGEST_SHARE", 1)


def search(objective: GridObjective) -> GridSearchResult:
    arch = load_arch(HARDWARE, variables={"GridX": 30, "GridY": 6})
    workload = load_workload(load_document("w.yaml", text=RESIDENT_GEMV))
    flat = grid_path(arch, workload, workload.einsums[0])
    return GridSearch(objective=objective, constraints=CONSTRAINTS).run(flat, workload.einsums[0])


def mapped() -> GridMapping:
    arch = load_arch(HARDWARE, variables={"GridX": 30, "GridY": 6})
    workload = load_workload(load_document("w.yaml", text=RESIDENT_GEMV))
    return map_on_grid(arch, workload, GridRequest(constraints={"Y": CONSTRAINTS}))


def search_of_a_large_grid() -> candidate_search.CandidateSearch:
    arch = load_arch(HARDWARE, variables={"GridX": 30, "GridY": 6})
    workload = load_workload(load_document("w.yaml", text=RESIDENT_GEMV))
    cascade = cascade_of(arch, workload, GridRequest(constraints={"Y": CONSTRAINTS}))
    large = cascade.options[0][0].search(1 << 60)
    assert large is not None
    return large


OBJECTIVES: tuple[GridObjective, ...] = ("latency", "energy", "edp")


@pytest.fixture(scope="module")
def executions() -> dict[GridObjective, GridSearchResult]:
    """Return the answers of searches that execute every candidate."""
    return {objective: search(objective) for objective in OBJECTIVES}


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.usefixtures("patterns")
def test_the_answer_is_that_of_executions(
    executions: dict[GridObjective, GridSearchResult], objective: GridObjective
) -> None:
    timed, executed = search(objective), executions[objective]
    assert timed.value == executed.value
    assert timed.execution.cycles == executed.execution.cycles
    assert timed.certificate.is_optimal
    assert timed.certificate.bound == executed.certificate.bound
    # executed candidates begin with one of few words on links, timed ones with the least bound
    counts = [
        c.excluded + max(c.executed, c.timed) for c in (timed.certificate, executed.certificate)
    ]
    assert counts[0] == counts[1]
    assert timed.certificate.timed > 0
    assert executed.certificate.timed == 0
    assert "timed by their pattern" in str(timed.certificate)
    assert "timed" not in str(executed.certificate)


@pytest.mark.usefixtures("patterns")
def test_a_mapped_workload_runs_only_its_best_mapping(
    executions: dict[GridObjective, GridSearchResult],
) -> None:
    found, executed = mapped(), executions["latency"]
    assert found.value == executed.value
    assert found.execution.latency == found.value
    assert found.results["Y"].execution.cycles == executed.execution.cycles
    assert found.certificate.timed > 0
    counts = [
        c.excluded + max(c.executed, c.timed) for c in (found.certificate, executed.certificate)
    ]
    assert counts[0] == counts[1]


def test_a_search_that_is_late_looks_for_no_first_candidate() -> None:
    arch = load_arch(HARDWARE, variables={"GridX": 3, "GridY": 2})
    workload = load_workload(load_document("w.yaml", text=RESIDENT_GEMV))
    cascade = cascade_of(arch, workload, GridRequest(constraints={"Y": CONSTRAINTS}))
    first = cascade.options[0][0].search(1 << 60)
    assert first is not None
    first.runs.budget = budget_from(0.0)
    assert not first.start()
    assert first.executed == 0
    assert first.undecided > 0


def test_time_is_left_for_a_run_on_numbers() -> None:
    """Also where the cycles were found in no time: a run for values alone takes its own."""
    arch = load_arch(HARDWARE, variables={"GridX": 4, "GridY": 4})
    workload = load_workload(load_document("w.yaml", text=RESIDENT_GEMV))
    cascade = cascade_of(arch, workload, GridRequest(exchanges=False))
    best = cascade.options[0][0].search(1 << 60)
    assert best is not None
    assert best.seconds_on_numbers(is_known=True) == 0
    best.start()
    assert best.choice is not None
    best.runs.seconds[best.choice] = 2.0
    assert best.seconds_on_numbers(is_known=True) == 1.0
    assert best.seconds_on_numbers(is_known=False) == 3.4
    best.runs.seconds[best.choice] = 0.0
    cycles = best.candidates.known_cycles[best.choice]
    elements = best.candidates.plan(best.choice).placement.size
    assert best.seconds_on_numbers(is_known=False) == pytest.approx(1e-8 * cycles * elements)


@pytest.mark.usefixtures("patterns")
def test_a_timing_that_time_ends_leaves_the_candidate_where_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search = search_of_a_large_grid()
    while not search.heap.entries[0].is_settled:
        assert search.refine()
    before, undecided = sorted(search.heap.entries), search.undecided
    late = iter([False, True, True])
    monkeypatch.setattr(CandidateRuns, "is_over", property(lambda _: next(late)))
    assert not search.step()
    assert (sorted(search.heap.entries), search.undecided) == (before, undecided)
    assert search.best_bounded() == before[0].choice


@pytest.mark.usefixtures("patterns")
def test_a_candidate_that_no_refinement_shows_has_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_search, "MOST_REFINED", 0)
    search = search_of_a_large_grid()
    least = search.heap.entries[0].family
    choice = search.best_bounded()
    assert choice is not None
    assert choice.family == least
    assert search.candidates.least_cycles(choice) > 0
    assert search.best_bounded() == choice
