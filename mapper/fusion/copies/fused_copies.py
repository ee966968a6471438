"""Copies: each is searched alone, then put below the loops that it may share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations, permutations
from math import inf

from tilewright.arch.components.components import Toll
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fusion.boundary.exchange_memories import ExchangeMemories
from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors, TensorPlace
from tilewright.mapper.fusion.boundary.usage_peaks import NO_USAGE, CountedUsage
from tilewright.mapper.fusion.copies.copy_nodes import (
    CopySpatialLoop,
    KeptTensors,
    components_down_to,
    copy_branch,
    nodes_of_one_lane,
    spatial_loops_above,
    spatial_orders,
    without_null_loops,
    without_storages,
)
from tilewright.mapper.fusion.copies.copy_pmappings import (
    CopyOccupancy,
    CopyPmapping,
    CopyPmappingMaker,
    copy_occupancy,
    lanes_per_variable,
)
from tilewright.mapper.fusion.fused_mapping import Branch
from tilewright.mapper.fusion.pmappings.fused_templates import first_two_memories
from tilewright.mapper.fusion.pmappings.pmapping_table import (
    ChosenPmapping,
    PmappingGroup,
    value_widths,
)
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

MAX_LISTED = (
    2000  # mappings of a copy below lanes, where tiles matter: a second of model evaluations
)
MappingChange = Callable[[LoopNest], LoopNest | None]
# tensors on chip, outermost first; whether another order is the same where no loop is between
LoopCandidates = tuple[tuple[str, ...], bool, tuple[CopyPmapping, ...]]


@dataclass(frozen=True)
class CopyTable:
    """The table of one copy: rows for each choice of what it reads and writes on chip.

    `rows`: those without loops; `loose`: what those with loops are made of; `bodies`: one for each
    point, the second number of its origin tells which. `slack`: how much the least energy and
    latency could exceed the best of their own spaces. `ideal`: no row without loops could be better
    in anything that counts. `shares`: those with loops are made, and none is missing; `deals`: so
    are those with lanes above what they keep on chip.
    """

    einsum: Einsum
    boundary: tuple[TensorPlace, ...]
    widths: Mapping[TensorPlace, float]
    groups: tuple[PmappingGroup, ...]
    branches: tuple[Branch, ...]
    slack: tuple[float, float]
    is_optimal: bool
    maker: CopyPmappingMaker
    below_loops: tuple[LoopCandidates, ...] = ()
    shares_loops: bool = False
    shares_lanes: bool = True

    @cached_property
    def with_loops(self) -> CopyTable:
        """The same with all rows."""
        made = [
            rows for loose in self.below_loops for rows in self.maker.groups_below_loops(*loose)
        ]
        return replace(self, groups=(*self.groups, *made))

    def branch(self, chosen: ChosenPmapping) -> Branch:
        """Return what one chosen point of a row stands for."""
        found: Branch = self.branches[chosen.group.origins[chosen.pmapping, 1]]
        own = {loop: variable for variable, loop in self.maker.loop_names.items()}
        loops = tuple((loop._replace(variable=own[loop.variable]), n) for loop, n in chosen.loops)
        places = zip(self.boundary, chosen.group.depths, strict=True)
        depth = {place.tensor: number for place, number in places}
        held = tuple((depth[storage.tensors[0]], storage) for _, storage in found.upper_holders)
        above = {**self.einsum.bounds, **{loop.variable: tile for loop, tile in loops}}
        inner = tuple(without_null_loops(above, found.inner_nodes))
        return replace(found, loops=loops, upper_holders=held, inner_nodes=inner)


@dataclass(frozen=True, slots=True)
class _ScoredCopy:
    """A mapping with its joule, second and bits in use (Usage.of_points)."""

    mapping: LoopNest
    values: tuple[float, ...]
    judge: Verifier
    space: Mapspace


@dataclass(frozen=True, slots=True)
class _CopyChoice:
    """The mappings of one row, and bounds of energy and latency; `whole`: none is missing.
    `loose`: those that may stand below loops; None: not known. `deals`: all ways to deal lanes
    above the memory where tensors are exchanged are among them."""

    mappings: tuple[_ScoredCopy, ...]
    lower_bound: tuple[float, float]
    complete: bool
    below_loops: tuple[_ScoredCopy, ...] | None
    all_lanes: bool = True

    @property
    def slack(self) -> tuple[float, float]:
        least = _least_costs(self.mappings)
        return least[0] - self.lower_bound[0], least[1] - self.lower_bound[1]

    @property
    def is_optimal(self) -> bool:
        return any(_attains_bound(one, self.lower_bound) for one in self.mappings)


class CopySolver:
    """Solves copies of one workload, one by one."""

    def __init__(
        self,
        request: Request,
        room: ExchangeMemories,
        boundaries: ExchangedTensors,
        usage: CountedUsage = NO_USAGE,
    ) -> None:
        self._request = replace(request, options=replace(request.options, method=None))
        self._solver = EinsumSolver(self._request)
        self._memories = room
        self._exchanged = boundaries
        self._usage = usage

    def table(self, einsum: Einsum) -> CopyTable:
        """Return the table of `einsum`; InfeasibleMapping if it fits nowhere."""
        boundary = self._exchanged.places_of_einsum(einsum)
        tensors = [place.tensor for place in boundary]
        chosen = chain.from_iterable(combinations(tensors, n) for n in range(len(boundary) + 1))
        ways = [(kept, way) for kept in chosen if (way := self._choice(einsum, kept)) is not None]
        if not ways:
            raise self._solver.no_mapping_error(einsum, proven=True)
        made = _TableParts(self._maker(einsum, boundary), self._exchanged, self._memories)
        shares = self._loops_can_pay and all(
            way.below_loops is not None for kept, way in ways if kept
        )
        deals = all(way.all_lanes for _, way in ways)
        for kept, way in ways:
            for number, order in enumerate(self._orders(einsum, kept)):
                again = bool(number) and self._exchanged.shares_tiles
                made.add(order, way, (again, shares))
        slack = max(way.slack[0] for _, way in ways), max(way.slack[1] for _, way in ways)
        counted = bool(self._usage.names)
        ideal = all(way.complete or (way.is_optimal and not counted) for _, way in ways)
        return CopyTable(
            einsum, boundary, made.maker.widths, tuple(made.groups), tuple(made.branches), slack,
            ideal,
            made.maker, tuple(made.below_loops), shares, deals,
        )  # fmt: skip

    def _maker(self, einsum: Einsum, boundary: tuple[TensorPlace, ...]) -> CopyPmappingMaker:
        spaces = [space for _, space in self._solver.mapspaces(einsum)]
        places = *self._memories.memories, *self._exchanged.tolls
        widths = [value_widths(space, places) for space in spaces]
        return CopyPmappingMaker(
            einsum,
            boundary,
            {place: max(one[place] for one in widths) for place in widths[0]},
            self._exchanged.shareable_variables(einsum),
            self._exchanged.loop_names_of(einsum),
            self._request.options.max_fused_loops_per_rank_variable,
            self._memories.capacities,
        )

    @property
    def _loops_can_pay(self) -> bool:
        """Whether it matters how much of the second memory is used, so that shared loops can pay.

        accelforge counts no loops above copies as shared, so that what the outermost memory holds
        would depend on them, too: where its usage counts, there copies share none.
        """
        pays = min(self._memories.capacities) < inf or bool(self._usage.exchange)
        return pays and self._may_share

    @property
    def _may_share(self) -> bool:
        """Whether what the outermost memory holds counts the same below loops that are shared."""
        return self._exchanged.shares_tiles or not self._usage.outermost

    def _orders(self, einsum: Einsum, kept: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Yield the orders in which tensors on chip may stand, outermost first."""
        inner = first_two_memories(self._spaces(einsum, kept)[0].flat)[1]
        if inner is None or len(kept) < 2:
            yield kept
            return
        others = frozenset(einsum.tensors) - set(kept)
        rules = inner.tensors.resolve({self._memories.outermost: others})
        placement = Placement(((inner.name, kept),), (rules,))
        for order in permutations(kept):
            if order_allowed([Holder(t, inner.name) for t in order], placement):
                yield order

    def _spaces(self, einsum: Einsum, kept: tuple[str, ...]) -> list[Mapspace]:
        """Return the mapspaces in which some tensors may be whole in the second memory, however
        small it is: whether they fit depends on loops above them."""
        if not kept:
            return [space for _, space in self._solver.mapspaces(einsum)]
        others, room = frozenset(einsum.tensors) - set(kept), self._memories
        flats = self._request.flat_archs(einsum)
        conventions = self._request.options.conventions
        roomy = (_with_endless_second(flat) for flat in flats)
        return [Mapspace(einsum, f, conventions, others, crowded=room.crowded) for f in roomy]

    def _choice(self, einsum: Einsum, tensors: tuple[str, ...]) -> _CopyChoice | None:
        """Return the best with these tensors in the second memory, None if there is none."""
        spaces = self._spaces(einsum, tensors)
        if not tensors:
            return _merge_choices(
                self._best_choice(space, CopyMappings(space), lambda one: one) for space in spaces
            )
        first = {tensor: str(self._memories.second) for tensor in tensors}
        found = (
            self._choice_in_space(space, CopyMappings(space, first), tensors) for space in spaces
        )
        return _merge_choices(found)

    def _choice_in_space(
        self, space: Mapspace, copies: CopyMappings, tensors: tuple[str, ...]
    ) -> _CopyChoice | None:
        """Return the best of one space with these tensors in the second memory: with all ways to
        deal lanes above that if they are few, else without any there."""
        inner = str(self._memories.second)
        upper = tuple(components_down_to(space.flat, inner))
        names = frozenset(component.name for component in upper)
        carried = self._exchanged.shareable_variables(space.einsum)
        dealt = frozenset.intersection(*(carried[tensor] for tensor in tensors))
        keeping = KeptTensors(tensors, inner, names, dealt, _shared_tensors(self._exchanged))
        if all(component.own_fanout == 1 for component in upper):
            return self._best_choice(space, copies, keeping.fit)
        # a Toll above lanes that others share would charge what these move
        if self._may_share and not any(c.physical_fanout > 1 or isinstance(c, Toll) for c in upper):
            way = self._choice_with_all_lanes(space, copies, keeping.fit)
            if way is not None:
                return way
        undealt = replace(keeping, spatial_variables=frozenset())
        way = self._best_choice(space, copies, undealt.fit)
        return way and replace(way, all_lanes=False)

    def _choice_with_all_lanes(
        self, space: Mapspace, copies: CopyMappings, change: MappingChange
    ) -> _CopyChoice | None:
        """Return all mappings that may differ where others share lanes; None: too many, or none."""
        every = copies.all_spatial
        if not copies.ignores_tiles and not space.problem.has_networks:
            every = (
                copies.all_distinct if has_at_most_points(space, MAX_LISTED, UNLIMITED) else None
            )
        found = tuple(self._scored(space, filter(None, map(change, every or ()))))
        loose = found if copies.ignores_tiles else None
        return (
            _CopyChoice(found, _least_costs(found), complete=True, below_loops=loose)
            if found
            else None
        )

    def _best_choice(
        self, space: Mapspace, copies: CopyMappings, change: MappingChange
    ) -> _CopyChoice | None:
        """Return the mappings that nothing beats in energy, latency and bits, and their bounds.

        `change`: a mapping as it would be in the tree, None if it has no place there.
        """
        few = tuple(self._scored(space, filter(None, map(change, copies.representatives))))
        if few:
            floor = copies.lower_bounds(*_least_costs(few))
            free = _optimal_without_lanes(space, few, floor) if copies.ignores_tiles else None
            way = _CopyChoice(few, floor, complete=False, below_loops=free)
            settled = way.is_optimal and not self._usage.names
            shares = self._loops_can_pay and copies.ignores_tiles and free is None
            if (settled and not shares) or copies.all_distinct is None:
                return way
        every = tuple(self._scored(space, filter(None, map(change, copies.all_distinct or ()))))
        if not every:
            return None
        dealt = None
        if self._loops_can_pay and copies.all_spatial is not None:
            dealt = tuple(self._scored(space, filter(None, map(change, copies.all_spatial))))
        return _CopyChoice(every, _least_costs(every), complete=True, below_loops=dealt)

    def _scored(self, space: Mapspace, mappings: Iterable[LoopNest]) -> Iterator[_ScoredCopy]:
        """Score mappings: joule, second and bits in use."""
        judge = Verifier(space)
        for mapping in mappings:
            try:
                score = judge.score(mapping)
            except (InfeasibleMapping, MappingError):
                continue
            bits = (float(score.capacity.get(name, 0)) for name in self._usage.pmapping_memories)
            yield _ScoredCopy(mapping, (score.energy, score.latency, *bits), judge, space)


