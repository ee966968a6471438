"""The smallest set of constraints that conflict, by implicit hitting sets.

Every conflict meets every correction (a set of constraints whose removal makes a mapping feasible).
So the smallest set that meets all corrections known so far is tried. If it conflicts, no smaller
set does. If not, it is grown to a maximal set without conflict, whose complement is one more
correction (Ignatiev et al., "Smallest MUS extraction with minimal hitting set dualization", CP
2015).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Literal

from tilewright.mapper.explain.constraint import MappingConstraint
from tilewright.mapper.explain.subject import Active, Feasible, TooLarge

ROUNDS = 60  # corrections computed before an irreducible conflict suffices
MAX_SUBSETS = 200_000  # looked at for one hitting set


@dataclass(frozen=True, slots=True)
class Conflict:
    """Constraints of an architecture that no mapping keeps all together, in file order.

    `kind`: "smallest": no set of fewer constraints conflicts. "irreducible": without any one of
    them the others can be kept, but a smaller conflict may exist. "unreduced": the work allowed was
    used up before either was certain (theory/explain.md §2).
    """

    constraints: tuple[MappingConstraint, ...]
    kind: Literal["smallest", "irreducible", "unreduced"]


def find_conflict(constraints: Sequence[MappingConstraint], feasible: Feasible) -> Conflict | None:
    """Return the smallest set of constraints that no mapping keeps together.

    `constraints`: these conflict as a whole. `feasible`: tells whether some mapping keeps a set of
    them; fewer constraints must never make it false. It may raise TooLarge where the work allowed
    is used up: then an irreducible or unreduced conflict is returned. None if no mapping exists
    even without all of them, or if that cannot be decided (theory/explain.md §2).
    """
    try:
        if not feasible(frozenset()):
            return None
    except TooLarge:
        return None
    return _smallest(constraints, feasible)


def _smallest(constraints: Sequence[MappingConstraint], feasible: Feasible) -> Conflict:
    everything = frozenset(constraints)
    corrections: list[Active] = []
    irreducible = None
    try:
        irreducible_set = _irreducible(tuple(constraints), frozenset(), feasible)
        irreducible = Conflict(_in_order(constraints, irreducible_set), "irreducible")
        corrections += [frozenset({c}) for c in constraints if feasible(everything - {c})]
        for _ in range(ROUNDS):
            hitting = _hitting_set(constraints, corrections)
            if hitting is None:
                break
            if not feasible(hitting):
                return Conflict(_in_order(constraints, hitting), "smallest")
            corrections.append(everything - _grown(constraints, hitting, feasible))
    except TooLarge:
        pass
    return irreducible or _shrunk(constraints, feasible)


def _irreducible(
    constraints: Sequence[MappingConstraint], needed: Active, feasible: Feasible
) -> Active:
    """Return a minimal set of constraints that conflicts together with `needed`, half by half.

    All of them together with `needed` conflict (Junker, "QuickXplain", AAAI 2004).
    """
    if not constraints or not feasible(needed):
        return frozenset()
    if len(constraints) == 1:
        return frozenset(constraints)
    half = len(constraints) // 2
    first, second = constraints[:half], constraints[half:]
    of_second = _irreducible(second, needed | frozenset(first), feasible)
    return of_second | _irreducible(first, needed | of_second, feasible)


def _grown(constraints: Sequence[MappingConstraint], start: Active, feasible: Feasible) -> Active:
    grown = start
    for c in constraints:
        if c not in grown and feasible(grown | {c}):
            grown |= {c}
    return grown


def _shrunk(constraints: Sequence[MappingConstraint], feasible: Feasible) -> Conflict:
    """Drop constraints one by one as long as the rest conflicts.

    "irreducible" if all were tried, "unreduced" if the work allowed ended before.
    """
    conflicting = frozenset(constraints)
    decided = True
    for c in constraints:
        try:
            if not feasible(conflicting - {c}):
                conflicting -= {c}
        except TooLarge:  # another constraint may be easier to decide
            decided = False
    return Conflict(_in_order(constraints, conflicting), "irreducible" if decided else "unreduced")


def _hitting_set(constraints: Sequence[MappingConstraint], sets: Sequence[Active]) -> Active | None:
    """Return the smallest set of constraints that meets all `sets`.

    None if the search is too large. Of several the first in file order.
    """
    forced = frozenset(next(iter(s)) for s in sets if len(s) == 1)
    unmet = [s for s in sets if not s & forced]
    relevant = frozenset[MappingConstraint]().union(*unmet)
    candidates = [c for c in constraints if c in relevant]
    for chosen in islice(_subsets_by_size(candidates), MAX_SUBSETS):
        if not any(s.isdisjoint(chosen) for s in unmet):
            return forced | frozenset(chosen)
    return None


def _subsets_by_size(
    constraints: Sequence[MappingConstraint],
) -> Iterator[tuple[MappingConstraint, ...]]:
    """Yield all subsets, smaller ones first, those of one size in file order."""
    for count in range(len(constraints) + 1):
        yield from combinations(constraints, count)


def _in_order(
    constraints: Sequence[MappingConstraint], chosen: Active
) -> tuple[MappingConstraint, ...]:
    return tuple(c for c in constraints if c in chosen)


def smallest_correction(
    conflict: Conflict, constraints: Sequence[MappingConstraint], feasible: Feasible
) -> tuple[MappingConstraint, ...]:
    """Return constraints whose removal leaves a mapping, as few as one or two if that suffices.

    Else a set of which none can be left out. `conflict`: constraints that no mapping keeps
    together; one of the result is among them. `constraints`: all those of the Einsum. `feasible`:
    tells whether some mapping keeps a set of them; what it raises (TooLarge) is passed on.
    """
    everything = frozenset(constraints)
    for first in conflict.constraints:
        if feasible(everything - {first}):
            return (first,)
    for first in conflict.constraints:
        for second in constraints:
            if second != first and feasible(everything - {first, second}):
                return _in_order(constraints, frozenset({first, second}))
    return _in_order(constraints, everything - _grown(constraints, frozenset(), feasible))
