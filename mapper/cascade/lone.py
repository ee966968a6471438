"""Copies: each is searched alone, and then put below the loops that it may share (copied.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations, permutations
from math import inf

from tilewright.arch.flat import FlatArch
from tilewright.mapper.cascade.boundary import Boundaries, Place
from tilewright.mapper.cascade.copied import CopyRows, Point, lanes_in, standing
from tilewright.mapper.cascade.layout import memories_of
from tilewright.mapper.cascade.names import LoopName
from tilewright.mapper.cascade.room import Room
from tilewright.mapper.cascade.table import Chosen, Rows, value_widths
from tilewright.mapper.cascade.tree import Body
from tilewright.mapper.cascade.usage import NO_USAGE, Usage
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.errors import InfeasibleMapping, MappingError
from tilewright.mapper.mapping import Mapping as LoopNest
from tilewright.mapper.mapping import Node, Spatial, Storage, Temporal, Toll
from tilewright.mapper.mapspace.placement import Holder, Placement, order_allowed
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.copies import Copies
from tilewright.mapper.searches.judge import TOLERANCE, Judge
from tilewright.mapper.searches.options import Request
from tilewright.mapper.searches.solver import Solver

Change = Callable[[LoopNest], LoopNest | None]
# tensors on chip, outermost first; whether another order is the same where no loop is between
Loose = tuple[tuple[str, ...], bool, tuple[Point, ...]]


@dataclass(frozen=True)
class LoneTable:
    """The table of one copy: rows for each choice of what it reads and writes on chip.

    `rows`: those without loops; `loose`: what those with loops are made of; `bodies`: one for each
    point, the second number of its origin tells which. `slack`: how much the least energy and
    latency could exceed the best of their own spaces. `ideal`: no row without loops could be better
    in anything that counts. `shares`: those with loops are made, and none is missing.
    """

    einsum: Einsum
    boundary: tuple[Place, ...]
    widths: Mapping[Place, float]
    rows: tuple[Rows, ...]
    bodies: tuple[Body, ...]
    slack: tuple[float, float]
    ideal: bool
    maker: CopyRows
    loose: tuple[Loose, ...] = ()
    shares: bool = False

    @cached_property
    def with_loops(self) -> LoneTable:
        """The same with all rows."""
        made = [rows for loose in self.loose for rows in self.maker.below_loops(*loose)]
        return replace(self, rows=(*self.rows, *made))

    def body(self, chosen: Chosen) -> Body:
        """Return what one chosen point of a row stands for."""
        found: Body = self.bodies[chosen.rows.origins[chosen.point, 1]]
        own = {loop: variable for variable, loop in self.maker.names.items()}
        loops = tuple((LoopName(own[loop.variable]), tile) for loop, tile in chosen.loops)
        places = zip(self.boundary, chosen.rows.depths, strict=True)
        depth = {place.tensor: number for place, number in places}
        held = tuple((depth[storage.tensors[0]], storage) for _, storage in found.held)
        above = {**self.einsum.bounds, **{loop.variable: tile for loop, tile in loops}}
        inner = tuple(_loops_that_turn(above, found.inner))
        return replace(found, loops=loops, held=held, inner=inner)


@dataclass(frozen=True, slots=True)
class _Point:
    """A mapping with its joule, second and bits in use (Usage.of_points)."""

    mapping: LoopNest
    row: tuple[float, ...]
    judge: Judge


@dataclass(frozen=True, slots=True)
class _Way:
    """The mappings of one row, and bounds of energy and latency; `whole`: none is missing.
    `loose`: those that may stand below loops; None: not known."""

    found: tuple[_Point, ...]
    floor: tuple[float, float]
    whole: bool
    loose: tuple[_Point, ...] | None

    @property
    def slack(self) -> tuple[float, float]:
        least = _least(self.found)
        return least[0] - self.floor[0], least[1] - self.floor[1]

    @property
    def ideal(self) -> bool:
        return any(_attains(one, self.floor) for one in self.found)


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
        tensors = [place.tensor for place in boundary]
        chosen = chain.from_iterable(combinations(tensors, n) for n in range(len(boundary) + 1))
        ways = [(kept, way) for kept in chosen if (way := self._keeping(einsum, kept)) is not None]
        if not ways:
            raise self._solver.no_mapping(einsum, proven=True)
        made = _Making(self._maker(einsum, boundary), self._boundaries, self._room)
        shares = self._tight and all(way.loose is not None for kept, way in ways if kept)
        for kept, way in ways:
            for number, order in enumerate(self._orders(einsum, kept)):
                again = bool(number) and self._boundaries.shares_room
                made.add(order, way, (again, shares))
        slack = max(way.slack[0] for _, way in ways), max(way.slack[1] for _, way in ways)
        counted = bool(self._usage.names)
        ideal = all(way.whole or (way.ideal and not counted) for _, way in ways)
        return LoneTable(
            einsum, boundary, made.maker.widths, tuple(made.rows), tuple(made.bodies), slack, ideal,
            made.maker, tuple(made.loose), shares,
        )  # fmt: skip

    def _maker(self, einsum: Einsum, boundary: tuple[Place, ...]) -> CopyRows:
        spaces = [space for _, space in self._solver.spaces(einsum)]
        places = *self._room.memories, *self._boundaries.tolls
        widths = [value_widths(space, places) for space in spaces]
        return CopyRows(
            einsum,
            boundary,
            {place: max(one[place] for one in widths) for place in widths[0]},
            self._boundaries.carried_by(einsum),
            self._boundaries.names_of(einsum),
            self._request.options.max_fused_loops_per_rank_variable,
            self._room.capacities,
        )

    @property
    def _tight(self) -> bool:
        """Whether it matters how much of the second memory is used, so that shared loops can pay.

        accelforge counts no loops above copies as shared, so that what the outermost memory holds
        would depend on them, too: where its usage counts, there copies share none.
        """
        pays = min(self._room.capacities) < inf or bool(self._usage.inner)
        return pays and (self._boundaries.shares_room or not self._usage.outer)

    def _orders(self, einsum: Einsum, kept: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Yield the orders in which tensors on chip may stand, outermost first."""
        inner = memories_of(self._spaces(einsum, kept)[0].flat)[1]
        if inner is None or len(kept) < 2:
            yield kept
            return
        others = frozenset(einsum.tensors) - set(kept)
        rules = inner.tensors.resolve({self._room.outer: others})
        placement = Placement(((inner.name, kept),), (rules,))
        for order in permutations(kept):
            if order_allowed([Holder(t, inner.name) for t in order], placement):
                yield order

    def _spaces(self, einsum: Einsum, kept: tuple[str, ...]) -> list[Mapspace]:
        """Return the mapspaces in which some tensors may be whole in the second memory, however
        small it is: whether they fit depends on loops above them."""
        if not kept:
            return [space for _, space in self._solver.spaces(einsum)]
        others, room = frozenset(einsum.tensors) - set(kept), self._room
        flats = self._request.flats(einsum)
        conventions = self._request.options.conventions
        roomy = (_with_room(flat) for flat in flats)
        return [Mapspace(einsum, f, conventions, others, crowded=room.crowded) for f in roomy]

    def _keeping(self, einsum: Einsum, tensors: tuple[str, ...]) -> _Way | None:
        """Return the best with these tensors in the second memory, None if there is none."""
        spaces = self._spaces(einsum, tensors)
        if not tensors:
            return self._way([(space, Copies(space)) for space in spaces], lambda one: one)
        room = self._room
        upper = {name for space in spaces for name in _down_to(space.flat, room.inner)}

        def kept(mapping: LoopNest) -> LoopNest | None:
            first = [_first_of(mapping, tensor) for tensor in tensors]
            if any(storage.component != room.inner for _, storage in first):
                return None
            if any(isinstance(n, Spatial) and n.component in upper for n in mapping.nodes):
                return None  # what others use whole would be dealt over lanes
            return _tolls_below(
                mapping, max(place for place, _ in first), _shared(self._boundaries)
            )

        first = {tensor: str(room.inner) for tensor in tensors}
        return self._way([(space, Copies(space, first)) for space in spaces], kept)

    def _way(self, spaces: Sequence[tuple[Mapspace, Copies]], change: Change) -> _Way | None:
        """Return the mappings that nothing beats in energy, latency and bits, and their bounds.

        `change`: a mapping as it would be in the tree, None if it has no place there.
        """
        found_in = (self._way_in(space, copies, change) for space, copies in spaces)
        ways = [way for way in found_in if way is not None]
        if not ways:
            return None
        floor = min(way.floor[0] for way in ways), min(way.floor[1] for way in ways)
        found = tuple(one for way in ways for one in way.found)
        loose = tuple(one for way in ways for one in way.loose or ())
        known = all(way.loose is not None for way in ways)
        return _Way(found, floor, all(way.whole for way in ways), loose if known else None)

    def _way_in(self, space: Mapspace, copies: Copies, change: Change) -> _Way | None:
        few = tuple(self._points(space, filter(None, map(change, copies.few))))
        if few:
            floor = copies.floor(*_least(few))
            free = _free(space, few, floor) if copies.ignores_tiles else None
            way = _Way(few, floor, whole=False, loose=free)
            settled = way.ideal and not self._usage.names
            shares = self._tight and copies.ignores_tiles and free is None
            if (settled and not shares) or copies.every is None:
                return way
        every = tuple(self._points(space, filter(None, map(change, copies.every or ()))))
        if not every:
            return None
        dealt = None
        if self._tight and copies.dealt is not None:
            dealt = tuple(self._points(space, filter(None, map(change, copies.dealt))))
        return _Way(every, _least(every), whole=True, loose=dealt)

    def _points(self, space: Mapspace, mappings: Iterable[LoopNest]) -> Iterator[_Point]:
        """Score mappings: joule, second and bits in use."""
        judge = Judge(space)
        for mapping in mappings:
            try:
                score = judge.score(mapping)
            except (InfeasibleMapping, MappingError):
                continue
            bits = (float(score.capacity.get(name, 0)) for name in self._usage.of_points)
            yield _Point(mapping, (score.energy, score.latency, *bits), judge)


