"""Families of candidates and their members, by lower bounds that are refined when they come first.

A family has a quick bound, then one by the work of a plan; then its members take its place, each
with a quick bound, then with that of its plan, and then with the one that follows all elements turn
by turn (theory/grid.md §7).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Protocol

from tilewright.mapper.grid.grid_mapspace import GridChoice, GridFamily
from tilewright.simulator.lowering.lower_bound.task_cycles import BodyCycles
from tilewright.simulator.search.candidates.candidates import Candidates

Values = tuple[float, ...]
"""Of the metrics that a search minimizes, in a fixed order."""


class MetricBounds(Protocol):
    """Lower bounds of the metrics of a search."""

    def of_members(
        self, family: GridFamily, reduction: str | None, alone: BodyCycles | None
    ) -> Values:
        """Return values that no member of a family goes below.

        `reduction`: scheme of the members that count, None for all; `alone`: cycles of an element
        without sums and sends, None where they are not known.
        """
        ...

    def of_choice(self, choice: GridChoice, *, followed: bool = False) -> Values:
        """Return values that a choice does not go below, by its plan.

        `followed`: greater ones, that take longer to find. Raises InfeasibleMapping or ProgramError
        if the choice has no plan.
        """
        ...


@dataclass(frozen=True, slots=True, order=True)
class HeapEntry:
    """A family, or one of its choices, in the order in which a search looks at them.

    `bounds`: of its metrics, by a plan if `is_planned`, the greatest of a choice if `is_settled`;
    `order`: decides between equal bounds: the number of the family, and that of the choice in it;
    `choice`: None for the whole family.
    """

    bounds: Values
    order: tuple[int, int]
    family: GridFamily = field(compare=False)
    choice: GridChoice | None = field(default=None, compare=False)
    is_planned: bool = field(default=False, compare=False)
    is_settled: bool = field(default=False, compare=False)


class FamilyHeap:
    """The entries of a search, least bounds first.

    `entries`: a heap of them. `further`: choices that came in beside one for each scheme of the
    reduction, as their loops on a tile have several best orders.
    """

    def __init__(
        self,
        candidates: Candidates,
        metrics: MetricBounds,
        families: Iterable[tuple[Values, GridFamily]],
    ) -> None:
        """Begin with families and their quick bounds."""
        self.candidates, self.metrics = candidates, metrics
        self.entries: list[HeapEntry] = []
        self.further = 0
        self._number = 0
        self.add(families)

    def __len__(self) -> int:
        return len(self.entries)

    def add(self, families: Iterable[tuple[Values, GridFamily]]) -> None:
        """Put families with their quick bounds in."""
        numbers = count(self._number)
        new = [HeapEntry(b, (n, -1), f) for n, (b, f) in zip(numbers, families, strict=False)]
        self._number += len(new)
        self.entries += new
        heapq.heapify(self.entries)

    @property
    def least(self) -> Values:
        """The least bounds; there must be an entry."""
        return self.entries[0].bounds

    def size(self, entry: HeapEntry) -> int:
        """Return the number of choices that an entry stands for."""
        if entry.choice is not None:
            return 1
        return len(self.candidates.space.members(entry.family))

    def pop(self) -> HeapEntry:
        """Take the entry with the least bounds out."""
        return heapq.heappop(self.entries)

    def pop_choice(self) -> HeapEntry:
        """Take a choice out; the first family if there is none."""
        choices = (n for n, entry in enumerate(self.entries) if entry.choice is not None)
        entry = self.entries.pop(next(choices, 0))
        heapq.heapify(self.entries)
        return entry

    def push(self, entries: Iterable[HeapEntry]) -> None:
        """Put entries in."""
        for entry in entries:
            heapq.heappush(self.entries, entry)

    def refined(self, entry: HeapEntry) -> Iterable[HeapEntry]:
        """Return what replaces an entry that was taken out.

        It is the entry itself with greater bounds, or the members of a family whose are by a plan.
        Raises InfeasibleMapping or ProgramError for a choice that has no plan.
        """
        if entry.choice is None:
            return self.members(entry) if entry.is_planned else [self._by_work(entry)]
        closer = self._followed if entry.is_planned else self.planned
        return [closer(entry, entry.choice)]

    def _followed(self, entry: HeapEntry, choice: GridChoice) -> HeapEntry:
        """Return the entry of a choice, which has a plan, with its greatest bounds."""
        bounds = self.metrics.of_choice(choice, followed=True)
        return replace(entry, bounds=_greater(bounds, entry), is_settled=True)

    def members(self, entry: HeapEntry) -> Iterator[HeapEntry]:
        """Yield the choices of a family with their quick bounds."""
        planned = entry if entry.is_planned else self._by_work(entry)
        number, family = planned.order[0], planned.family
        members = self.candidates.members(family)
        self.further += len(members) - len(self.candidates.space.members(family))
        for place, (choice, work) in enumerate(members):
            bounds = self.metrics.of_members(family, choice.reduction, work.alone)
            yield HeapEntry(_greater(bounds, planned), (number, place), family, choice)

    def planned(self, entry: HeapEntry, choice: GridChoice) -> HeapEntry:
        """Return the entry of a choice with bounds by its plan.

        Raises InfeasibleMapping or ProgramError if it has none.
        """
        if entry.is_planned:
            return entry
        bounds = self.metrics.of_choice(choice)
        return replace(entry, bounds=_greater(bounds, entry), is_planned=True)

    def _by_work(self, entry: HeapEntry) -> HeapEntry:
        """Return a family with its bounds by the work of plans, in the best orders of loops."""
        orders = self.candidates.orders(entry.family)
        bounds = [self.metrics.of_members(entry.family, None, work.alone) for work in orders]
        least = tuple(map(min, zip(*bounds, strict=True)))
        return replace(entry, bounds=_greater(least, entry), is_planned=True)


def _greater(bounds: Values, entry: HeapEntry) -> Values:
    return tuple(map(max, entry.bounds, bounds))
