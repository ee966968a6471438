"""Search each copy Einsum alone, then put it below the loops that it may share.

A copy moves each value once, whatever loops stand above it. So it is searched alone, for each set
of tensors that it may keep on chip. The best mappings of each set are then placed below all loops
that leave enough for their lanes (copy_pmappings.py). Where a copy has too many mappings to look
at, the table says how far from its bounds the best one is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations, permutations
from math import inf
from typing import NamedTuple

from tilewright.arch.components.components import Component, Toll
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fusion.boundary.exchange_memories import ExchangeMemories
from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors, TensorPlace
from tilewright.mapper.fusion.boundary.usage_peaks import NO_USAGE, CountedUsage
from tilewright.mapper.fusion.bounds.cost_limit import EnergyLatency
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
from tilewright.mapper.fusion.fused_mapping import Branch, UpperHolder, branch_loops
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
from tilewright.mapper.searches.mapping_scorer import TOLERANCE, MappingScorer
from tilewright.mapper.searches.methods.exhaustive import has_at_most_points
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.solver import EinsumSolver
from tilewright.mapper.templates.placement import Holder, Placement, order_allowed
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping, MappingError

MAX_LISTED = 2000  # mappings of a copy below lanes, where tiles matter: one second of evaluations
MappingChange = Callable[[LoopNest], LoopNest | None]


class LoopCandidates(NamedTuple):
    """Mappings of a copy Einsum that may stand below loops shared with other Einsums.

    `order`: its tensors on chip, outermost first. `reordered`: the same mappings were added before
    in another order, which counts the same if no loop stands between the tensors. `pmappings`: the
    mappings.
    """

    order: tuple[str, ...]
    reordered: bool
    pmappings: tuple[CopyPmapping, ...]


@dataclass(frozen=True)
class CopyTable:
    """Hold the pmappings of one copy Einsum, for each choice of its tensors on chip.

    A copy moves a tensor and computes nothing; a pmapping is a mapping of one Einsum within the
    whole. `boundary`: (tensor, memory) pairs in which its tensors may stay on chip. `widths`: bits
    per value there. `groups`: pmappings without temporal fused loops. `branches`: mapping nodes;
    the second number of a pmapping's origin is an index into them. `slack`: by how much energy in
    joule and latency in second could be less than the best found, where not every mapping was
    looked at. `is_optimal`: no pmapping without loops that is left out could be better in anything
    that counts. `maker`: places pmappings below loops. `below_loops`: what it places there.
    `shares_loops`: pmappings below shared loops are made, and none is missing. `shares_lanes`: so
    are those with spatial loops above what the copy keeps on chip.
    """

    einsum: Einsum
    boundary: tuple[TensorPlace, ...]
    widths: Mapping[TensorPlace, float]
    groups: tuple[PmappingGroup, ...]
    branches: tuple[Branch, ...]
    slack: EnergyLatency
    is_optimal: bool
    maker: CopyPmappingMaker
    below_loops: tuple[LoopCandidates, ...] = ()
    shares_loops: bool = False
    shares_lanes: bool = True

    @cached_property
    def with_loops(self) -> CopyTable:
        """Table that also has the copy Einsum's mappings below temporal loops shared with others.

        They are made when first asked for.
        """
        groups = [
            g for several in self.below_loops for g in self.maker.groups_below_loops(*several)
        ]
        return replace(self, groups=(*self.groups, *groups))

    def branch(self, chosen: ChosenPmapping) -> Branch:
        """Return the mapping nodes of a chosen mapping of the copy Einsum.

        `chosen`: one of the table, with its fused loops (those it may share with other Einsums).
        They become the loops of the result, and the number of them above each tensor on chip is
        noted. Temporal loops of the copy that are left with one iteration are dropped.
        """
        branch: Branch = self.branches[chosen.group.origins[chosen.pmapping, 1]]
        loops = branch_loops(chosen, self.maker.loop_names)
        depths = zip(self.boundary, chosen.group.depths, strict=True)
        depth_of = {place.tensor: depth for place, depth in depths}
        nodes = (holder.node for holder in branch.upper_holders)
        holders = tuple(UpperHolder(depth_of[node.tensors[0]], node) for node in nodes)
        tiles = {**self.einsum.bounds, **{loop.name.variable: loop.tile for loop in loops}}
        inner = tuple(without_null_loops(tiles, branch.inner_nodes))
        return replace(branch, loops=loops, upper_holders=holders, inner_nodes=inner)


@dataclass(frozen=True, slots=True)
class _ScoredCopy:
    """A mapping of a copy with its score, and what it was scored with.

    `values`: joule, second, and bits in use of each memory in CountedUsage.pmapping_memories.
    `scorer`, `space`: the scorer and the mapspace of the mapping.
    """

    mapping: LoopNest
    values: tuple[float, ...]
    scorer: MappingScorer
    space: Mapspace


@dataclass(frozen=True, slots=True)
class _CopyChoice:
    """The mappings found for one choice of a copy's tensors on chip, with lower bounds.

    `lower_bound`: of energy in joule and latency in second. `complete`: no mapping is missing.
    `below_loops`: the mappings that may stand below shared loops; None: not known. `all_lanes`: all
    spatial choices above the memory where tensors are exchanged are among them.
    """

    mappings: tuple[_ScoredCopy, ...]
    lower_bound: EnergyLatency
    complete: bool
    below_loops: tuple[_ScoredCopy, ...] | None
    all_lanes: bool = True

    @property
    def slack(self) -> EnergyLatency:
        """How much the least energy and latency exceed their lower bounds.

        In joule and second; 0 where they are attained.
        """
        least_costs = _least_costs(self.mappings)
        return least_costs[0] - self.lower_bound[0], least_costs[1] - self.lower_bound[1]

    @property
    def is_optimal(self) -> bool:
        """Whether one mapping attains both lower bounds."""
        return any(_attains_bound(mapping, self.lower_bound) for mapping in self.mappings)


class CopySolver:
    """Find the mappings of copy Einsums that may be best within a fused mapping.

    A copy Einsum moves a tensor and computes nothing. Each is searched alone, for each set of
    tensors that it keeps on chip for other Einsums. `request`: architecture, workload and options.
    `memories`: in which memories tensors are exchanged. `exchanged`: which tensors. `usage`: the
    memories whose usage (most bits in them at a time) counts.
    """

    def __init__(
        self,
        request: Request,
        memories: ExchangeMemories,
        exchanged: ExchangedTensors,
        usage: CountedUsage = NO_USAGE,
    ) -> None:
        self._request = replace(request, options=replace(request.options, method=None))
        self._solver = EinsumSolver(self._request)
        self._memories = memories
        self._exchanged = exchanged
        self._usage = usage

    def table(self, einsum: Einsum) -> CopyTable:
        """Return the mappings of a copy Einsum for all choices of its tensors on chip.

        A copy moves a tensor and computes nothing; it may read and write tensors on chip that other
        Einsums write and read. Each mapping is one within the mapping of the workload (a pmapping).
        Raises InfeasibleMapping, with the reason, if no mapping of the copy fits.
        """
        boundary = self._exchanged.places_of_einsum(einsum)
        choices = self._choices(einsum, [place.tensor for place in boundary])
        if not choices:
            raise self._solver.no_mapping_error(einsum, proven=True)
        collector = _TableParts(self._maker(einsum, boundary), self._exchanged, self._memories)
        shares_loops = self._loops_can_pay and _may_stand_below_loops(choices)
        for on_chip, choice in choices.items():
            for number, order in enumerate(self._orders(einsum, on_chip)):
                reordered = bool(number) and self._exchanged.shares_tiles
                collector.add(order, choice, reordered, shares_loops)
        slacks = [choice.slack for choice in choices.values()]
        return CopyTable(
            einsum,
            boundary,
            collector.maker.widths,
            tuple(collector.groups),
            tuple(collector.branches),
            _greatest_costs(slacks),
            all(map(self._is_optimal, choices.values())),
            collector.maker,
            tuple(collector.below_loops),
            shares_loops,
            all(choice.all_lanes for choice in choices.values()),
        )

    def _is_optimal(self, choice: _CopyChoice) -> bool:
        """Tell whether no mapping left out of a choice could be better than those found."""
        return choice.complete or (choice.is_optimal and not self._usage.names)

    def _choices(
        self, einsum: Einsum, tensors: Sequence[str]
    ) -> dict[tuple[str, ...], _CopyChoice]:
        """Return the mappings for each subset of `tensors` on chip that fits."""
        subsets = chain.from_iterable(combinations(tensors, n) for n in range(len(tensors) + 1))
        choices = ((on_chip, self._choice(einsum, on_chip)) for on_chip in subsets)
        return {on_chip: choice for on_chip, choice in choices if choice is not None}

    def _maker(self, einsum: Einsum, boundary: tuple[TensorPlace, ...]) -> CopyPmappingMaker:
        spaces = [space for _, space in self._solver.mapspaces(einsum)]
        memories = *self._memories.memories, *self._exchanged.tolls
        widths = [value_widths(space, memories) for space in spaces]
        return CopyPmappingMaker(
            einsum,
            boundary,
            {place: max(of_space[place] for of_space in widths) for place in widths[0]},
            self._exchanged.shareable_variables(einsum),
            self._exchanged.loop_names_of(einsum),
            self._request.options.max_fused_loops_per_rank_variable,
            self._memories.capacities,
        )

    @property
    def _loops_can_pay(self) -> bool:
        """Whether shared loops above a copy can help: some exchange memory's bits count.

        False where they may not be shared at all: accelforge counts no loops above copies as
        shared, so that the usage of the outermost memory, if it counts, would depend on them.
        """
        matters = min(self._memories.capacities) < inf or bool(self._usage.exchange)
        return matters and self._may_share

    @property
    def _may_share(self) -> bool:
        """Whether loops shared above copies leave the outermost memory's usage unchanged."""
        return self._exchanged.shares_tiles or not self._usage.outermost

    def _orders(self, einsum: Einsum, on_chip: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Yield the orders in which the copy's tensors on chip may stand, outermost first."""
        second = first_two_memories(self._spaces(einsum, on_chip)[0].flat)[1]
        if second is None or len(on_chip) < 2:
            yield on_chip
            return
        off_chip = frozenset(einsum.tensors) - set(on_chip)
        rules = second.tensors.resolve({self._memories.outermost: off_chip})
        placement = Placement(((second.name, on_chip),), (rules,))
        for order in permutations(on_chip):
            if order_allowed([Holder(tensor, second.name) for tensor in order], placement):
                yield order

    def _spaces(self, einsum: Einsum, on_chip: tuple[str, ...]) -> list[Mapspace]:
        """Return the copy's mapspaces, one per compute, with `on_chip` in the second memory.

        The second memory has unlimited size there: whether a tensor fits depends on shared loops
        above.
        """
        if not on_chip:
            return [space for _, space in self._solver.mapspaces(einsum)]
        off_chip = frozenset(einsum.tensors) - set(on_chip)
        flats = map(_with_endless_second, self._request.flat_archs(einsum))
        conventions, crowded = self._request.options.conventions, self._memories.crowded
        return [Mapspace(einsum, flat, conventions, off_chip, crowded=crowded) for flat in flats]

    def _choice(self, einsum: Einsum, on_chip: tuple[str, ...]) -> _CopyChoice | None:
        """Return the best mappings with just these tensors in the second memory; None: none."""
        spaces = self._spaces(einsum, on_chip)
        if not on_chip:
            return _merge_choices(
                self._best_choice(space, CopyMappings(space), lambda mapping: mapping)
                for space in spaces
            )
        first = {tensor: str(self._memories.second) for tensor in on_chip}
        return _merge_choices(
            self._choice_in_space(space, CopyMappings(space, first), on_chip) for space in spaces
        )

    def _choice_in_space(
        self, space: Mapspace, copies: CopyMappings, on_chip: tuple[str, ...]
    ) -> _CopyChoice | None:
        """Return the best mappings of one mapspace with just these tensors in the second memory.

        With all spatial choices above that memory if they are few, else with no spatial loops
        there. None if there are none.
        """
        second = str(self._memories.second)
        upper = tuple(components_down_to(space.flat, second))
        names = frozenset(component.name for component in upper)
        shareable = self._exchanged.shareable_variables(space.einsum)
        variables = frozenset.intersection(*(shareable[tensor] for tensor in on_chip))
        shared = _shared_tensors(self._exchanged)
        kept_tensors = KeptTensors(on_chip, second, names, variables, shared)
        if all(component.own_fanout == 1 for component in upper):
            return self._best_choice(space, copies, kept_tensors.fit)
        if self._may_share and not any(map(_forbids_shared_lanes, upper)):
            choice = self._choice_with_all_lanes(space, copies, kept_tensors.fit)
            if choice is not None:
                return choice
        without_lanes = replace(kept_tensors, spatial_variables=frozenset())
        choice = self._best_choice(space, copies, without_lanes.fit)
        return choice and replace(choice, all_lanes=False)

    def _choice_with_all_lanes(
        self, space: Mapspace, copies: CopyMappings, change: MappingChange
    ) -> _CopyChoice | None:
        """Return all mappings that differ in shared lanes or cost; None: too many, or none.

        `change`: turns a mapping of the copy alone into what it is within the workload, or None.
        """
        candidates = copies.all_spatial
        if not copies.ignores_tiles and not space.problem.has_networks:
            is_listable = has_at_most_points(space, MAX_LISTED, UNLIMITED)
            candidates = copies.all_distinct if is_listable else None
        mappings = self._changed(space, candidates or (), change)
        if not mappings:
            return None
        below_loops = mappings if copies.ignores_tiles else None
        return _CopyChoice(mappings, _least_costs(mappings), complete=True, below_loops=below_loops)

    def _best_choice(
        self, space: Mapspace, copies: CopyMappings, change: MappingChange
    ) -> _CopyChoice | None:
        """Return the best mappings of a mapspace, with lower bounds of energy and latency.

        First from a few representatives; from all distinct mappings if these do not suffice.
        `change`: turns a mapping of the copy alone into what it is within the workload, or None if
        it cannot be.
        """
        choice = self._choice_of_representatives(space, copies, change)
        if choice is not None and (self._suffices(choice, copies) or copies.all_distinct is None):
            return choice
        mappings = self._changed(space, copies.all_distinct or (), change)
        if not mappings:
            return None
        below_loops = None
        if self._loops_can_pay and copies.all_spatial is not None:
            below_loops = self._changed(space, copies.all_spatial, change)
        return _CopyChoice(mappings, _least_costs(mappings), complete=True, below_loops=below_loops)

    def _choice_of_representatives(
        self, space: Mapspace, copies: CopyMappings, change: MappingChange
    ) -> _CopyChoice | None:
        """Return a few mappings, usually with the best ones, and lower bounds.

        None if none is left. `change`: as in _best_choice.
        """
        mappings = self._changed(space, copies.representatives, change)
        if not mappings:
            return None
        bound = copies.lower_bounds(*_least_costs(mappings))
        below_loops = None
        if copies.ignores_tiles:
            below_loops = _optimal_without_lanes(space, mappings, bound)
        return _CopyChoice(mappings, bound, complete=False, below_loops=below_loops)

    def _suffices(self, choice: _CopyChoice, copies: CopyMappings) -> bool:
        """Tell whether no mapping besides the representatives can be better or is needed."""
        if not choice.is_optimal or self._usage.names:
            return False
        needs_lanes = self._loops_can_pay and copies.ignores_tiles
        return not needs_lanes or choice.below_loops is not None

    def _changed(
        self, space: Mapspace, mappings: Iterable[LoopNest], change: MappingChange
    ) -> tuple[_ScoredCopy, ...]:
        """Apply `change` to mappings, and score those for which it does not return None."""
        return tuple(self._scored(space, filter(None, map(change, mappings))))

    def _scored(self, space: Mapspace, mappings: Iterable[LoopNest]) -> Iterator[_ScoredCopy]:
        """Score mappings (joule, second, bits in use); those that do not fit are left out."""
        scorer = MappingScorer(space)
        for mapping in mappings:
            try:
                score = scorer.score(mapping)
            except (InfeasibleMapping, MappingError):
                continue
            bits = (float(score.capacity.get(name, 0)) for name in self._usage.pmapping_memories)
            yield _ScoredCopy(mapping, (score.energy, score.latency, *bits), scorer, space)


@dataclass(frozen=True)
class _TableParts:
    """Collects the groups and the branches of one copy's table.

    `maker`: makes the groups. `groups`, `branches`, `below_loops`: as in CopyTable.
    """

    maker: CopyPmappingMaker
    exchanged: ExchangedTensors
    memories: ExchangeMemories
    groups: list[PmappingGroup] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    below_loops: list[LoopCandidates] = field(default_factory=list)

    def add(
        self, order: tuple[str, ...], choice: _CopyChoice, reordered: bool, shares_loops: bool
    ) -> None:
        """Add the mappings of one choice, with its tensors on chip standing in `order`.

        `reordered`: they were added before in another order that counts the same where no loop
        stands between the tensors. `shares_loops`: loops may stand above.
        """
        if not reordered:
            pmappings = self._pmappings(order, choice.mappings)
            self.groups.extend(self.maker.groups_without_loops(order, pmappings))
        if shares_loops and order:
            pmappings = self._pmappings(order, choice.below_loops or ())
            self.below_loops.append(LoopCandidates(order, reordered, tuple(pmappings)))

    def _pmappings(
        self, order: tuple[str, ...], mappings: Sequence[_ScoredCopy]
    ) -> list[CopyPmapping]:
        return [pmapping for scored in mappings for pmapping in self._pmappings_of(order, scored)]

    def _pmappings_of(self, order: tuple[str, ...], scored: _ScoredCopy) -> Iterator[CopyPmapping]:
        """Yield a mapping as CopyPmappings, one for each order of its shared lanes."""
        loops = self._shared_lanes(scored) if order else []
        shared = _shared_tensors(self.exchanged)
        branch = copy_branch(scored.mapping.nodes, self.memories.outermost, shared)
        if order:
            one_lane = replace(branch, inner_nodes=nodes_of_one_lane(branch.inner_nodes, loops))
            branch = without_storages(one_lane, order)
        self.branches.append(branch)
        occupancy = self._occupancy(scored, branch, loops)
        lanes = lanes_per_variable(scored.mapping, self.maker.einsum.bounds)
        for spatial in spatial_orders(loops, scored.space.flat, self.maker.loop_names):
            number = len(self.branches) - 1
            yield CopyPmapping(scored.values, lanes, occupancy, number, spatial)

    def _shared_lanes(self, scored: _ScoredCopy) -> list[CopySpatialLoop]:
        """Return the mapping's spatial loops above or at the memory where tensors are exchanged."""
        upper = components_down_to(scored.space.flat, self.memories.second)
        names = frozenset(component.name for component in upper)
        return spatial_loops_above(scored.mapping, self.maker.einsum.bounds, names)

    def _occupancy(
        self, scored: _ScoredCopy, branch: Branch, loops: Sequence[CopySpatialLoop]
    ) -> CopyOccupancy:
        """Return what a copy's mapping occupies on chip in one of its shared lanes.

        `branch`: its nodes. `loops`: its spatial loops shared with others.
        """
        tile, spatial = dict(self.maker.einsum.bounds), list[Node]()
        for loop in loops:
            tile[loop.variable] //= loop.lanes
            component, name = loop.dim
            spatial.append(Spatial(loop.variable, tile[loop.variable], name, component))
        storages = [holder.node for holder in branch.upper_holders]
        upper_nodes = (*branch.outermost, *spatial)
        node_of = {s.tensors[0]: len(upper_nodes) + i for i, s in enumerate(storages)}
        values = {a.tensor: float(a.tile_size(tile)) for a in self.maker.einsum.accesses}
        mapping = LoopNest((*upper_nodes, *storages, *branch.inner_nodes))
        occupied = scored.scorer.occupancy(mapping)
        return copy_occupancy(occupied, node_of, self.memories.memories, values)


def _merge_choices(choices: Iterable[_CopyChoice | None]) -> _CopyChoice | None:
    """Merge the mappings of several mapspaces into one choice; None if no mapspace has any."""
    fitting = [choice for choice in choices if choice is not None]
    if not fitting:
        return None
    lower_bounds = [choice.lower_bound for choice in fitting]
    return _CopyChoice(
        tuple(chain.from_iterable(choice.mappings for choice in fitting)),
        (min(energy for energy, _ in lower_bounds), min(latency for _, latency in lower_bounds)),
        all(choice.complete for choice in fitting),
        _merge_below_loops(fitting),
        all(choice.all_lanes for choice in fitting),
    )


def _merge_below_loops(choices: Sequence[_CopyChoice]) -> tuple[_ScoredCopy, ...] | None:
    """Return the mappings that may stand below shared loops, those of all choices in one tuple.

    None if they are not known for some choice.
    """
    below_loops: list[_ScoredCopy] = []
    for choice in choices:
        if choice.below_loops is None:
            return None
        below_loops += choice.below_loops
    return tuple(below_loops)


def _may_stand_below_loops(choices: Mapping[tuple[str, ...], _CopyChoice]) -> bool:
    """Tell whether for all choices it is known which mappings may stand below shared loops."""
    return all(choice.below_loops is not None for on_chip, choice in choices.items() if on_chip)


def _forbids_shared_lanes(component: Component) -> bool:
    """Tell whether a component above what a copy keeps forbids lanes that other Einsums share.

    A Toll above such lanes would charge what other Einsums move.
    """
    return component.physical_fanout > 1 or isinstance(component, Toll)


def _with_endless_second(flat: FlatArch) -> FlatArch:
    """Return the path with a second memory of unlimited size.

    The path itself if there is no second.
    """
    second = first_two_memories(flat)[1]
    if second is None:
        return flat
    path = tuple(replace(c, size=inf) if c is second else c for c in flat.components)
    return replace(flat, components=path)


def _shared_tensors(exchanged: ExchangedTensors) -> frozenset[str]:
    """Return the tensors that several Einsums use."""
    return frozenset(t for t, users in exchanged.users.items() if len(users) > 1)


def _attains_bound(scored: _ScoredCopy, bound: EnergyLatency) -> bool:
    return all(scored.values[i] <= bound[i] * (1 + TOLERANCE) for i in (0, 1))


def _optimal_without_lanes(
    space: Mapspace, mappings: Sequence[_ScoredCopy], bound: EnergyLatency
) -> tuple[_ScoredCopy, ...] | None:
    """Return the mappings without spatial loops that attain both lower bounds; None if none does.

    No other mapping is better below any shared loops.
    """
    optimal = tuple(
        scored
        for scored in mappings
        if _attains_bound(scored, bound)
        and set(lanes_per_variable(scored.mapping, space.einsum.bounds).values()) <= {1}
    )
    return optimal or None


def _greatest_costs(costs: Sequence[EnergyLatency]) -> EnergyLatency:
    """Return the greatest energy and the greatest latency."""
    return max(energy for energy, _ in costs), max(latency for _, latency in costs)


def _least_costs(mappings: Sequence[_ScoredCopy]) -> EnergyLatency:
    """Return the least energy and the least latency."""
    return min(m.values[0] for m in mappings), min(m.values[1] for m in mappings)
