"""Sums of tables without a tensor: the least over its places, or less where joins are too large."""

import random

import numpy as np
import pytest

from tilewright.simulator.search.paths import cost_tables
from tilewright.simulator.search.paths.cost_tables import PlaceCostTable, eliminated

SIZES = (3, 4, 2, 5)
LAST = len(SIZES) - 1


def drawn(seed: int) -> list[PlaceCostTable]:
    """Return tables over some of four tensors, the last one in each; some costs are infinite."""
    rng = random.Random(seed)
    tables = []
    for _ in range(rng.randint(1, 4)):
        tensors = (*(t for t in range(LAST) if rng.random() < 0.5), LAST)
        costs = (
            np.random.default_rng(rng.randrange(1 << 30)).integers(
                0, 50, [SIZES[t] for t in tensors]
            )
            * 1.0
        )
        costs[costs > 44] = np.inf
        tables.append(PlaceCostTable(tensors, costs))
    return tables


def sums(tables: list[PlaceCostTable], shape: tuple[int, ...]) -> np.ndarray:
    return np.array([sum(t.at(places) for t in tables) for places in np.ndindex(*shape)])


@pytest.mark.parametrize("seed", range(60))
def test_the_least_sum_over_the_places_of_a_tensor(seed: int) -> None:
    tables = drawn(seed)
    least = sums(tables, SIZES).reshape(-1, SIZES[LAST]).min(axis=1)
    results = eliminated(tables, LAST)
    assert len(results) == 1
    assert LAST not in results[0].tensors
    np.testing.assert_array_equal(sums(results, SIZES[:LAST]), least)


def test_joins_that_are_too_large_are_left_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_tables, "MOST_COSTS", 8)
    less = 0
    for seed in range(60):
        tables = drawn(seed)
        least = sums(tables, SIZES).reshape(-1, SIZES[LAST]).min(axis=1)
        results = eliminated(tables, LAST)
        bound = sums(results, SIZES[:LAST])
        assert (bound <= least).all()
        less += bool((bound < least).any())
        assert len(results) > 1 or (bound == least).all()
    assert less > 5
