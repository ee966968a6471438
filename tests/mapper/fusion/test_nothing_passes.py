"""Einsums over which no tensor of others can stay on chip."""

from __future__ import annotations

from dataclasses import replace

from fused_cases import workload_of
from fused_example import plan

from tilewright.mapper.fusion.bounds.nothing_passes import einsums_passed_by_nothing

ATTENTION = (
    "Q[m, e] = X[m, d] * U[d, e]",
    "K[n, e] = X2[n, d] * W[d, e]",
    "S[m, n] = Q[m, e] * K[n, e]",
    "O[m, f] = S[m, n] * V[n, f]",
)


def test_a_tensor_passes_where_the_whole_of_it_fits() -> None:
    """Q has 16 bits; it is on chip while K is computed, or not at all."""
    workload = workload_of(ATTENTION, {"m": 4, "n": 4, "d": 2, "e": 4, "f": 2})
    assert einsums_passed_by_nothing(plan(16, workload).problem) == {0, 2, 3}
    assert einsums_passed_by_nothing(plan(15, workload).problem) == {0, 1, 2, 3}


def test_where_more_than_the_cost_decides_none_is_named() -> None:
    workload = workload_of(ATTENTION, {"m": 4, "n": 4, "d": 2, "e": 4, "f": 2})
    problem = plan(16, workload).problem
    assert not einsums_passed_by_nothing(replace(problem, objective="edp"))
    assert not einsums_passed_by_nothing(replace(problem, is_narrowed=True))
