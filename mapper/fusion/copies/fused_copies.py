"""Copies: each is searched alone, then put below the loops that it may share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations, permutations
from math import inf

from tilewright.arch.components.components import Toll
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fusion.boundary.exchange_memories import Room
from tilewright.mapper.fusion.boundary.exchanged_tensors import Boundaries, Place
from tilewright.mapper.fusion.boundary.usage_peaks import NO_USAGE, Usage
from tilewright.mapper.fusion.copies.copy_nodes import (
    Keeping,
    Lane,
    body_of_copy,
    down_to,
    in_one_lane,
    lanes_above,
    loops_that_turn,
    orders_of,
    without,
)
from tilewright.mapper.fusion.copies.copy_pmappings import (
    CopyRows,
    Point,
    Standing,
    lanes_in,
    standing,
)
from tilewright.mapper.fusion.fused_mapping import Body
from tilewright.mapper.fusion.pmappings.fused_templates import memories_of
from tilewright.mapper.fusion.pmappings.pmapping_table import Chosen, Rows, value_widths
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapping.mapping import Node, Spatial
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import UNLIMITED
from tilewright.mapper.searches.copies.copy_einsums import CopyMappings
from tilewright.mapper.searches.methods.exhaustive import has_at_most_points
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.solver import EinsumSolver
from tilewright.mapper.searches.verify import TOLERANCE, Verifier
from tilewright.mapper.templates.placement import Holder, Placement, order_allowed
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping, MappingError

LISTED = 2000  # mappings of a copy below lanes, where tiles matter: a second of model evaluations
Change = Callable[[LoopNest], LoopNest | None]
# tensors on chip, outermost first; whether another order is the same where no loop is between
Loose = tuple[tuple[str, ...], bool, tuple[Point, ...]]


@dataclass(frozen=True)
class LoneTable:
    """The table of one copy: rows for each choice of what it reads and writes on chip.

    `rows`: those without loops; `loose`: what those with loops are made of; `bodies`: one for each
    point, the second number of its origin tells which. `slack`: how much the least energy and
    latency could exceed the best of their own spaces. `ideal`: no row without loops could be better
    in anything that counts. `shares`: those with loops are made, and none is missing; `deals`: so
    are those with lanes above what they keep on chip.
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
    deals: bool = True

    @cached_property
    def with_loops(self) -> LoneTable:
        """The same with all rows."""
        made = [rows for loose in self.loose for rows in self.maker.below_loops(*loose)]
        return replace(self, rows=(*self.rows, *made))

    def body(self, chosen: Chosen) -> Body:
        """Return what one chosen point of a row stands for."""
        found: Body = self.bodies[chosen.rows.origins[chosen.point, 1]]
        own = {loop: variable for variable, loop in self.maker.names.items()}
        loops = tuple((loop._replace(variable=own[loop.variable]), n) for loop, n in chosen.loops)
        places = zip(self.boundary, chosen.rows.depths, strict=True)
        depth = {place.tensor: number for place, number in places}
        held = tuple((depth[storage.tensors[0]], storage) for _, storage in found.held)
        above = {**self.einsum.bounds, **{loop.variable: tile for loop, tile in loops}}
        inner = tuple(loops_that_turn(above, found.inner))
        return replace(found, loops=loops, held=held, inner=inner)


@dataclass(frozen=True, slots=True)
class _Point:
    """A mapping with its joule, second and bits in use (Usage.of_points)."""

    mapping: LoopNest
    row: tuple[float, ...]
    judge: Verifier
    space: Mapspace


