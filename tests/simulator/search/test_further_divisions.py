"""Further divisions of the work: where they are better, and where they are too many to look at."""

from math import inf

import pytest
from explore import at_night
from grid_mappings import HARDWARE, einsum_on_grid

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.restrictions import names_of
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.search import further_divisions
from tilewright.simulator.search.candidate_search import CandidateSearch
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.further_divisions import FurtherQuestion, further_families
from tilewright.simulator.search.grid_mapping import GridMapping, GridRequest, map_on_grid

LEAST_WORK = "shares of least work"


def candidates_of(sizes: dict[str, int], grid: tuple[int, int]) -> Candidates:
    flat, einsum = einsum_on_grid("Z[m] = A[m, k] * B[k]", sizes, grid, "A")
    space = GridMapspace(grid_of(flat), einsum)
    return Candidates.of("latency", ExecutionSettings(), flat, space)


def closed(candidates: Candidates) -> CandidateSearch:
    """Return the search of the divisions of least work, when it is done."""
    search = CandidateSearch(candidates, candidates.families)
    search.start()
    while search.step():
        pass
    return search


def test_fewer_elements_may_be_faster_than_the_fewest_points() -> None:
    """101 rows of 3 values on 8 x 8 elements: fewest are 6 points in shares of 2 rows by all
    three columns on 51 elements, whose results take longer to leave than 13 rows by one column."""
    candidates = candidates_of({"M": 101, "K": 3}, (8, 8))
    search = closed(candidates)
    first = search.value
    assert LEAST_WORK in {limit.name for limit in search.certificate().restrictions}
    assert search.widen()
    assert search.proved_bound == first, "that of the first candidates, while others are left"
    assert not search.has_all_divisions
    while search.step():
        pass
    assert search.value < first * 0.8
    assert search.has_all_divisions
    certificate = search.certificate()
    assert certificate.is_optimal
    assert certificate.bound == search.value
    assert LEAST_WORK not in {limit.name for limit in certificate.restrictions}


def test_a_search_is_widened_once_and_only_when_it_has_a_value() -> None:
    candidates = candidates_of({"M": 12, "K": 5}, (3, 2))
    new = CandidateSearch(candidates, candidates.families)
    assert not new.widen()
    search = closed(candidates)
    assert search.widen()
    assert not search.widen()


@pytest.mark.parametrize("limit", ["MOST_DIVISIONS", "MOST_FAMILIES"])
def test_too_many_are_not_looked_at(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    candidates = candidates_of({"M": 101, "K": 3}, (8, 8))
    search = closed(candidates)
    monkeypatch.setattr(further_divisions, limit, 3)
    assert not search.widen()
    assert search.certificate().is_optimal
    assert LEAST_WORK in {limit.name for limit in search.certificate().restrictions}


def test_the_time_may_be_over_before() -> None:
    candidates = candidates_of({"M": 101, "K": 3}, (8, 8))
    every = FurtherQuestion(lambda *_: True, has_energy=False)
    assert further_families(candidates, every, Budget(0.0)) is None


@pytest.mark.parametrize("with_energy", [False, *at_night(True)])
def test_none_of_the_families_left_out_is_better(*, with_energy: bool) -> None:
    """All families of all divisions, bounded one by one: those below the limits, and no others."""
    flat, einsum = einsum_on_grid(
        "Z[m, n] = A[m, k] * B[k, n]", {"M": 10, "N": 6, "K": 7}, (4, 3), "B"
    )
    candidates = Candidates.of(
        "latency", ExecutionSettings(), flat, GridMapspace(grid_of(flat), einsum)
    )
    quick, space = candidates.quick, candidates.space
    cycles = 1.5 * min(map(quick.cycles, (bounded.family for bounded in candidates.families)))
    energy = 1.2 * min(map(quick.energy, (bounded.family for bounded in candidates.families)))

    def is_open(least_cycles: float, least_energy: float, _: int) -> bool:
        return least_energy < energy if with_energy else least_cycles < cycles

    question = FurtherQuestion(is_open, with_energy, inf if with_energy else cycles)
    bounded = further_families(candidates, question)
    assert bounded is not None
    every = [
        family
        for shares in space.further_shares(inf, 1 << 20) or ()
        for family in space.families_of(shares)
        if is_open(quick.cycles(family), quick.energy(family), 0)
    ]
    assert [each.family for each in bounded] == every
    assert every


def mapped(persistent: str, *, exchanges: bool) -> GridMapping:
    text = (
        "workload:\n  rank_sizes: {M: 29, K: 3, L: 4}\n  bits_per_value: {All: 32}\n"
        f"  persistent_tensors: {persistent}\n"
        '  einsums: ["Y[m] = A[m, k] * B[k]", "Z[l] = C[l, m] * Y[m]"]\n'
    )
    workload = load_workload(load_document("two.yaml", text=text))
    arch = load_arch(HARDWARE, variables={"GridX": 5, "GridY": 5})
    return map_on_grid(arch, workload, GridRequest(exchanges=exchanges))


def test_einsums_that_exchange_nothing_look_at_all_divisions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    apart, together = (mapped("Nothing", exchanges=exchanges) for exchanges in (False, True))
    monkeypatch.setattr(CandidateSearch, "widen", lambda *_, **__: False)
    first = mapped("Nothing", exchanges=False)
    assert all(answer.certificate.is_optimal for answer in (apart, together, first))
    assert together.value <= apart.value < first.value
    restrictions = [names_of(answer.certificate.restrictions) for answer in (apart, together)]
    assert [LEAST_WORK in names for names in restrictions] == [False, True]


def test_persistent_tensors_of_several_einsums_leave_no_room_for_all() -> None:
    answer = mapped("A | C", exchanges=False)
    assert answer.certificate.is_optimal
    assert LEAST_WORK in names_of(answer.certificate.restrictions)
