"""Fronts and formulas over uneven tiles, by the sweep and by listing all mappings."""

from __future__ import annotations

import numpy as np
import pytest
from uneven_cases import uneven_space

from tilewright.mapper.fronts.formula import formula_of
from tilewright.mapper.fronts.measures import Measures, measures_of
from tilewright.mapper.fronts.one import Point, front_of_space, least_of_space, sweep_of
from tilewright.mapper.fronts.points import undominated
from tilewright.mapper.fronts.uneven import UnevenSweep
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import ENDLESS
from tilewright.mapper.searches.judge import Judge
from tilewright.mapper.searches.kernels import Floats

SETS = (("energy", "latency"), ("edp", "latency"))
FORMULAS = ("energy * latency**2", "max(energy / 1e3, latency)")
SEEDS = (1, 2, 4, 7, 9, 11)


def listed(space: Mapspace) -> list[tuple[float, float]]:
    judge = Judge(space)
    scores = [judge.score(mapping) for mapping in space]
    return [(score.energy, score.latency) for score in scores]


def covered_not(measures: Measures, rows: list[tuple[float, float]]) -> Floats:
    values = np.array([measures.values(row) for row in rows])
    kept: Floats = values[undominated(values)]
    return kept


def rows_of(points: tuple[Point, ...]) -> list[tuple[float, float]]:
    return [(point.row[0], point.row[1]) for point in points]


def test_the_front_is_that_of_all_mappings() -> None:
    longest = 0
    for seed in SEEDS:
        space = uneven_space(seed, small=True)
        assert isinstance(sweep_of(space, ()), UnevenSweep)
        every = listed(space)
        for asked in SETS:
            measures = measures_of(asked, [space.flat])
            result = front_of_space(space, measures, ENDLESS)
            found = covered_not(measures, rows_of(result.points))
            expected = covered_not(measures, every)
            assert result.proven == np.inf
            assert np.sort(found, axis=0) == pytest.approx(np.sort(expected, axis=0), rel=1e-9)
            longest = max(longest, len(expected))
    assert longest > 1


@pytest.mark.parametrize("text", FORMULAS)
def test_the_least_of_a_formula_is_that_of_all_mappings(text: str) -> None:
    formula = formula_of(text, {})
    for seed in SEEDS:
        space = uneven_space(seed, small=True)
        least = min(formula.of(*row) for row in listed(space))
        result = least_of_space(space, formula, ENDLESS)
        assert result.value == pytest.approx(least, rel=1e-9)
        assert result.lower_bound == pytest.approx(least, rel=1e-9)
