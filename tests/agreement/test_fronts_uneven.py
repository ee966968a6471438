"""Fronts and formulas over uneven tiles, by the sweep and by listing all mappings."""

from __future__ import annotations

import numpy as np
import pytest
from uneven_cases import uneven_space

from tilewright.mapper.fronts.mapspace_front import (
    front_of_space,
    least_of_space,
    mapspace_sweep,
    with_usage_choices,
)
from tilewright.mapper.fronts.pareto_points import undominated
from tilewright.mapper.fronts.uneven_sweep import UnevenSweep
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import UNLIMITED
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.objective.formula import formula_of
from tilewright.mapper.searches.objective.measures import FrontMetrics, front_metrics_of
from tilewright.mapper.searches.verify import Verifier

SETS = (
    ("energy", "latency"),
    ("edp", "latency"),
    ("energy", "usage"),
    ("latency", "usage.BUF"),
    ("energy", "latency", "usage"),
    ("usage.DRAM", "energy"),
)
FORMULAS = ("energy * latency**2", "max(energy / 1e3, latency)", "energy * usage.BUF")
SEEDS = (1, 2, 7, 9)


def listed(space: Mapspace) -> list[Score]:
    judge = Verifier(space)
    return [judge.score(mapping) for mapping in space]


def covered_not(measures: FrontMetrics, rows: list[tuple[float, ...]]) -> Floats:
    values = np.array([measures.values(row) for row in rows])
    kept: Floats = values[undominated(values)]
    return kept


def check_fronts(space: Mapspace) -> int:
    """Compare all sets of metrics; return the most points of a front."""
    longest, known = 0, dict[frozenset[str], list[Score]]()
    for asked in SETS:
        measures = front_metrics_of(asked, [space.flat])
        wide = with_usage_choices(space, measures.memories)
        assert isinstance(mapspace_sweep(wide, measures.memories), UnevenSweep)
        result = front_of_space(space, measures, UNLIMITED)
        found = covered_not(measures, [point.row for point in result.points])
        if wide.crowded not in known:
            known[wide.crowded] = listed(wide)
        expected = covered_not(measures, list(map(measures.row, known[wide.crowded])))
        assert result.proven == np.inf
        assert np.sort(found, axis=0) == pytest.approx(np.sort(expected, axis=0), rel=1e-9), asked
        longest = max(longest, len(expected))
    return longest


def test_the_front_is_that_of_all_mappings() -> None:
    assert max(check_fronts(uneven_space(seed, small=True)) for seed in SEEDS) > 1


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(6))
def test_the_front_is_that_of_all_mappings_on_many(block: int) -> None:
    spaces = [uneven_space(seed, small=True) for seed in range(100 + 20 * block, 120 + 20 * block)]
    few = [space for space in spaces if space.size.points <= 1500]
    assert len(few) >= 8
    assert max(map(check_fronts, few)) > 1


@pytest.mark.parametrize("text", FORMULAS)
def test_the_least_of_a_formula_is_that_of_all_mappings(text: str) -> None:
    formula = formula_of(text, ["BUF"])
    for seed in SEEDS:
        space = uneven_space(seed, small=True)
        measures = FrontMetrics(("energy", "latency"), formula.memories)
        rows = map(measures.row, listed(with_usage_choices(space, formula.memories)))
        least = min(formula.of_row(*row) for row in rows)
        result = least_of_space(space, formula, UNLIMITED)
        assert result.value == pytest.approx(least, rel=1e-9)
        assert result.lower_bound == pytest.approx(least, rel=1e-9)
