"""The choices among which the first one to run is: near the least bound, and quick to simulate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from tilewright.simulator.search.candidates.family_heap import FamilyHeap, HeapEntry

MOST_FAMILIES: Final = 4
"""Families among whose choices the first one to run is, if one of them is near."""
MOST_PASSED: Final = 256
"""Families with more work that are passed over for one of these."""
NEAR: Final = 1.25
"""Their bounds are at most so many times the least one."""

Refine = Callable[[HeapEntry], Iterable[HeapEntry]]
"""Return what replaces an entry of a heap: nothing for a choice without a plan."""


def first_choices(heap: FamilyHeap, refine: Refine, is_over: Callable[[], bool]) -> list[HeapEntry]:
    """Take choices with the bounds of their plans out of a heap, those to run first in front.

    They are of the first families whose work is near the least bound, since the quick bounds of
    others do not see all conflicts of banks; if there is none among many families, or time is over,
    of those with the least work. Of choices near the least plan, the one with the fewest words on
    links is the quickest to simulate.
    """
    most, choices = NEAR * heap.least[0], list[HeapEntry]()
    passed: list[HeapEntry] = []
    near = 0
    while heap and near < MOST_FAMILIES and len(passed) < MOST_PASSED and not is_over():
        entry = _by_work(heap, refine)
        if entry.bounds[0] > most:
            passed.append(entry)
            continue
        planned = _planned(heap, entry, refine)
        choices += planned
        near += any(choice.bounds[0] <= most for choice in planned)
    passed.sort()
    while passed and not choices:
        choices += _planned(heap, passed.pop(0), refine)
    heap.push(passed)
    return _quickest_first(heap, choices)


def _by_work(heap: FamilyHeap, refine: Refine) -> HeapEntry:
    """Take the first entry out; a family has the bounds of its work then."""
    entry = heap.pop()
    if entry.choice is not None or entry.is_planned:
        return entry
    (bounded,) = refine(entry)
    return bounded


def _planned(heap: FamilyHeap, entry: HeapEntry, refine: Refine) -> list[HeapEntry]:
    """Return a choice, or those of a family, with the bounds of their plans."""
    members = [entry] if entry.choice is not None else heap.members(entry)
    return [planned for member in members for planned in refine(member)]


def _quickest_first(heap: FamilyHeap, choices: list[HeapEntry]) -> list[HeapEntry]:
    """Sort choices: those near the least bound first, those with fewer words on links first."""
    most = NEAR * min((entry.bounds[0] for entry in choices), default=0.0)
    hops = {e.order: heap.candidates.hops(e.choice) for e in choices if e.choice is not None}
    return sorted(choices, key=lambda e: (e.bounds[0] > most, hops[e.order], e))
