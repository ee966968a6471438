"""The Pareto set over energy and latency of a workload whose Einsums may share loops.

First the corners of the convex hull: each is the least of energy + price x latency, which the pass
of labels finds with its bounds. Then one more pass keeps every label that no point found covers,
when the least that is still to be paid is added (lattice-dp.md §8.4, §8.5).
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from math import inf

import numpy as np

from tilewright.mapper.cascade.fold import START, Graph, Key, Step
from tilewright.mapper.cascade.labels import FIRST, Label, Room, Value, reduced
from tilewright.mapper.fronts.points import NOISE, undominated

Least = Callable[[Value], Label | None]  # the label with the least value


class OutOfTime(Exception):  # noqa: N818 - control flow inside this file
    """The budget is used up."""


def hull(least: Least) -> list[Label]:
    """Return the corners of the convex hull between least energy and least latency.

    Of both ends the one with the least of the other metric (as far as rounding shows it).
    """
    ends = [least(_energy), least(_latency)]
    if ends[0] is None or ends[1] is None:
        return []
    return [ends[0], *_between(least, ends[0], ends[1]), ends[1]]


def _energy(energy: float, latency: float) -> float:
    del latency
    return energy


def _latency(energy: float, latency: float) -> float:
    del energy
    return latency


def _between(least: Least, first: Label, last: Label) -> list[Label]:
    more, less = last.energy - first.energy, first.latency - last.latency
    if more <= NOISE * last.energy or less <= NOISE * first.latency:
        return []
    price = more / less

    def value(energy: float, latency: float) -> float:
        return energy + price * latency

    corner = least(value)
    chord = value(first.energy, first.latency)
    if corner is None or value(corner.energy, corner.latency) >= chord * (1 - 1e-9):
        return []
    return [*_between(least, first, corner), corner, *_between(least, corner, last)]


class FrontPass:
    """Finds all labels of a graph that no label of `known` covers."""

    def __init__(
        self, graph: Graph, capacity: float, known: Sequence[Label], deadline: float
    ) -> None:
        self._graph = graph
        self._capacity = capacity
        self._deadline = deadline
        self._known = pareto_labels(known)
        self._energies = [label.energy for label in self._known]
        self.labels = 0

    def solve(self) -> list[Label]:
        """Return the Pareto set; OutOfTime when the deadline is over."""
        front: dict[Key, list[Label]] = {START: [FIRST]}
        for number, step in enumerate(self._graph.steps):
            following: dict[Key, list[Label]] = {}
            for key, labels in front.items():
                self._extend((number, step), key, labels, following)
            front = {key: reduced(found) for key, found in following.items()}
            self.labels += sum(map(len, front.values()))
        finished = [label for labels in front.values() for label in labels]
        return pareto_labels([*self._known, *finished])

    def _extend(
        self,
        place: tuple[int, Step],
        key: Key,
        labels: Sequence[Label],
        following: dict[Key, list[Label]],
    ) -> None:
        if time.monotonic() > self._deadline:
            raise OutOfTime
        number, step = place
        rest = self._graph.rest[number + 1]
        live = step.live_bits(key)
        for row, target in self._graph.edges[number].get(key, ()):
            more = rest[target]
            if not more[0] < inf:
                continue
            room = Room(step, key, (row, target), (live, self._capacity))
            for label in labels:
                energy, latency = label.energy + more[0], label.latency + more[1]
                points = [
                    i
                    for i, point in enumerate(row.points)
                    if not self._covers(energy + point[0], latency + point[1])
                ]
                if points and (found := list(room.joined(label, points))):
                    following.setdefault(target, []).extend(found)

    def _covers(self, energy: float, latency: float) -> bool:
        """Tell whether a known label is nowhere above these two."""
        place = bisect_right(self._energies, energy * (1 + NOISE))
        return place > 0 and self._known[place - 1].latency <= latency * (1 + NOISE)


def pareto_labels(labels: Sequence[Label]) -> list[Label]:
    """Return the labels that no other one covers in energy and latency, by energy."""
    if not labels:
        return []
    rows = np.array([(label.energy, label.latency) for label in labels])
    return [labels[i] for i in undominated(rows).tolist()]
