"""Fronts and formulas over uneven tiles, by the sweep and by listing all mappings."""

from __future__ import annotations

import numpy as np
import pytest
from explore import at_night, enough
from memo import stored
from points import of_points
from uneven_cases import small_uneven_space

from tilewright.mapper.fronts.mapspace_front import (
    front_of_space,
    least_of_space,
    mapspace_sweep,
    with_usage_choices,
)
from tilewright.mapper.fronts.pareto_points import undominated
from tilewright.mapper.fronts.uneven_sweep import UnevenSweep
from tilewright.mapper.searches.budget import UNLIMITED
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.objective.measures import FrontMetrics, front_metrics_of
from tilewright.mapper.searches.objective.objective_formula import formula_of

SETS = (
    ("energy", "latency"),
    ("edp", "latency"),
    ("energy", "usage"),
    ("latency", "usage.BUF"),
    ("energy", "latency", "usage"),
    ("usage.DRAM", "energy"),
)
FORMULAS = ("energy * latency**2", "max(energy / 1e3, latency)", "energy * usage.BUF")
SEEDS = (1, 2, 9)
MOST = 1_000_000  # mappings: more than any of them has


def rows_of(seed: int, memories: tuple[str, ...]) -> list[tuple[float, ...]]:
    rows = stored(of_points, small_uneven_space, seed, MOST, memories)
    assert rows is not None
    return [tuple(row) for row in rows]


def covered_not(measures: FrontMetrics, rows: list[tuple[float, ...]]) -> Floats:
    values = np.array([measures.values(row) for row in rows])
    kept: Floats = values[undominated(values)]
    return kept


def check_fronts(seed: int) -> int:
    """Compare all sets of metrics; return the most points of a front."""
    space, longest = small_uneven_space(seed), 0
    for asked in SETS:
        measures = front_metrics_of(asked, [space.flat])
        wide = with_usage_choices(space, measures.memories)
        assert isinstance(mapspace_sweep(wide, measures.memories), UnevenSweep)
        result = front_of_space(space, measures, UNLIMITED)
        found = covered_not(measures, [point.row for point in result.points])
        expected = covered_not(measures, rows_of(seed, measures.memories))
        assert result.proven == np.inf
        assert np.sort(found, axis=0) == pytest.approx(np.sort(expected, axis=0), rel=1e-9), asked
        longest = max(longest, len(expected))
    return longest


@pytest.mark.parametrize("seed", [SEEDS[0], *at_night(*SEEDS[1:])])
def test_the_front_is_that_of_all_mappings(seed: int) -> None:
    assert check_fronts(seed) > 1


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(6))
def test_the_front_is_that_of_all_mappings_on_many(block: int) -> None:
    seeds = range(100 + 20 * block, 120 + 20 * block)
    few = [seed for seed in seeds if small_uneven_space(seed).size.points <= 1500]
    assert enough(len(few), 8)
    assert enough(max(map(check_fronts, few), default=0), 2)


@pytest.mark.parametrize("text", FORMULAS)
def test_the_least_of_a_formula_is_that_of_all_mappings(text: str) -> None:
    formula = formula_of(text, ["BUF"])
    for seed in SEEDS:
        least = min(formula.of_row(*row) for row in rows_of(seed, formula.memories))
        result = least_of_space(small_uneven_space(seed), formula, UNLIMITED)
        assert result.value == pytest.approx(least, rel=1e-9)
        assert result.lower_bound == pytest.approx(least, rel=1e-9)
