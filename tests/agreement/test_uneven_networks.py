"""Uneven tiles on networks: the search, hops and all, beside the list of all mappings."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from best_of_listed import OBJECTIVES, SECOND, check_best
from explore import at_night, enough
from memo import stored_figures
from network_cases import uneven_network_space_of
from points import of_few_points

from tilewright.mapper.fronts.mapspace_front import front_of_space, mapspace_sweep
from tilewright.mapper.fronts.pareto_points import undominated
from tilewright.mapper.fronts.uneven_sweep import UnevenSweep
from tilewright.mapper.searches.budget import UNLIMITED
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.objective.measures import front_metrics_of
from tilewright.mapper.workload.errors import UnsupportedFeature

FRONT = 7  # seed of a case with several points
TWICE = "two dimensions below a network that takes time"


def check(seeds: Iterable[int], limit: int) -> int:
    """Compare values, bounds and ties; return how many cases were small enough and searched."""
    done = 0
    for seed in seeds:
        listed = stored_figures(of_few_points, uneven_network_space_of, seed, limit)
        if listed is None:
            continue
        space = uneven_network_space_of(seed)
        try:
            results = [ExactSearch().find(space, Goal(one), None) for one in OBJECTIVES]
        except UnsupportedFeature as error:
            if TWICE not in str(error):
                raise
            continue
        done += 1
        for objective, result in zip(OBJECTIVES, results, strict=True):
            second = None if objective == "edp" else SECOND[objective]
            check_best(space, objective, listed, result, second=second)
    return done


@pytest.mark.parametrize("seeds", [(0, 1, 2), *at_night((5, 8))])
def test_search_equals_the_best_of_all_mappings(seeds: tuple[int, ...]) -> None:
    assert check(seeds, 400) >= 1


def test_fronts_are_those_of_all_mappings() -> None:
    space = uneven_network_space_of(FRONT)
    measures = front_metrics_of(("energy", "latency"), [space.flat])
    judge = MappingScorer(space)
    every = np.array([measures.row(judge.score(mapping)) for mapping in space])
    assert isinstance(mapspace_sweep(space, ()), UnevenSweep)
    result = front_of_space(space, measures, UNLIMITED)
    found = np.array([point.row for point in result.points])
    expected = every[undominated(every)]
    assert len(expected) > 1
    assert np.sort(found, axis=0) == pytest.approx(np.sort(expected, axis=0), rel=1e-9)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10))
def test_search_equals_the_best_of_all_mappings_on_many(block: int) -> None:
    assert enough(check(range(1000 + 30 * block, 1030 + 30 * block), 4000), 8)