@dataclass(frozen=True)
class _TableParts:
    """Collects the rows and the bodies of one copy."""

    maker: CopyPmappingMaker
    exchanged: ExchangedTensors
    memories: ExchangeMemories
    groups: list[PmappingGroup] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    below_loops: list[LoopCandidates] = field(default_factory=list)

    def add(self, order: tuple[str, ...], way: _CopyChoice, what: tuple[bool, bool]) -> None:
        """Add a way with its tensors on chip in some order.

        `what`: whether it was added in another order that counts the same where no loop stands
        between; whether loops may stand above.
        """
        again, shares = what
        if not again:
            self.groups.extend(
                self.maker.groups_without_loops(order, self._pmappings(order, way.mappings))
            )
        if shares and order:
            some = tuple(self._pmappings(order, way.below_loops or ()))
            self.below_loops.append((order, again, some))

    def _pmappings(
        self, order: tuple[str, ...], found: Sequence[_ScoredCopy]
    ) -> list[CopyPmapping]:
        return [point for one in found for point in self._pmappings_of(order, one)]

    def _pmappings_of(self, order: tuple[str, ...], one: _ScoredCopy) -> Iterator[CopyPmapping]:
        """Yield what a mapping is to others, in each order that shared lanes may stand in."""
        bounds = self.maker.einsum.bounds
        lanes = self._lanes(one) if order else []
        body = copy_branch(
            one.mapping.nodes, self.memories.outermost, _shared_tensors(self.exchanged)
        )
        if order:
            body = without_storages(
                replace(body, inner_nodes=nodes_of_one_lane(body.inner_nodes, lanes)), order
            )
        self.branches.append(body)
        stands = self._occupancy(one, body, lanes)
        counts = lanes_per_variable(one.mapping, bounds)
        for way in spatial_orders(lanes, one.space.flat, self.maker.loop_names):
            yield CopyPmapping(one.values, counts, stands, len(self.branches) - 1, way)

    def _lanes(self, one: _ScoredCopy) -> list[CopySpatialLoop]:
        upper = components_down_to(one.space.flat, self.memories.second)
        return spatial_loops_above(
            one.mapping, self.maker.einsum.bounds, frozenset(c.name for c in upper)
        )

    def _occupancy(
        self, one: _ScoredCopy, body: Branch, lanes: Sequence[CopySpatialLoop]
    ) -> CopyOccupancy:
        """Return what a mapping takes on chip below its lanes."""
        tile, dealt = dict(self.maker.einsum.bounds), list[Node]()
        for lane in lanes:
            tile[lane.variable] //= lane.lanes
            component, name = lane.dim
            dealt.append(Spatial(lane.variable, tile[lane.variable], name, component))
        storages = [storage for _, storage in body.upper_holders]
        above = (*body.outermost, *dealt)
        place = {s.tensors[0]: len(above) + i for i, s in enumerate(storages)}
        values = {a.tensor: float(a.tile_size(tile)) for a in self.maker.einsum.accesses}
        occupied = one.judge.occupancy(LoopNest((*above, *storages, *body.inner_nodes)))
        return copy_occupancy(occupied, place, self.memories.memories, values)


