"""The target of a search for the least value of a formula."""

from __future__ import annotations

import random
from typing import cast

import numpy as np
import pytest

from tilewright.mapper.searches.objective.least_formula import FormulaTarget
from tilewright.mapper.searches.objective.objective_formula import formula_of
from tilewright.mapper.searches.objective.targets import TracedMapping
from tilewright.mapper.searches.program.program_steps import TemplateProgram

NO_PROGRAM = cast(TemplateProgram, None)
FORMULAS = ("energy * latency", "energy + latency ** 2", "max(energy, 3 * latency)",
            "edp + usage.BUF")  # fmt: skip


def target_of(text: str, times: float = 1.0) -> FormulaTarget:
    formula = formula_of(text, ("BUF",))
    return FormulaTarget(formula, (1.0, 1.0, *(0.0 for _ in formula.memories)), times)


def traced(row: object) -> TracedMapping:
    return TracedMapping(tuple(map(float, row)), NO_PROGRAM, ())  # type: ignore[call-overload]


@pytest.mark.parametrize("text", FORMULAS)
def test_the_best_of_random_rows_is_kept(text: str) -> None:
    rng, target = random.Random(2), target_of(text)
    width = 2 + len(formula_of(text, ("BUF",)).memories)
    rows = np.array([[rng.randint(1, 9) for _ in range(width)] for _ in range(60)], np.float64)
    for batch in np.split(rows, 6):
        target.offer([traced(batch[i]) for i in target.wanted(batch)])
    values = formula_of(text, ("BUF",)).value(rows)
    assert target.value == values.min()
    assert target.best is not None
    assert target.best.row == min(tuple(r) for r, v in zip(rows, values, strict=True)
                                  if v == values.min())  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_rows_at_a_corner_exceed_the_limit(text: str) -> None:
    """And the corners are close: half the energy and half the latency of none is too much."""
    target, formula = target_of(text), formula_of(text, ("BUF",))
    target.limit = 40.0
    corners = target.corners()
    assert len(corners)
    assert (formula.value(corners) > 40.0).all()
    inside = corners.copy()
    inside[:, :2] = np.maximum(inside[:, :2] / 2, 1.0)
    assert (formula.value(inside) <= 40.0).any()


def test_corners_follow_the_best_value() -> None:
    target = target_of("energy * latency")
    assert not len(target.corners())  # nothing is too much
    target.offer([traced((4, 5))])
    corners = target.corners()
    assert (corners[:, 0] * corners[:, 1] > 20.0).all()
    assert not target.hopeful(corners).any()


def test_hope_is_for_less_or_for_a_tie_that_is_better_in_a_column() -> None:
    target = target_of("energy * latency")
    target.offer([traced((4, 5))])
    floors = np.array([[3.0, 5.0], [5.0, 4.0], [4.0, 5.0], [4.0, 6.0]])
    assert target.hopeful(floors).tolist() == [True, True, False, False]
    target.limit = 15.0
    assert target.hopeful(floors).tolist() == [True, False, False, False]


def test_ties_go_to_less_energy() -> None:
    target = target_of("energy * latency")
    target.offer([traced((4, 5))])
    assert target.wanted(np.array([[5.0, 4.0], [10.0, 2.0]])) == []
    assert target.wanted(np.array([[5.0, 4.0], [2.0, 10.0]])) == [1]


def test_instances_multiply_energy_and_latency() -> None:
    assert target_of("energy * latency", times=3.0).least_value == 9.0
    assert target_of("edp + usage.BUF", times=3.0).least_value == 9.0


def test_a_value_that_is_no_number_is_never_wanted() -> None:
    target = target_of("exp(energy)")
    assert target.wanted(np.array([[1e6, 1.0]])) == []
    assert target.wanted(np.zeros((0, 2))) == []