@dataclass(frozen=True, slots=True)
class _Way:
    """The mappings of one row, and bounds of energy and latency; `whole`: none is missing.
    `loose`: those that may stand below loops; None: not known. `deals`: all ways to deal lanes
    above the memory where tensors are exchanged are among them."""

    found: tuple[_Point, ...]
    floor: tuple[float, float]
    whole: bool
    loose: tuple[_Point, ...] | None
    deals: bool = True

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
        self._solver = EinsumSolver(self._request)
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
            raise self._solver.no_mapping_error(einsum, proven=True)
        made = _Making(self._maker(einsum, boundary), self._boundaries, self._room)
        shares = self._tight and all(way.loose is not None for kept, way in ways if kept)
        deals = all(way.deals for _, way in ways)
        for kept, way in ways:
            for number, order in enumerate(self._orders(einsum, kept)):
                again = bool(number) and self._boundaries.shares_room
                made.add(order, way, (again, shares))
        slack = max(way.slack[0] for _, way in ways), max(way.slack[1] for _, way in ways)
        counted = bool(self._usage.names)
        ideal = all(way.whole or (way.ideal and not counted) for _, way in ways)
        return LoneTable(
            einsum, boundary, made.maker.widths, tuple(made.rows), tuple(made.bodies), slack, ideal,
            made.maker, tuple(made.loose), shares, deals,
        )  # fmt: skip

    def _maker(self, einsum: Einsum, boundary: tuple[Place, ...]) -> CopyRows:
        spaces = [space for _, space in self._solver.mapspaces(einsum)]
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
        return pays and self._may_share

    @property
    def _may_share(self) -> bool:
        """Whether what the outermost memory holds counts the same below loops that are shared."""
        return self._boundaries.shares_room or not self._usage.outer

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
            return [space for _, space in self._solver.mapspaces(einsum)]
        others, room = frozenset(einsum.tensors) - set(kept), self._room
        flats = self._request.flat_archs(einsum)
        conventions = self._request.options.conventions
        roomy = (_with_room(flat) for flat in flats)
        return [Mapspace(einsum, f, conventions, others, crowded=room.crowded) for f in roomy]

    def _keeping(self, einsum: Einsum, tensors: tuple[str, ...]) -> _Way | None:
        """Return the best with these tensors in the second memory, None if there is none."""
        spaces = self._spaces(einsum, tensors)
        if not tensors:
            return _together(
                self._way_in(space, CopyMappings(space), lambda one: one) for space in spaces
            )
        first = {tensor: str(self._room.inner) for tensor in tensors}
        found = (self._way_below(space, CopyMappings(space, first), tensors) for space in spaces)
        return _together(found)

    def _way_below(
        self, space: Mapspace, copies: CopyMappings, tensors: tuple[str, ...]
    ) -> _Way | None:
        """Return the best of one space with these tensors in the second memory: with all ways to
        deal lanes above that if they are few, else without any there."""
        inner = str(self._room.inner)
        upper = tuple(down_to(space.flat, inner))
        names = frozenset(component.name for component in upper)
        carried = self._boundaries.carried_by(space.einsum)
        dealt = frozenset.intersection(*(carried[tensor] for tensor in tensors))
        keeping = Keeping(tensors, inner, names, dealt, _shared(self._boundaries))
        if all(component.own_fanout == 1 for component in upper):
            return self._way_in(space, copies, keeping.fitted)
        # a Toll above lanes that others share would charge what these move
        if self._may_share and not any(c.physical_fanout > 1 or isinstance(c, Toll) for c in upper):
            way = self._way_dealt(space, copies, keeping.fitted)
            if way is not None:
                return way
        undealt = replace(keeping, dealt=frozenset())
        way = self._way_in(space, copies, undealt.fitted)
        return way and replace(way, deals=False)

    def _way_dealt(self, space: Mapspace, copies: CopyMappings, change: Change) -> _Way | None:
        """Return all mappings that may differ where others share lanes; None: too many, or none."""
        every = copies.all_spatial
        if not copies.ignores_tiles and not space.problem.has_networks:
            every = copies.all_distinct if has_at_most_points(space, LISTED, UNLIMITED) else None
        found = tuple(self._points(space, filter(None, map(change, every or ()))))
        loose = found if copies.ignores_tiles else None
        return _Way(found, _least(found), whole=True, loose=loose) if found else None

    def _way_in(self, space: Mapspace, copies: CopyMappings, change: Change) -> _Way | None:
        """Return the mappings that nothing beats in energy, latency and bits, and their bounds.

        `change`: a mapping as it would be in the tree, None if it has no place there.
        """
        few = tuple(self._points(space, filter(None, map(change, copies.representatives))))
        if few:
            floor = copies.lower_bounds(*_least(few))
            free = _free(space, few, floor) if copies.ignores_tiles else None
            way = _Way(few, floor, whole=False, loose=free)
            settled = way.ideal and not self._usage.names
            shares = self._tight and copies.ignores_tiles and free is None
            if (settled and not shares) or copies.all_distinct is None:
                return way
        every = tuple(self._points(space, filter(None, map(change, copies.all_distinct or ()))))
        if not every:
            return None
        dealt = None
        if self._tight and copies.all_spatial is not None:
            dealt = tuple(self._points(space, filter(None, map(change, copies.all_spatial))))
        return _Way(every, _least(every), whole=True, loose=dealt)

    def _points(self, space: Mapspace, mappings: Iterable[LoopNest]) -> Iterator[_Point]:
        """Score mappings: joule, second and bits in use."""
        judge = Verifier(space)
        for mapping in mappings:
            try:
                score = judge.score(mapping)
            except (InfeasibleMapping, MappingError):
                continue
            bits = (float(score.capacity.get(name, 0)) for name in self._usage.of_points)
            yield _Point(mapping, (score.energy, score.latency, *bits), judge, space)


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
            self.rows.extend(self.maker.plain(order, self._points(order, way.found)))
        if shares and order:
            some = tuple(self._points(order, way.loose or ()))
            self.loose.append((order, again, some))

    def _points(self, order: tuple[str, ...], found: Sequence[_Point]) -> list[Point]:
        return [point for one in found for point in self._ordered(order, one)]

    def _ordered(self, order: tuple[str, ...], one: _Point) -> Iterator[Point]:
        """Yield what a mapping is to others, in each order that shared lanes may stand in."""
        bounds = self.maker.einsum.bounds
        lanes = self._lanes(one) if order else []
        body = body_of_copy(one.mapping.nodes, self.room.outer, _shared(self.boundaries))
        if order:
            body = without(replace(body, inner=in_one_lane(body.inner, lanes)), order)
        self.bodies.append(body)
        stands = self._standing(one, body, lanes)
        counts = lanes_in(one.mapping, bounds)
        for way in orders_of(lanes, one.space.flat, self.maker.names):
            yield Point(one.row, counts, stands, len(self.bodies) - 1, way)

    def _lanes(self, one: _Point) -> list[Lane]:
        upper = down_to(one.space.flat, self.room.inner)
        return lanes_above(one.mapping, self.maker.einsum.bounds, frozenset(c.name for c in upper))

    def _standing(self, one: _Point, body: Body, lanes: Sequence[Lane]) -> Standing:
        """Return what a mapping takes on chip below its lanes."""
        tile, dealt = dict(self.maker.einsum.bounds), list[Node]()
        for lane in lanes:
            tile[lane.variable] //= lane.number
            component, name = lane.dim
            dealt.append(Spatial(lane.variable, tile[lane.variable], name, component))
        storages = [storage for _, storage in body.held]
        above = (*body.top, *dealt)
        place = {s.tensors[0]: len(above) + i for i, s in enumerate(storages)}
        values = {a.tensor: float(a.tile_size(tile)) for a in self.maker.einsum.accesses}
        occupied = one.judge.occupancy(LoopNest((*above, *storages, *body.inner)))
        return standing(occupied, place, self.room.memories, values)


def _together(found: Iterable[_Way | None]) -> _Way | None:
    """Join the mappings of several spaces."""
    ways = [way for way in found if way is not None]
    if not ways:
        return None
    floor = min(way.floor[0] for way in ways), min(way.floor[1] for way in ways)
    known = all(way.loose is not None for way in ways)
    return _Way(
        tuple(one for way in ways for one in way.found),
        floor,
        all(way.whole for way in ways),
        tuple(one for way in ways for one in way.loose or ()) if known else None,
        all(way.deals for way in ways),
    )


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


def _least(points: Sequence[_Point]) -> tuple[float, float]:
    """Return the least energy and the least latency."""
    return min(one.row[0] for one in points), min(one.row[1] for one in points)
