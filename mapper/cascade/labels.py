"""Pass labels along the graph of keys: what is reserved across Einsums (lattice-dp.md §8.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from tilewright.mapper.cascade.budget import Budget, OutOfBudget
from tilewright.mapper.cascade.fold import START, Edge, Graph, Key, Step
from tilewright.mapper.cascade.table import Point, Row

DEEPENING = (0.0, 0.001, 0.002, 0.004, 0.008, 0.016, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0, inf)
NOISE = 1e-12  # relative: sums of the same terms in another order

Value = Callable[[float, float], float]  # objective of energy and latency


@dataclass(frozen=True, slots=True)
class Label:
    """A choice of rows so far. `kept[k - 1]`: bits above loop k that stay; `peak[s - 1]`: the most
    bits at a time in a finished Einsum that shares s loops or more with the next one."""

    energy: float
    latency: float
    kept: tuple[float, ...]
    peak: tuple[float, ...]
    before: Label | None
    row: Row | None
    point: int

    def dominates(self, other: Label) -> bool:
        """Tell whether nothing that follows could make `other` the better one."""
        return (
            self.energy <= other.energy * (1 + NOISE)
            and self.latency <= other.latency * (1 + NOISE)
            and all(a <= b for a, b in zip(self.kept, other.kept, strict=True))
            and all(a <= b for a, b in zip(self.peak, other.peak, strict=True))
        )


FIRST = Label(0.0, 0.0, (), (), None, None, 0)


@dataclass(frozen=True, slots=True)
class Folded:
    """The best complete labels found, and the bound that holds for all others.

    `labels`: how many were kept on the way, over all rounds.
    """

    best: Label | None
    lower_bound: float
    exhausted: bool
    labels: int


class LabelPass:
    """Searches a graph for the least `value` of (energy, latency)."""

    def __init__(self, graph: Graph, capacity: float, value: Value, budget: Budget) -> None:
        self._graph = graph
        self._capacity = capacity
        self._value = value
        self._budget = budget
        self._limit = inf
        self.labels = 0

    def solve(self, most: float = inf) -> Folded:
        """Raise the limit until the best solution lies below it: then none is better.

        Without a solution of value `most` or less, that is the lower bound.
        """
        start = self._graph.rest[0].get(START, (inf, inf))
        lower = self._value(*start)
        if not lower <= most:
            return Folded(None, most, False, 0)
        for slack in DEEPENING:
            self._limit = min(most, lower * (1 + slack) * (1 + NOISE) if lower > 0 else inf)
            try:
                best = self._round()
            except OutOfBudget:
                return Folded(None, lower, True, self.labels)
            if best is not None:
                return Folded(best, self._value(best.energy, best.latency), False, self.labels)
            lower = max(lower, self._limit)
            if self._limit >= most:
                break
        return Folded(None, most, False, self.labels)

    def _round(self) -> Label | None:
        """Return the best label not above the limit."""
        front: dict[Key, list[Label]] = {START: [FIRST]}
        for number, step in enumerate(self._graph.steps):
            following: dict[Key, list[Label]] = {}
            for key, labels in front.items():
                self._extend((number, step), key, labels, following)
            front = {key: reduced(found) for key, found in following.items()}
            self.labels += (kept := sum(map(len, front.values())))
            self._budget.check(kept)
            if not front:
                return None
        finished = [label for labels in front.values() for label in labels]
        return min(
            finished,
            key=lambda one: (self._value(one.energy, one.latency), one.energy, one.latency),
        )

    def _extend(
        self,
        place: tuple[int, Step],
        key: Key,
        labels: Sequence[Label],
        following: dict[Key, list[Label]],
    ) -> None:
        self._budget.check()
        number, step = place
        rest, least = self._graph.rest[number + 1], self._graph.least[number]
        live = step.live_bits(key)
        paid = min(one.energy for one in labels), min(one.latency for one in labels)
        for row, target in self._graph.edges[number].get(key, ()):
            cost, more = least[id(row)], rest[target]
            if self._hopeless(paid[0] + cost[0] + more[0], paid[1] + cost[1] + more[1]):
                continue
            hopes = [(one, self._hopes(one, row, more)) for one in labels]
            if not any(points for _, points in hopes):
                continue
            room = Room(step, key, (row, target), (live, self._capacity))
            found = [new for label, points in hopes for new in room.joined(label, points)]
            if found:
                following.setdefault(target, []).extend(found)

    def _hopes(self, label: Label, row: Row, more: tuple[float, float]) -> list[int]:
        """Return the points of a row with which a label could still lead below the limit."""
        energy, latency = label.energy + more[0], label.latency + more[1]
        value, limit = self._value, self._limit
        return [
            number
            for number, point in enumerate(row.points)
            if value(energy + point[0], latency + point[1]) <= limit
        ]

    def _hopeless(self, energy: float, latency: float) -> bool:
        return not self._value(energy, latency) <= self._limit


class Room:
    """What an edge does to the room in the shared memory."""

    def __init__(self, step: Step, key: Key, edge: Edge, room: tuple[float, float]) -> None:
        row, target = edge
        self._row = row
        self._live, self._capacity = room
        self._depth = len(key[0])
        self._after = len(target[0])
        new = [(row.depths[i], row.sizes[i]) for i in step.new if row.depths[i] >= 0]
        self._all_new = sum(size for _, size in new)
        self._twice = held_twice(step, key, row)
        self._added = [
            sum(size for depth, size in new if depth < k) for k in range(1, len(row.loops) + 1)
        ]

    def joined(self, label: Label, points: Sequence[int]) -> Iterator[Label]:
        """Yield `label` with each of some points of the row, as far as they fit."""
        depth, after, added = self._depth, self._after, self._added
        held = label.kept[-1] if depth else 0.0
        for number in points:
            point = self._reserved(self._row.points[number])
            total = held + self._live + point[-1] + self._all_new
            if total > self._capacity:
                continue
            peaks = [label.peak[s] + point[2 + s] + added[s] for s in range(depth)]
            if peaks and max(peaks) > self._capacity:
                continue
            kept = tuple(
                (label.kept[min(k, depth - 1)] if depth else 0.0)
                + point[2 + k]
                + added[k]
                + (self._live if k >= depth else 0.0)
                for k in range(after)
            )
            peak = tuple(max(total, peaks[s]) if s < depth else total for s in range(after))
            yield Label(
                label.energy + point[0], label.latency + point[1],
                kept, monotone(peak) if after > 1 else peak, label, self._row, number,
            )  # fmt: skip

    def _reserved(self, point: Point) -> Point:
        """Count once what an earlier Einsum already holds at the same place."""
        if not self._twice:
            return point
        bits = [
            sum(size for depth, size in self._twice if depth <= k) for k in range(len(point) - 2)
        ]
        return (*point[:2], *(p - b for p, b in zip(point[2:], bits, strict=True)))


def held_twice(step: Step, key: Key, row: Row) -> tuple[tuple[int, float], ...]:
    """Return (loops above, bits) of contested tensors that an earlier Einsum holds there too."""
    return tuple(
        (place, step.contested[tensor].below(row.loops[:place]))
        for tensor, _, place in key[2]
        if place >= 0 and tensor in step.contested
    )


def monotone(peak: Point) -> Point:
    """Return the greatest value at or behind each place: all that later tests can see."""
    out = list(peak)
    for place in range(len(out) - 2, -1, -1):
        out[place] = max(out[place], out[place + 1])
    return tuple(out)


def reduced(labels: list[Label]) -> list[Label]:
    """Return the labels that no other one dominates."""
    front: list[Label] = []
    for label in sorted(labels, key=lambda one: (one.energy, one.latency, one.kept, one.peak)):
        if not any(other.dominates(label) for other in front):
            front.append(label)
    return front