@dataclass(frozen=True)
class _Making:
    """Collects the rows and the bodies of one copy."""

    maker: CopyRows
    boundaries: Boundaries
    room: Room
    rows: list[Rows] = field(default_factory=list)
    bodies: list[Body] = field(default_factory=list)
    loose: list[Loose] = field(default_factory=list)

    def add(self, order: tuple[str, ...], way: _Way, what: tuple[bool, bool]) -> None:
        """Add a way with its tensors on chip in some order.

        `what`: whether it was added in another order that counts the same where no loop stands
        between; whether loops may stand above.
        """
        again, shares = what
        if not again:
            self.rows.extend(
                self.maker.plain(order, [self._point(order, one) for one in way.found])
            )
        if shares and order:
            some = tuple(self._point(order, one) for one in way.loose or ())
            self.loose.append((order, again, some))

    def _point(self, order: tuple[str, ...], one: _Point) -> Point:
        body = _body(one.mapping.nodes, self.room.outer, _shared(self.boundaries))
        body = _without(body, order) if order else body
        storages = [storage for _, storage in body.held]
        nodes = (*body.top, *storages, *body.inner)
        place = {s.tensors[0]: len(body.top) + i for i, s in enumerate(storages)}
        einsum = self.maker.einsum
        values = {a.tensor: float(a.tile_size(einsum.bounds)) for a in einsum.accesses}
        stands = standing(one.judge.occupied(LoopNest(nodes)), place, self.room.memories, values)
        self.bodies.append(body)
        lanes = lanes_in(one.mapping, einsum.bounds)
        return Point(one.row, lanes, stands, len(self.bodies) - 1)


