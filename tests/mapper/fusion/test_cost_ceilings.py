"""What a limit of the objective leaves room for."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest
from fused_example import plan

from tilewright.mapper.fusion.bounds.cost_ceilings import CostCeilings
from tilewright.mapper.fusion.fused_problem import TieSearch, ValueFunction
from tilewright.mapper.searches.exact.label_metrics import Objective


def ceilings(objective: Objective) -> CostCeilings:
    return CostCeilings(plan(12, objective=objective).problem)


def of_formula(text: str, value: ValueFunction) -> CostCeilings:
    return CostCeilings(replace(plan(12).problem, objective=text, value=value))


def test_one_metric_leaves_the_other_open() -> None:
    assert ceilings("energy").within(3000.0, (5.0, 2.0)) == (3000.0, inf)
    assert ceilings("latency").within(3000.0, (5.0, 2.0)) == (inf, 3000.0)


def test_a_product_leaves_quotients() -> None:
    """An energy-delay product of P leaves P / least latency for the energy, and the reverse."""
    assert ceilings("edp").within(1000.0, (5.0, 2.0)) == (500.0, 200.0)
    assert ceilings("edp").within(1000.0, (5.0, 0.0)) == (inf, 200.0)


def test_a_formula_is_inverted() -> None:
    """Of energy + 3 * latency <= 100 the least latency of 10 leaves 70, the least 40 leaves 20."""
    formula = of_formula("energy + 3 * latency", lambda energy, latency: energy + 3 * latency)
    energy, latency = formula.within(100.0, (40.0, 10.0))
    assert energy == pytest.approx(70.0, rel=1e-9)
    assert latency == pytest.approx(20.0, rel=1e-9)
    assert energy >= 70.0 * (1 - 1e-15)


def test_a_formula_that_ignores_a_metric_leaves_it_open() -> None:
    formula = of_formula("max(energy, 1)", lambda energy, _: max(energy, 1.0))
    energy, latency = formula.within(100.0, (40.0, 10.0))
    assert energy == pytest.approx(100.0, rel=1e-9)
    assert latency == inf


def test_known_lower_bounds_hold_too() -> None:
    problem = plan(12, objective="edp").problem
    known = CostCeilings(problem, (10.0, 1.0))
    assert known.raised((5.0, 2.0)) == (10.0, 2.0)
    assert known.value((5.0, 2.0)) == 20.0
    assert known.within(1000.0, (5.0, 2.0)) == (500.0, 100.0)


def test_ties_cap_the_metric_that_is_equal() -> None:
    problem = replace(plan(12).problem, ties=TieSearch(7.0, (30.0, 4.0), {}))
    assert CostCeilings(problem).within(20.0, (0.0, 0.0)) == (20.0, 4.0)
