"""Einsums that share no loops: copies, which are searched alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import inf

import numpy as np

from tilewright.arch.flattening import flatten
from tilewright.mapper.cascade.boundary import Boundaries
from tilewright.mapper.cascade.pareto import pareto
from tilewright.mapper.cascade.room import Room
from tilewright.mapper.cascade.table import Rows, width_of
from tilewright.mapper.cascade.tree import Body
from tilewright.mapper.cascade.usage import NO_USAGE, Usage
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.errors import InfeasibleMapping, MappingError
from tilewright.mapper.mapping import Mapping as LoopNest
from tilewright.mapper.mapping import Node, Storage, Toll
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.copies import Copies
from tilewright.mapper.searches.judge import TOLERANCE, Judge
from tilewright.mapper.searches.options import Request
from tilewright.mapper.searches.solver import Solver

Change = Callable[[LoopNest], LoopNest | None]


@dataclass(frozen=True)
class LoneTable:
    """The table of one such Einsum: a row for each choice of what it reads and writes on chip, of
    those that fit.

    `bodies`: one for each point; the second number of its origin tells which. `slack`: how much the
    least energy and latency could exceed the best of their own spaces. `ideal`: one point of each
    row is best in both; where the usage of memories counts, no point is missing.
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
class _Point:
    """A mapping with its joule, second, bits in use (Usage.of_points) and in the second memory."""

    mapping: LoopNest
    row: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Way:
    """The mappings of one row, and bounds of energy and latency; `whole`: none is missing."""

    found: tuple[_Point, ...]
    floor: tuple[float, float]
    whole: bool

    @property
    def slack(self) -> tuple[float, float]:
        least = _least(self.found)
        return least[0] - self.floor[0], least[1] - self.floor[1]

    @property
    def ideal(self) -> bool:
        limits = [bound * (1 + TOLERANCE) for bound in self.floor]
        return any(one.row[0] <= limits[0] and one.row[1] <= limits[1] for one in self.found)


class LoneSolver:
    """Solves copies of one workload, one by one."""

    def __init__(
        self, request: Request, room: Room, boundaries: Boundaries, usage: Usage = NO_USAGE
    ) -> None:
        self._request = replace(request, options=replace(request.options, method=None))
        self._solver = Solver(self._request)
        self._room = room
        self._boundaries = boundaries
        self._usage = usage

    def table(self, einsum: Einsum) -> LoneTable:
        """Return the table of `einsum`; InfeasibleMapping if it fits nowhere."""
        boundary = self._boundaries.of(einsum)
        chosen = chain.from_iterable(combinations(boundary, n) for n in range(len(boundary) + 1))
        ways = [(kept, way) for kept in chosen if (way := self._keeping(einsum, kept)) is not None]
        if not ways:
            raise self._solver.no_mapping(einsum, proven=True)
        spaces = [space for _, space in self._solver.spaces(einsum)]
        widths = {t: max(width_of(space, t) for space in spaces) for t in boundary}
        values = {t: float(einsum.access(t).tile_size(einsum.bounds)) for t in boundary}
        rows: list[Rows] = []
        bodies: list[Body] = []
        for kept, way in ways:
            sizes = [values[t] * widths[t] * (t in kept) for t in boundary]
            points = [(*one.row[:-1], one.row[-1] - sum(sizes)) for one in way.found]
            origins = [(0, len(bodies) + i) for i in range(len(points))]
            depths = tuple(0 if t in kept else -1 for t in boundary)
            rows.append(_one_row(depths, sizes, (points, origins)))
            for one in way.found:
                body = _body(one.mapping.nodes, self._room.outer, self._shared)
                bodies.append(_without(body, kept) if kept else body)
        slack = max(way.slack[0] for _, way in ways), max(way.slack[1] for _, way in ways)
        ideal = all(way.whole if self._usage.names else way.ideal for _, way in ways)
        return LoneTable(einsum, boundary, widths, tuple(rows), tuple(bodies), slack, ideal)

    def _keeping(self, einsum: Einsum, tensors: tuple[str, ...]) -> _Way | None:
        """Return the best with these tensors in the second memory, None if there is none."""
        if not tensors:
            return self._way([space for _, space in self._solver.spaces(einsum)], lambda one: one)
        if not self._boundaries.shares_room and self._counts_twice(einsum, tensors):
            return None
        others, room = frozenset(einsum.tensors) - set(tensors), self._room
        flats = flatten(self._request.arch, self._request.workload.scope(einsum))
        conventions = self._request.options.conventions
        spaces = [Mapspace(einsum, f, conventions, others, crowded=room.crowded) for f in flats]

        def kept(mapping: LoopNest) -> LoopNest | None:
            first = [_first_of(mapping, tensor) for tensor in tensors]
            if any(storage.component != room.inner for _, storage in first):
                return None
            return _tolls_below(mapping, max(place for place, _ in first), self._shared)

        return self._way(spaces, kept)

    def _counts_twice(self, einsum: Einsum, tensors: tuple[str, ...]) -> bool:
        """Tell whether accelforge, which takes what a copy writes for one more place of what it
        reads, would count what it reads once more on chip: that is used later, too."""
        number = self._boundaries.workload.einsums.index(einsum)
        later = [t for t in tensors if self._boundaries.users[t][-1] > number]
        return bool(later) and not any(access.tensor in tensors for access in einsum.outputs)

    @property
    def _shared(self) -> frozenset[str]:
        return frozenset(t for t, users in self._boundaries.users.items() if len(users) > 1)

    def _way(self, spaces: Sequence[Mapspace], change: Change) -> _Way | None:
        """Return the mappings that nothing beats in energy, latency and bits, and their bounds.

        `change`: a mapping as it would be in the tree, None if it has no place there.
        """
        ways = [way for space in spaces if (way := self._way_in(space, change)) is not None]
        if not ways:
            return None
        found = [one for way in ways for one in way.found]
        rows = np.array([one.row for one in found])
        best = pareto(np.zeros(len(rows), np.int64), rows).tolist()
        floor = min(way.floor[0] for way in ways), min(way.floor[1] for way in ways)
        return _Way(tuple(found[i] for i in best), floor, all(way.whole for way in ways))

    def _way_in(self, space: Mapspace, change: Change) -> _Way | None:
        copies = Copies(space)
        roomy = self._room.capacity == inf and not self._usage.names
        few = tuple(self._points(space, filter(None, map(change, copies.few))))
        if few:
            way = _Way(few, copies.floor(*_least(few)), whole=False)
            if copies.every is None or (way.ideal and roomy):
                return way
        every = tuple(self._points(space, filter(None, map(change, copies.every or ()))))
        return _Way(every, _least(every), whole=True) if every else None

    def _points(self, space: Mapspace, mappings: Iterable[LoopNest]) -> Iterator[_Point]:
        """Score mappings: joule, second, bits in use and those in the second memory."""
        judge = Judge(space)
        names = (*self._usage.of_points, self._room.inner or "")
        for mapping in mappings:
            try:
                score = judge.score(mapping)
            except (InfeasibleMapping, MappingError):
                continue
            bits = (float(score.capacity.get(name, 0)) for name in names)
            yield _Point(mapping, (score.energy, score.latency, *bits))