def _with_room(flat: FlatArch) -> FlatArch:
    """Return the path with a second memory that has room for anything."""
    inner = memories_of(flat)[1]
    if inner is None:
        return flat
    path = tuple(replace(c, size=inf) if c is inner else c for c in flat.components)
    return replace(flat, components=path)


def _shared(boundaries: Boundaries) -> frozenset[str]:
    """Return the tensors that several Einsums use."""
    return frozenset(t for t, users in boundaries.users.items() if len(users) > 1)


def _attains(point: _Point, floor: tuple[float, float]) -> bool:
    return all(point.row[i] <= floor[i] * (1 + TOLERANCE) for i in (0, 1))


def _free(
    space: Mapspace, points: Sequence[_Point], floor: tuple[float, float]
) -> tuple[_Point, ...] | None:
    """Return the points that attain the least energy and latency without lanes: no other one is
    better below any loops. None if there is none."""
    found = tuple(
        one
        for one in points
        if _attains(one, floor) and set(lanes_in(one.mapping, space.einsum.bounds).values()) <= {1}
    )
    return found or None


def _loops_that_turn(above: Mapping[str, int], nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield the nodes without the loops whose tile is the one above."""
    tiles = dict(above)
    for node in nodes:
        if isinstance(node, Temporal):
            if tiles[node.rank_variable] == node.tile_shape:
                continue
            tiles[node.rank_variable] = node.tile_shape
        yield node


def _least(points: Sequence[_Point]) -> tuple[float, float]:
    """Return the least energy and the least latency."""
    return min(one.row[0] for one in points), min(one.row[1] for one in points)


def _down_to(flat: FlatArch, memory: str | None) -> Iterator[str]:
    """Yield the components of a path down to a memory."""
    for component in flat.components:
        yield component.name
        if component.name == memory:
            return


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
    out: dict[str, Storage] = {}
    for node in body.inner:
        kept = node
        if isinstance(node, Storage):
            here = [t for t in node.tensors if t in tensors and t not in out]
            out |= {t: replace(node, tensors=(t,)) for t in here}
            kept = replace(node, tensors=tuple(t for t in node.tensors if t not in here))
        if not isinstance(kept, Storage) or kept.tensors:
            inner.append(kept)
    held = tuple((0, out[tensor]) for tensor in tensors)
    return replace(body, held=held, on_chip=frozenset(out.values()), inner=tuple(inner))
