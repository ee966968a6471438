"""Lower bounds of the remaining energy on the grid of tile classes."""

from __future__ import annotations

from itertools import islice
from math import inf

import numpy as np
import pytest
from uneven_cases import uneven_space

from tilewright.mapper.mapspace.factors import divisors
from tilewright.mapper.searches.budget import UNLIMITED
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.uneven.costs.remaining_energy import range_min, tile_classes
from tilewright.mapper.searches.uneven.uneven_search import UnevenRun


@pytest.mark.parametrize("merge", [1, 2, 5])
def test_classes_cover_all_tiles_with_their_fewest_visits(merge: int) -> None:
    for bound in (1, 2, 7, 24, 97):
        axis = tile_classes(bound, True, merge)
        for tile in range(1, bound + 1):
            place = int(axis.of_tile[tile])
            assert axis.smallest[place] <= tile <= axis.largest[place]
            assert axis.fewest[place] <= -(-bound // tile)
        assert axis.largest[0] == 1  # the Compute's tile is alone
        assert np.flatnonzero(tile_classes(bound, False, 1).of_tile >= 0).tolist() == list(
            divisors(bound)
        )


def test_range_min_equals_slices() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        size = int(rng.integers(1, 40))
        values = rng.random((size, 3))
        low, high = rng.integers(0, size, size), rng.integers(0, size + 1, size)
        found = range_min(values, low, high)
        for place in range(size):
            part = values[low[place] : high[place]]
            least = part.min(axis=0) if len(part) else np.full(3, inf)
            assert (found[place] == least).all()


def test_the_outlook_is_below_every_mapping_of_its_template() -> None:
    compared = 0
    for seed in (1, 3, 7, 9, 12, 21):
        space = uneven_space(seed, small=True)
        run = UnevenRun(space, Goal("energy"), UNLIMITED)
        run.rank()
        if run.ranking.metrics.steady_watts:
            continue
        judge = MappingScorer(space)
        least = min((energy for _, energy, _ in run.ranking.ranked), default=inf)
        for mapping in islice(space, 100):
            assert judge.costed(mapping).energy >= least * (1 - 1e-12)
            compared += 1
    assert compared > 100
