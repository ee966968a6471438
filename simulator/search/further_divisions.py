"""Mappings of an Einsum that divide its work otherwise than with the fewest points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from math import inf
from typing import Final

from tilewright.mapper.grid.grid_mapspace import GridFamily
from tilewright.mapper.grid.grid_shares import Share
from tilewright.mapper.searches.budget import UNLIMITED, Budget
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.search.bounds.division_bound import DivisionBound
from tilewright.simulator.search.bounds.family_bounds import TOGETHER
from tilewright.simulator.search.bounds.quick_bound import FamilyBound
from tilewright.simulator.search.candidates.architecture_rules import bounds_under_rules
from tilewright.simulator.search.candidates.candidates import BoundedFamily, Candidates

MOST_DIVISIONS: Final = 1 << 14
"""Divisions whose bounds are looked at."""
MOST_FAMILIES: Final = 1 << 15
"""Families whose bounds are looked at."""
IsOpen = Callable[[float, float, int], bool]
"""Whether a mapping with at least so many cycles, joules and words of memory may be wanted."""


@dataclass(frozen=True, slots=True)
class FurtherQuestion:
    """Which further mappings of an Einsum are looked for.

    `is_open`: of lower bounds of cycles, of energy (J) without leakage, and of the 16-bit words of
    an element's memory. `has_energy`: whether it looks at the energy, which is 0 otherwise.
    `cycles`: more of them are never wanted.
    """

    is_open: IsOpen
    has_energy: bool
    cycles: float = inf


def further_families(
    candidates: Candidates, question: FurtherQuestion, budget: Budget = UNLIMITED
) -> list[BoundedFamily] | None:
    """Return the families with further divisions of the work that may be wanted, by their bounds.

    None if there are too many to look at, or the time of the budget is over before.
    """
    divisions = _divisions(candidates, question)
    if divisions is None:
        return None
    families = chain.from_iterable(map(candidates.space.families_of, divisions))
    check = bounds_under_rules(lambda _: 0.0, candidates.flat, candidates.space)
    wanted: list[BoundedFamily] = []
    looked_at = 0
    while some := list(islice(families, TOGETHER)):
        bounds_of = candidates.quick.together(some, has_energy=question.has_energy)
        for family, bounds in zip(some, bounds_of, strict=True):
            with suppress(InfeasibleMapping):
                bounded = _bounded(candidates, question, family, bounds)
                if bounded is not None:
                    check(family)
                    wanted.append(bounded)
        looked_at += len(some)
        if looked_at > MOST_FAMILIES or budget.is_late:
            return None
    return wanted


def _bounded(
    candidates: Candidates, question: FurtherQuestion, family: GridFamily, bounds: FamilyBound
) -> BoundedFamily | None:
    """Return a family with its bound, None if it is not wanted."""
    cycles, energy, words, persistent, members = bounds
    if cycles is None or not question.is_open(cycles, energy, words):
        return None
    costs = candidates.costs_of(cycles, energy)
    bound = costs.value(candidates.objective)
    return BoundedFamily(bound, family, words, persistent, members, costs)


def _divisions(
    candidates: Candidates, question: FurtherQuestion
) -> Iterator[tuple[Share, ...]] | None:
    """Return the divisions that may be wanted, None if there are too many to look at."""
    bound = DivisionBound(candidates.quick)
    points = question.cycles / bound.least_point
    divisions = candidates.space.further_shares(points, MOST_DIVISIONS)
    return None if divisions is None else _open(bound, question, divisions)


def _open(
    bound: DivisionBound, question: FurtherQuestion, divisions: list[tuple[Share, ...]]
) -> Iterator[tuple[Share, ...]]:
    every = iter(divisions)
    while some := list(islice(every, TOGETHER)):
        bounds = bound.together(some, has_energy=question.has_energy)
        for shares, (cycles, energy) in zip(some, bounds, strict=True):
            if question.is_open(cycles, energy, 0):
                yield shares
