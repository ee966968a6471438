"""Tiles of tensors on chip about which Einsums agree: nothing that can be joined is left out."""

from __future__ import annotations

import numpy as np
import pytest
from fused_cases import chain
from fused_example import graph_within, plan

from tilewright.mapper.fusion.agreed_tiles import AgreedTiles, building_order
from tilewright.mapper.fusion.join.join_deepening import JoinSearch
from tilewright.mapper.fusion.pmappings.region.region_rules import AgreedTile, tile_codes
from tilewright.mapper.searches.budget import Budget


def test_tiles_are_admitted_by_the_variables_of_the_tensor_alone() -> None:
    tiles = np.array([[2, 3, 4], [2, 1, 4], [1, 3, 4], [2, 3, 1]])
    bounds = np.array([2, 3, 4])
    codes = np.unique(tile_codes(np.array([[4, 2]]), bounds[[2, 0]]))
    agreed = AgreedTile(0, "BUF", (2, 0), codes.tobytes())
    assert agreed.admits(tiles, bounds).tolist() == [True, True, False, False]


@pytest.mark.nightly
def test_search_is_the_same_with_fewer_pmappings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within some energy, ways to join cost the same with and without; the tables are smaller."""
    problem = plan(30, chain(4, (2, 4, 2, 3))).problem
    best = JoinSearch(problem, Budget()).solve()

    def within(share: float) -> tuple[tuple[float, float], int]:
        limit = best.lower_bound * share, float("inf")
        graph = graph_within(JoinSearch(problem, Budget()), limit)
        assert graph is not None
        groups = [group for step in graph.steps for group in step.groups]
        return graph.least_costs, sum(len(group.values) for group in groups)

    agreed = [within(share) for share in (1.0001, 1.1)]
    monkeypatch.setattr(AgreedTiles, "of", lambda *_: ())
    free = [within(share) for share in (1.0001, 1.1)]
    solved = JoinSearch(problem, Budget()).solve()
    assert solved.label is not None
    assert best.label is not None
    assert solved.label.measures == best.label.measures
    assert [costs for costs, _ in agreed] == [costs for costs, _ in free]
    assert sum(count for _, count in agreed) < sum(count for _, count in free)


def test_einsums_that_reuse_most_come_first() -> None:
    einsums = chain(4, (2, 4, 2, 3)).einsums
    order = building_order(einsums)
    assert sorted(order) == list(range(len(einsums)))
