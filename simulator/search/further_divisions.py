"""Mappings of an Einsum that divide its work otherwise than with the fewest points."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Final

from tilewright.mapper.grid.grid_shares import Share
from tilewright.mapper.searches.budget import UNLIMITED, Budget
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.search.candidates.architecture_rules import bounds_under_rules
from tilewright.simulator.search.candidates.candidates import BoundedFamily, Candidates
from tilewright.simulator.search.division_bound import DivisionBound

MOST_DIVISIONS: Final = 1 << 14
"""Divisions whose bounds are looked at."""
MOST_FAMILIES: Final = 1 << 15
"""Families whose bounds are looked at."""


def further_families(
    candidates: Candidates, value: float, budget: Budget = UNLIMITED
) -> list[BoundedFamily] | None:
    """Return the families with further divisions whose bounds are below an objective value.

    None if there are too many to look at, or the time of the budget is over before.
    """
    space, quick = candidates.space, candidates.quick
    divisions = _further(candidates, value)
    if divisions is None:
        return None
    bound_of = bounds_under_rules(quick.cycles, candidates.flat, space)
    families: list[BoundedFamily] = []
    looked_at = 0
    for shares in divisions:
        for family in space.families_of(shares):
            looked_at += 1
            try:
                bound = candidates.value_of(bound_of(family), candidates.least_energy(family))
            except InfeasibleMapping:
                continue
            if bound < value:
                words = quick.words(family), quick.persistent_words(family)
                families.append(BoundedFamily(bound, family, *words))
        if looked_at > MOST_FAMILIES or budget.is_late:
            return None
    return families


def _further(candidates: Candidates, value: float) -> list[tuple[Share, ...]] | None:
    """Return the divisions whose bounds are below a value, None if there are too many."""
    bound = DivisionBound(candidates.quick)
    points = inf
    if candidates.objective == "latency":
        cycles = value / candidates.latency_of(1.0)
        points = cycles / bound.least_point
    divisions = candidates.space.further_shares(points, MOST_DIVISIONS)
    return None if divisions is None else [*_below(candidates, bound, divisions, value)]


def _below(
    candidates: Candidates,
    bound: DivisionBound,
    divisions: list[tuple[Share, ...]],
    value: float,
) -> Iterator[tuple[Share, ...]]:
    has_energy = candidates.objective != "latency"
    for shares in divisions:
        energy = bound.energy(shares) if has_energy else 0.0
        if candidates.value_of(bound.cycles(shares), energy) < value:
            yield shares