def _merge_choices(found: Iterable[_CopyChoice | None]) -> _CopyChoice | None:
    """Join the mappings of several spaces."""
    ways = [way for way in found if way is not None]
    if not ways:
        return None
    floor = min(way.lower_bound[0] for way in ways), min(way.lower_bound[1] for way in ways)
    known = all(way.below_loops is not None for way in ways)
    return _CopyChoice(
        tuple(one for way in ways for one in way.mappings),
        floor,
        all(way.complete for way in ways),
        tuple(one for way in ways for one in way.below_loops or ()) if known else None,
        all(way.all_lanes for way in ways),
    )


def _with_endless_second(flat: FlatArch) -> FlatArch:
    """Return the path with a second memory that has room for anything."""
    inner = first_two_memories(flat)[1]
    if inner is None:
        return flat
    path = tuple(replace(c, size=inf) if c is inner else c for c in flat.components)
    return replace(flat, components=path)


def _shared_tensors(boundaries: ExchangedTensors) -> frozenset[str]:
    """Return the tensors that several Einsums use."""
    return frozenset(t for t, users in boundaries.users.items() if len(users) > 1)


def _attains_bound(point: _ScoredCopy, floor: tuple[float, float]) -> bool:
    return all(point.values[i] <= floor[i] * (1 + TOLERANCE) for i in (0, 1))


def _optimal_without_lanes(
    space: Mapspace, points: Sequence[_ScoredCopy], floor: tuple[float, float]
) -> tuple[_ScoredCopy, ...] | None:
    """Return the points that attain the least energy and latency without lanes: no other one is
    better below any loops. None if there is none."""
    found = tuple(
        one
        for one in points
        if _attains_bound(one, floor)
        and set(lanes_per_variable(one.mapping, space.einsum.bounds).values()) <= {1}
    )
    return found or None


def _least_costs(points: Sequence[_ScoredCopy]) -> tuple[float, float]:
    """Return the least energy and the least latency."""
    return min(one.values[0] for one in points), min(one.values[1] for one in points)
