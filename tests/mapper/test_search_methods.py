"""The other searches: by name, by seed, with progress and budgets, never trusted unchecked."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import pytest
from buffered_design import arch, chain
from explore import at_night

from tilewright.arch.errors import TilewrightError
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Storage, Temporal
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.methods.annealing import AnnealingSearch
from tilewright.mapper.searches.methods.optuna_search import OptunaSearch
from tilewright.mapper.searches.methods.random_search import RandomSearch
from tilewright.mapper.searches.result import (
    EinsumMapping,
    MapspaceResult,
    MapspaceSearch,
    Progress,
    SearchStatistics,
)
from tilewright.mapper.searches.search_errors import InternalError
from tilewright.mapper.workload.errors import NoFeasibleMapping


@cache
def least_of_a_chain(objective: str, *sizes: int, m: int = 8) -> float:
    """The optimum that all methods and limits are compared with."""
    return search(arch(), chain(*sizes, m=m), objective=objective).certificate.value


@pytest.mark.parametrize(
    "method", ["exact", "exhaustive", "random", *at_night("annealing", "optuna")]
)
def test_methods_by_name(method: str) -> None:
    work, best = chain(2, 2, m=4), least_of_a_chain("energy", 2, 2, m=4)
    seen: list[Progress] = []
    found = search(arch(), work, method=method, seed=3, progress=seen.append)
    mine = [step.value for step in seen if step.doing == "searching T1"]
    assert mine == sorted(mine, reverse=True)
    assert mine[-1:] == ([] if method == "exact" else [found.certificate.value])
    assert found.certificate.lower_bound <= best * (1 + 1e-9)
    assert best * (1 - 1e-9) <= found.certificate.value <= best * 1.5
    assert (found.certificate.kind == "optimal") or method not in ("exact", "exhaustive")
    with pytest.raises(NoFeasibleMapping, match="REG has 7 bit"):
        search(arch(REG__size=7), work, method=method)


@pytest.mark.parametrize("method", [RandomSearch, AnnealingSearch, OptunaSearch])
def test_the_same_seed_gives_the_same_answer(method: Callable[..., MapspaceSearch]) -> None:
    work = chain(2, 2, m=4)
    first, again = (search(arch(), work, method=method(30, seed=3)) for _ in range(2))
    assert first.best == again.best
    assert first.certificate.kind == "bounded"
    assert first.statistics.evaluations in (30, 31)  # annealing evaluates its start, too


def test_unknown_method() -> None:
    with pytest.raises(TilewrightError, match="no such method") as caught:
        search(arch(), chain(4, 4), method="anealing")
    assert "annealing" in str(caught.value)


def test_annealing_comes_close_on_a_larger_space() -> None:
    work = chain(48, 64, m=32)
    best = search(arch(), work).certificate.value
    found = search(arch(), work, method=AnnealingSearch(samples=500, seed=1)).certificate
    assert found.value <= 1.5 * best
    assert found.lower_bound <= best * (1 + 1e-9)


@pytest.mark.parametrize("method", ["exact", "exhaustive", "random", "annealing", "optuna"])
@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
@pytest.mark.parametrize("limit", [{"budget": 0.0}, {"max_memory": 1.0}], ids=["time", "memory"])
def test_methods_stopped_at_once_have_a_mapping_and_a_bound(
    method: str, objective: str, limit: dict[str, float]
) -> None:
    work, best = chain(12, 16), least_of_a_chain(objective, 12, 16)
    options = {"objective": objective, "method": method, "fusion": False, **limit}
    hasty = search(arch(), work, **options)  # type: ignore[arg-type]
    proof = hasty.certificate
    assert 0 < proof.lower_bound <= best * (1 + 1e-9)
    assert proof.value >= best * (1 - 1e-9)
    assert evaluate(arch(), work, hasty.best.mapping) == hasty.best.score
    assert hasty.statistics.evaluations <= 1 or method == "exact"


def test_budgets_end_searches_by_chance() -> None:
    for method in (AnnealingSearch(10**6), RandomSearch(10**6), OptunaSearch(10**6)):
        began = time.monotonic()
        search(arch(), chain(12, 16), method=method, budget=0.2)
        assert time.monotonic() - began < 20


class Liar:
    """Claims half the energy of what it returns."""

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        honest = ExactSearch().find(space, goal, budget).best
        assert honest is not None
        claim = EinsumMapping(honest.mapping, honest.energy / 2, honest.latency)
        return MapspaceResult(claim, claim.energy, True, SearchStatistics())


def test_disagreement_with_the_model_is_never_a_result() -> None:
    with pytest.raises(InternalError, match="the search computed energy"):
        search(arch(), chain(2, 4), method=Liar())


class Crammer:
    """Returns a mapping that overfills the buffer, as if it were the best."""

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        del goal, budget
        tensors = tuple(space.einsum.tensors)
        loops = tuple(Temporal(name, 1) for name in space.einsum.bounds)
        whole = (Storage(tensors, "DRAM"), Storage(tensors, "BUF"))
        crammed = Mapping((*whole, *loops, ComputeNode(space.einsum.name, "MAC")))
        return MapspaceResult(EinsumMapping(crammed, 1.0, 1.0), 1.0, True, SearchStatistics())


def test_a_mapping_that_does_not_fit_is_never_taken_for_a_lack_of_mappings() -> None:
    with pytest.raises(InternalError, match="refused by the model: the tiles in BUF"):
        search(arch().with_values({"BUF.size": 16}), chain(2, 4), method=Crammer())
