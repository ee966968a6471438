"""Windows of a workload are bounded by themselves, and what they cost adds up."""

from __future__ import annotations

import random

import pytest
from explore import at_night
from fused_cases import workload_of
from fused_example import machine, plan

from tilewright.mapper.fusion.fused_answer import mapping_of_joined
from tilewright.mapper.fusion.groups.fusion_groups import JoinedMapping
from tilewright.mapper.fusion.groups.window_search import WindowSearch
from tilewright.mapper.fusion.groups.windows import WindowCost, window_ends
from tilewright.mapper.fusion.join import join_deepening, join_strategy
from tilewright.mapper.fusion.join.join_deepening import JoinSearch
from tilewright.mapper.model.evaluation import score_mapping
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.workload.workload import Workload

BLOCK = (
    "Q[m, e] = X[m, d] * U[d, e]",
    "K[n, e] = X2[n, d] * W[d, e]",
    "S[m, n] = Q[m, e] * K[n, e]",
    "O[m, f] = S[m, n] * V[n, f]",
    "Y[m, g] = O[m, f] * WO[f, g]",
    "H[m, c] = Y[m, g] * WH[g, c]",
    "R[m, g] = H[m, c] * WR[c, g]",
)


def block(seed: int) -> tuple[Workload, int]:
    """Return a small transformer block, and the bits of a buffer for it."""
    rng = random.Random(seed)
    bounds = {v: rng.choice((2, 4, 4, 6)) for v in "mndefgc"}
    return workload_of(BLOCK, bounds), rng.choice((14, 20, 28, 40))


@pytest.mark.parametrize("seed", [3, *at_night(14, *range(20, 60))])
def test_bounds_of_windows_lose_no_mapping(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    workload, bits = block(seed)
    problem = plan(bits, workload).problem
    assert window_ends(problem.exchanged) == [3, 7]
    risen: list[float] = []
    raised = WindowSearch._raise

    def noted(search: WindowSearch, known: WindowCost, value: float) -> None:
        raised(search, known, value)
        least = search._windows.least_cost(search._bounds.costs)
        assert least >= value * (1 - 1e-12)
        risen.append(least)

    monkeypatch.setattr(WindowSearch, "_raise", noted)
    monkeypatch.setattr(join_strategy, "LARGE", 0)
    split = JoinSearch(problem, Budget()).solve()
    monkeypatch.setattr(join_deepening, "window_ends", lambda _: [7])
    whole = JoinSearch(problem, Budget()).solve()
    assert split.ended is None
    assert split.label is not None
    assert split.lower_bound == pytest.approx(whole.lower_bound, rel=1e-9)
    assert split.label.energy == pytest.approx(whole.lower_bound, rel=1e-9)
    assert max(risen, default=0.0) <= whole.lower_bound * (1 + 1e-9)
    if seed in (3, 14):  # of some, the first mapping costs what windows cost at least
        assert risen[-1] > risen[0]


def test_the_best_mapping_of_a_window_goes_into_the_best_known_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The model gives the mapping put together just the energy that the search expects."""
    workload, bits = block(56)
    problem = plan(bits, workload).problem
    better: list[JoinedMapping] = []
    improved = WindowSearch.improved

    def noted(search: WindowSearch, whole: JoinedMapping) -> JoinedMapping:
        result = improved(search, whole)
        if result.label.energy < whole.label.energy:
            better.append(result)
        return result

    monkeypatch.setattr(WindowSearch, "improved", noted)
    monkeypatch.setattr(join_strategy, "LARGE", 0)
    JoinSearch(problem, Budget()).solve()
    assert better
    for joined in better:
        mapping = mapping_of_joined(joined, problem.exchanged)
        score = score_mapping(machine(bits), workload, mapping)
        assert score.energy == pytest.approx(joined.label.energy, rel=1e-12)