def _least(points: Sequence[_Point]) -> tuple[float, float]:
    """Return the least energy and the least latency."""
    return min(one.row[0] for one in points), min(one.row[1] for one in points)


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


def _first_of(mapping: LoopNest, tensor: str) -> tuple[int, Storage]:
    """Return the first storage of a tensor, and its place."""
    return next(
        (place, node)
        for place, node in enumerate(mapping.nodes)
        if isinstance(node, Storage) and tensor in node.tensors
    )


def _tolls_below(mapping: LoopNest, place: int, shared: frozenset[str]) -> LoopNest:
    """Write the Tolls of shared tensors below the storage at `place`, which others use too.

    Above it they would charge what other Einsums move.
    """
    above, held, rest = mapping.nodes[:place], mapping.nodes[place], mapping.nodes[place + 1 :]
    tolls = tuple(n for n in above if isinstance(n, Toll) and shared.intersection(n.tensors))
    return LoopNest((*(n for n in above if n not in tolls), held, *tolls, *rest))


def _body(nodes: tuple[Node, ...], outer: str, shared: frozenset[str]) -> Body:
    """Split a mapping into the outermost memory, with the Tolls right below, and the rest.

    Tolls of tensors that other Einsums use stay with this one.
    """
    top: list[Storage] = []
    place = 0
    while isinstance(node := nodes[place], Storage) and (
        node.component == outer
        or (isinstance(node, Toll) and not shared.intersection(node.tensors))
    ):
        top += [replace(node, tensors=(t,)) for t in node.tensors]
        place += 1
    return Body(tuple(top), (), (), frozenset(), nodes[place:])


def _without(body: Body, tensors: Sequence[str]) -> Body:
    """Take the first storages of `tensors` out: they stand above what shares these."""
    inner: list[Node] = []
    out: dict[str, Storage | Toll] = {}
    for node in body.inner:
        kept = node
        if isinstance(node, Storage):
            here = [t for t in node.tensors if t in tensors and t not in out]
            out |= {t: replace(node, tensors=(t,)) for t in here}
            kept = replace(node, tensors=tuple(t for t in node.tensors if t not in here))
        if not isinstance(kept, Storage) or kept.tensors:
            inner.append(kept)
    held = tuple((0, storage) for storage in out.values())
    return replace(body, held=held, on_chip=frozenset(out.values()), inner=tuple(inner))
