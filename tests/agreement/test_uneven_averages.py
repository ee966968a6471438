"""Uneven tiles under the accelforge conventions: the search beside the list of all mappings."""

from __future__ import annotations

import pytest
from best_of_listed import OBJECTIVES, check_best
from explore import enough
from memo import stored_figures
from points import of_points
from uneven_cases import averaged_space

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.label_metrics import Goal


def check(seeds: range, limit: int) -> tuple[int, int]:
    """Compare; return how many cases were small enough, and in how many odd tiles gain."""
    done = gains = 0
    for seed in seeds:
        space = averaged_space(seed)
        if space is None or space.size.points > limit:
            continue
        done += 1
        mappings = list(space)
        listed = stored_figures(of_points, averaged_space, seed, limit)
        assert listed is not None
        even = Mapspace(space.einsum, space.flat, "accelforge")
        for objective in OBJECTIVES:
            found = check_best(space, objective, listed)
            plain = ExactSearch().find(even, Goal(objective), None).best
            if found is not None and plain is not None:
                gains += found.value(objective) < plain.value(objective) * (1 - 1e-9)
        for mapping in mappings[:: max(1, len(mappings) // 5)]:
            assert space.contains(mapping) is None, seed
    return done, gains


def test_search_equals_the_best_of_all_mappings() -> None:
    done, gains = check(range(6), 200)
    assert done == 3
    assert gains == 3


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10))
def test_search_equals_the_best_of_all_mappings_on_many(block: int) -> None:
    assert enough(check(range(1000 + 30 * block, 1030 + 30 * block), 3000)[0], 10)
