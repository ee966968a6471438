"""The least energy-delay product of Einsums that run one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.solver import EinsumSolution

_TIE = 1e-12
Solve = Callable[[Goal], Sequence[EinsumSolution]]


def least_edp(solve: Solve) -> tuple[Sequence[EinsumSolution], float, bool]:
    """Return (one solution per Einsum, lower bound, whether proven) for the least total edp.

    The edp is (sum of energies) x (sum of latencies) of Einsums that run one after the other, in J
    s. `solve`: finds the best solution of each Einsum for a goal. Its least value lies at a corner
    of the convex hull of all (energy, latency), since the product is quasiconcave; the corners are
    minima of energy + price x latency, which each Einsum reaches on its own. So prices are tried
    until no corner is left. An unproven end of the hull, for lack of time, ends the search.
    """
    first, last = solve(Goal("energy")), solve(Goal("latency"))
    corners = [first, last]
    if all(solved.proven for solved in (*first, *last)):
        corners[1:1] = _between(solve, first, last)
    best = min(corners, key=lambda corner: _total(corner)[0] * _total(corner)[1])
    energy, latency = _total(best)
    if all(solved.proven for corner in corners for solved in corner):
        return best, energy * latency, True
    bounds = [sum(solved.lower_bound for solved in corner) for corner in (first, last)]
    return best, bounds[0] * bounds[1], False


def _between(
    solve: Solve, first: Sequence[EinsumSolution], last: Sequence[EinsumSolution]
) -> list[Sequence[EinsumSolution]]:
    """Return the corners of the hull of (energy, latency) between two known corners, in order."""
    (first_energy, first_latency), (last_energy, last_latency) = _total(first), _total(last)
    if (
        first_latency - last_latency <= _TIE * first_latency
        or last_energy - first_energy <= _TIE * last_energy
    ):
        return []
    goal = Goal("energy", (last_energy - first_energy) / (first_latency - last_latency))
    corner = solve(goal)
    chord = goal.value(first_energy, first_latency)
    if goal.value(*_total(corner)) >= chord * (1 - sqrt(_TIE)):
        return []
    return [*_between(solve, first, corner), corner, *_between(solve, corner, last)]


def _total(corner: Sequence[EinsumSolution]) -> tuple[float, float]:
    return sum(s.best.energy for s in corner), sum(s.best.latency for s in corner)
