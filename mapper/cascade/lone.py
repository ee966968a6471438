"""Einsums that share no loops: copies, which are searched alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf

import numpy as np

from tilewright.arch.flattening import flatten
from tilewright.mapper.cascade.boundary import Boundaries
from tilewright.mapper.cascade.room import Room
from tilewright.mapper.cascade.table import Rows
from tilewright.mapper.cascade.tree import Body
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.mapping import Mapping as LoopNest
from tilewright.mapper.mapping import Node, Storage, Toll
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.copies import copy_mappings, least_of_copies
from tilewright.mapper.searches.exhaustive import best_of
from tilewright.mapper.searches.judge import TOLERANCE, Judge
from tilewright.mapper.searches.metrics import Goal, Objective
from tilewright.mapper.searches.options import Request
from tilewright.mapper.searches.result import EinsumMapping
from tilewright.mapper.searches.solver import Solver

GOALS: tuple[Objective, ...] = ("energy", "latency", "edp")
ENDS: tuple[Objective, ...] = ("energy", "latency")


@dataclass(frozen=True)
class LoneTable:
    """The table of one such Einsum: one row with what it writes in the outermost memory, and one
    with that on chip, below no shared loop, if it may stay there and fits.

    `bodies`: one for each point; the second number of its origin tells which. `slack`: how much the
    least energy and latency could exceed the best of their own spaces. `ideal`: one point of each
    row is best in both.
    """

    einsum: Einsum
    boundary: tuple[str, ...]
    widths: Mapping[str, float]
    rows: tuple[Rows, ...]
    bodies: tuple[Body, ...]
    slack: tuple[float, float]
    ideal: bool

    @property
    def least(self) -> tuple[float, float]:
        """Least energy and least latency among the rows."""
        energy, latency = np.min([rows.least[0] for rows in self.rows], axis=0).tolist()
        return energy, latency


@dataclass(frozen=True, slots=True)
class _Way:
    """The mappings of one row on their spaces, and bounds of energy and latency."""

    found: tuple[tuple[EinsumMapping, Mapspace], ...]
    floor: tuple[float, float]

    @property
    def slack(self) -> tuple[float, float]:
        least = [min(one.value(goal) for one, _ in self.found) for goal in ENDS]
        return least[0] - self.floor[0], least[1] - self.floor[1]

    @property
    def ideal(self) -> bool:
        limits = [bound * (1 + TOLERANCE) for bound in self.floor]
        return any(e.energy <= limits[0] and e.latency <= limits[1] for e, _ in self.found)


class LoneSolver:
    """Solves copies of one workload, one by one, with what they read in the outermost memory."""

    def __init__(self, request: Request, room: Room, boundaries: Boundaries) -> None:
        self._request = replace(request, options=replace(request.options, method=None))
        self._solver = Solver(self._request)
        self._room = room
        self._boundaries = boundaries

    def table(self, einsum: Einsum, objective: str) -> LoneTable:
        """Return the table of `einsum`; InfeasibleMapping if it fits nowhere.

        For a formula, or none, the mappings that are best in one metric or another.
        """
        goals = [goal for goal in GOALS if goal == objective] or list(GOALS)
        boundary = self._boundaries.of(einsum)
        ways = [self._outside(einsum, goals)]
        if boundary and (way := self._on_chip(einsum, boundary[0], goals)) is not None:
            ways.append(way)
        rows: list[Rows] = []
        bodies: list[Body] = []
        for kept, way in enumerate(ways):
            sizes = [self._size(einsum, t) * kept for t in boundary]
            points = [self._point(one, space, sum(sizes)) for one, space in way.found]
            origins = [(0, len(bodies) + i) for i in range(len(points))]
            rows.append(_one_row((kept - 1,) * len(boundary), sizes, (points, origins)))
            for one, _ in way.found:
                body = _body(one.mapping.nodes, self._room.outer)
                bodies.append(_without(body, boundary[0]) if kept else body)
        slack = max(way.slack[0] for way in ways), max(way.slack[1] for way in ways)
        widths = {t: self._width(einsum, t) for t in boundary}
        ideal = all(way.ideal for way in ways)
        return LoneTable(einsum, boundary, widths, tuple(rows), tuple(bodies), slack, ideal)

    def _outside(self, einsum: Einsum, goals: Sequence[Objective]) -> _Way:
        solved = [self._solver.solve(einsum, Goal(goal)) for goal in goals]
        floor = [self._solver.solve(einsum, Goal(goal)).lower_bound for goal in ENDS]
        found = {one.best.mapping: (one.best, one.space) for one in solved}
        return _Way(tuple(found.values()), (floor[0], floor[1]))

    def _on_chip(self, einsum: Einsum, tensor: str, goals: Sequence[Objective]) -> _Way | None:
        """Return the best with `tensor` in the second memory, None if there is none."""
        others, room = frozenset(einsum.tensors) - {tensor}, self._room
        floor = [inf, inf]
        found: dict[LoopNest, tuple[EinsumMapping, Mapspace]] = {}
        flats = flatten(self._request.arch, self._request.workload.scope(einsum))
        conventions = self._request.options.conventions
        spaces = [Mapspace(einsum, f, conventions, others, crowded=room.crowded) for f in flats]
        for goal in dict.fromkeys((*goals, *ENDS)):
            each = [(best_of(self._kept(s, tensor), s, Goal(goal), inf)[0], s) for s in spaces]
            feasible = [(one, space) for one, space in each if one is not None]
            if not feasible:
                return None
            if goal in ENDS:
                bounds = [least_of_copies(one, space, Goal(goal)) for one, space in feasible]
                floor[ENDS.index(goal)] = min(bounds)
            if goal in goals:
                best = min(feasible, key=partial(_merit, Goal(goal)))
                found[best[0].mapping] = best
        return _Way(tuple(found.values()), (floor[0], floor[1]))

    def _kept(self, space: Mapspace, tensor: str) -> Iterator[LoopNest]:
        for mapping in copy_mappings(space):
            first = next(n for n in mapping.nodes if isinstance(n, Storage) and tensor in n.tensors)
            if first.component == self._room.inner:
                yield mapping

    def _point(self, best: EinsumMapping, space: Mapspace, shared: float) -> tuple[float, ...]:
        """Return the metrics and the bits in the second memory, `shared` ones not counted."""
        capacity = Judge(space).score(best.mapping).capacity
        return best.energy, best.latency, float(capacity.get(self._room.inner or "", 0)) - shared

    def _size(self, einsum: Einsum, tensor: str) -> float:
        values = float(einsum.access(tensor).tile_size(einsum.bounds))
        return values * self._width(einsum, tensor)

    def _width(self, einsum: Einsum, tensor: str) -> float:
        return self._room.widths.get(tensor, float(einsum.access(tensor).bits_per_value))


def _one_row(
    depths: tuple[int, ...],
    sizes: Sequence[float],
    points: tuple[Sequence[tuple[float, ...]], Sequence[tuple[int, int]]],
) -> Rows:
    """Return a row without loops; `points` with their origins."""
    return Rows(
        (), depths, (),
        np.zeros((1, 0), np.int64),
        np.array([sizes], np.float64).reshape(1, -1),
        np.array([0, len(points[0])], np.int64),
        np.array(points[0]),
        np.array(points[1], np.int64),
    )  # fmt: skip


def _merit(goal: Goal, pair: tuple[EinsumMapping, Mapspace]) -> tuple[float, float]:
    return pair[0].value(goal), pair[0].value(goal.second)


def _body(nodes: tuple[Node, ...], outer: str) -> Body:
    """Split a mapping into the outermost memory, with the Tolls right below, and the rest."""
    top: list[Storage] = []
    place = 0
    while isinstance(node := nodes[place], Storage) and (
        node.component == outer or isinstance(node, Toll)
    ):
        top += [replace(node, tensors=(t,)) for t in node.tensors]
        place += 1
    return Body(tuple(top), (), (), (), nodes[place:])


def _without(body: Body, tensor: str) -> Body:
    """Take the first storage of `tensor` out: it stands above what shares it."""
    inner: list[Node] = []
    seen = False
    for node in body.inner:
        kept = node
        if isinstance(node, Storage) and tensor in node.tensors and not seen:
            seen = True
            kept = replace(node, tensors=tuple(t for t in node.tensors if t != tensor))
        if not isinstance(kept, Storage) or kept.tensors:
            inner.append(kept)
    return replace(body, on_chip=((tensor, 0),), inner=tuple(inner))
