"""The Pareto set of each Einsum; equal problems are solved once."""

from __future__ import annotations

from math import inf

import pytest
from fused_cases import two_memories, workload_of

from tilewright.mapper.fronts.einsum_fronts import EinsumFrontSolver
from tilewright.mapper.fronts.front_search import requested_formula
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.objective.measures import FrontMetrics
from tilewright.mapper.searches.request import request_of
from tilewright.mapper.workload.errors import InfeasibleMapping

WORKLOAD = workload_of(("Y[m] = A[m, k] * B[k]", "Z[n] = C[n, p] * D[p]"),
                       {"m": 4, "k": 2, "n": 4, "p": 2})  # fmt: skip
METRICS = FrontMetrics(("energy", "latency"), ())


def solver_of(buffer_bits: int, objective: str = "energy") -> EinsumFrontSolver:
    request = request_of(two_memories(buffer_bits), WORKLOAD, {"objective": objective})
    return EinsumFrontSolver(request, METRICS)


def test_equal_einsums_are_solved_once() -> None:
    """Their fronts have the same rows, and mappings in their own names."""
    solver = solver_of(20)
    fronts = [solver.front(einsum) for einsum in WORKLOAD.einsums]
    assert solver.statistics.solved == 1
    rows = [[point.row for point in front.points] for front in fronts]
    assert rows[0] == rows[1]
    assert [front.proven for front in fronts] == [inf, inf]
    for front, einsum in zip(fronts, "YZ", strict=True):
        assert all(f"compute {einsum} on MAC" in str(p.mapping) for p in front.points)


def test_the_ends_of_a_front_are_the_optima() -> None:
    points = solver_of(20).front(WORKLOAD.einsums[0]).points
    single = workload_of(("Y[m] = A[m, k] * B[k]",), {"m": 4, "k": 2})
    for column, objective in enumerate(("energy", "latency")):
        optimum = search(two_memories(20), single, objective=objective).certificate.value
        assert min(point.row[column] for point in points) == pytest.approx(optimum)


def test_the_least_of_a_formula_is_on_the_front() -> None:
    """2 energy + latency does not fall in either, so a point of the front has its least value."""
    text = "2 * energy + latency"
    solver = solver_of(20, text)
    request = request_of(two_memories(20), WORKLOAD, {"objective": text})
    formula = requested_formula(request, WORKLOAD.einsums)
    least = solver.least(WORKLOAD.einsums[0], formula)
    rows = [point.row for point in solver.front(WORKLOAD.einsums[0]).points]
    assert least.value == pytest.approx(min(2 * row[0] + row[1] for row in rows))
    assert least.lower_bound == pytest.approx(least.value)


def test_an_einsum_that_fits_nowhere() -> None:
    arch = two_memories(20, rules="").with_values({"DRAM.size": 3})
    solver = EinsumFrontSolver(request_of(arch, WORKLOAD, {}), METRICS)
    with pytest.raises(InfeasibleMapping):
        solver.front(WORKLOAD.einsums[0])
