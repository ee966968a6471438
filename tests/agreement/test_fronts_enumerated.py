"""Fronts and formulas of single Einsums against every mapping of the mapspace."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np
import pytest
from array_cases import array_space_of, loose_space_of
from explore import at_night, enough
from figures import Figures, table
from memo import stored_figures
from network_cases import network_space_of
from padded_cases import padded_space_of
from points import of_few_points
from search_cases import space_of

from tilewright.arch.components.components import Memory
from tilewright.mapper.fronts.mapspace_front import (
    front_of_space,
    least_of_space,
    with_usage_choices,
)
from tilewright.mapper.fronts.pareto_points import undominated
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import UNLIMITED
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.objective.measures import front_metrics_of
from tilewright.mapper.searches.objective.objective_formula import formula_of

pytestmark = pytest.mark.usefixtures("compiled_once")

METRICS = (
    ("energy", "latency"),
    ("energy", "usage"),
    ("latency", "usage.BUF"),
    ("energy", "latency", "usage"),
    ("usage",),
    ("edp", "usage.BUF"),
    ("usage.DRAM", "energy"),
    ("latency",),
)
FORMULAS = (
    "energy * latency**2",
    "energy + 1e3 * latency",
    "max(energy / 1e-3, latency / 1e-6)",
    "min(energy, 3000) + sqrt(latency)",
    "energy * usage.BUF",
    "usage.BUF + usage.DRAM",
    "energy + latency * usage.BUF",
)


def check_fronts(space: Mapspace, listed: list[Figures]) -> None:
    for asked in METRICS:
        measures = front_metrics_of(asked, [space.flat])
        result = front_of_space(space, measures, UNLIMITED)
        assert result.proven == inf
        scores = [[point.score.metric(n) for n in measures.names] for point in result.points]
        found = np.array(scores).reshape(len(scores), len(measures.names))
        best = found[undominated(found)]
        every = table(listed, measures.names)
        wanted = every[undominated(every)]
        assert best == pytest.approx(wanted, rel=1e-9), (asked, len(best), len(wanted))


def check_formulas(space: Mapspace, listed: list[Figures]) -> None:
    memories = [c.name for c in space.flat.components if isinstance(c, Memory)]
    for text in FORMULAS:
        formula = formula_of(text, memories)
        result = least_of_space(space, formula, UNLIMITED)
        if not listed:
            assert result.best is None
            continue
        names = ("energy", "latency", *(f"usage.{m}" for m in formula.memories))
        rows = table(listed, names)
        values = formula.value(rows)
        assert result.value == pytest.approx(values.min(), rel=1e-9)
        assert result.lower_bound == pytest.approx(values.min(), rel=1e-9)
        assert result.best is not None
        ties = rows[values <= values.min() * (1 + 1e-12)]
        assert result.best.row[:2] == pytest.approx(min(map(tuple, ties))[:2], rel=1e-9)


def check(seeds: range, limit: int, make: Callable[[int], Mapspace] = space_of) -> int:
    done = 0
    for seed in seeds:
        plain = make(seed)
        memories = tuple(c.name for c in plain.flat.components if isinstance(c, Memory))
        listed = stored_figures(of_few_points, make, seed, limit, memories, memories=memories)
        if listed is None:
            continue
        space = with_usage_choices(plain, memories)
        check_fronts(space, listed)
        check_formulas(space, listed)
        done += 1
    return done


@pytest.mark.parametrize("block", [5, *at_night(0, 1, 2, 3, 4)])
def test_fronts_and_formulas_equal_enumeration(block: int) -> None:
    assert enough(check(range(block * 4, block * 4 + 4), limit=150), 2 * (block == 5))


def test_two_tiles_stream_past_a_deeper_holder() -> None:
    assert check(range(60, 61), limit=250) == 1  # the least room needs a run of four holders


def test_fronts_over_padded_tensors_equal_enumeration() -> None:
    assert check(range(6), 120, padded_space_of) >= 1


@pytest.mark.parametrize("make", [network_space_of, array_space_of, loose_space_of])
def test_fronts_of_every_kind_of_hierarchy_equal_enumeration(
    make: Callable[[int], Mapspace],
) -> None:
    assert check(range(2), 100, make) >= 1


@pytest.mark.nightly
@pytest.mark.parametrize(
    "make", [network_space_of, array_space_of, loose_space_of, padded_space_of]
)
@pytest.mark.parametrize("block", range(5))
def test_fronts_of_every_kind_of_hierarchy_equal_enumeration_on_many(
    block: int, make: Callable[[int], Mapspace]
) -> None:
    assert enough(check(range(3000 + block * 20, 3020 + block * 20), 1500, make), 3)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(30))
def test_fronts_and_formulas_equal_enumeration_on_many(block: int) -> None:
    assert enough(check(range(2000 + block * 20, 2020 + block * 20), limit=3000), 3)


@pytest.mark.parametrize("seed", [2, 13, 21, 34])
def test_the_best_of_a_front_is_the_single_optimum(seed: int) -> None:
    space = space_of(seed)
    result = front_of_space(space, front_metrics_of(("energy", "latency"), [space.flat]), UNLIMITED)
    rows = [point.row for point in result.points]
    for column, objective in enumerate(("energy", "latency")):
        best = ExactSearch().find(space, Goal(objective), None).best  # type: ignore[arg-type]
        assert (best is None) == (not rows)
        if best is not None:
            least = min((row[column], row[1 - column]) for row in rows)
            mine = (best.energy, best.latency)
            assert least == pytest.approx((mine[column], mine[1 - column]), rel=1e-9)
