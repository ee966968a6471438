"""Search each copy Einsum alone, then put it below the loops that it may share.

A copy moves each value once, whatever loops stand above it. So it is searched alone, for each set
of tensors that it may keep on chip. The best mappings of each set are then placed below all loops
that leave enough for their lanes (copy_pmappings.py). Where a copy has too many mappings to look
at, the table says how far from its bounds the best one is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations, permutations
from math import inf

from tilewright.arch.components.components import Component, Toll
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fusion.boundary.exchange_memories import ExchangeMemories
from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors, TensorPlace
from tilewright.mapper.fusion.boundary.usage_peaks import NO_USAGE, CountedUsage
from tilewright.mapper.fusion.copies.copy_choices import (
    CopyChoice,
    ScoredCopy,
    greatest_costs,
    least_costs,
    may_stand_below_loops,
    merge_choices,
    optimal_without_lanes,
)
from tilewright.mapper.fusion.copies.copy_nodes import KeptTensors, components_down_to
from tilewright.mapper.fusion.copies.copy_pmappings import CopyPmappingMaker
from tilewright.mapper.fusion.copies.copy_table import CopyTable, TableParts, shared_tensors
from tilewright.mapper.fusion.pmappings.fused_templates import first_two_memories
from tilewright.mapper.fusion.pmappings.pmapping_table import value_widths
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import UNLIMITED
from tilewright.mapper.searches.copies.copy_einsums import CopyMappings
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.methods.exhaustive import has_at_most_points
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.solver import EinsumSolver
from tilewright.mapper.templates.placement import Holder, Placement, order_allowed
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping, MappingError

MAX_LISTED = 2000  # mappings of a copy below lanes, where tiles matter: one second of evaluations
MappingChange = Callable[[LoopNest], LoopNest | None]


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
        collector = TableParts(self._maker(einsum, boundary), self._exchanged, self._memories)
        shares_loops = self._loops_can_pay and may_stand_below_loops(choices)
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
            greatest_costs(slacks),
            all(map(self._is_optimal, choices.values())),
            collector.maker,
            tuple(collector.below_loops),
            shares_loops,
            all(choice.all_lanes for choice in choices.values()),
        )

    def _is_optimal(self, choice: CopyChoice) -> bool:
        """Tell whether no mapping left out of a choice could be better than those found."""
        return choice.complete or (choice.is_optimal and not self._usage.names)

    def _choices(self, einsum: Einsum, tensors: Sequence[str]) -> dict[tuple[str, ...], CopyChoice]:
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

    def _choice(self, einsum: Einsum, on_chip: tuple[str, ...]) -> CopyChoice | None:
        """Return the best mappings with just these tensors in the second memory; None: none."""
        spaces = self._spaces(einsum, on_chip)
        if not on_chip:
            return merge_choices(
                self._best_choice(space, CopyMappings(space), lambda mapping: mapping)
                for space in spaces
            )
        first = {tensor: str(self._memories.second) for tensor in on_chip}
        return merge_choices(
            self._choice_in_space(space, CopyMappings(space, first), on_chip) for space in spaces
        )

    def _choice_in_space(
        self, space: Mapspace, copies: CopyMappings, on_chip: tuple[str, ...]
    ) -> CopyChoice | None:
        """Return the best mappings of one mapspace with just these tensors in the second memory.

        With all spatial choices above that memory if they are few, else with no spatial loops
        there. None if there are none.
        """
        second = str(self._memories.second)
        upper = tuple(components_down_to(space.flat, second))
        names = frozenset(component.name for component in upper)
        shareable = self._exchanged.shareable_variables(space.einsum)
        variables = frozenset.intersection(*(shareable[tensor] for tensor in on_chip))
        shared = shared_tensors(self._exchanged)
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
    ) -> CopyChoice | None:
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
        return CopyChoice(mappings, least_costs(mappings), complete=True, below_loops=below_loops)

    def _best_choice(
        self, space: Mapspace, copies: CopyMappings, change: MappingChange
    ) -> CopyChoice | None:
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
        return CopyChoice(mappings, least_costs(mappings), complete=True, below_loops=below_loops)

    def _choice_of_representatives(
        self, space: Mapspace, copies: CopyMappings, change: MappingChange
    ) -> CopyChoice | None:
        """Return a few mappings, usually with the best ones, and lower bounds.

        None if none is left. `change`: as in _best_choice.
        """
        mappings = self._changed(space, copies.representatives, change)
        if not mappings:
            return None
        bound = copies.lower_bounds(*least_costs(mappings))
        below_loops = None
        if copies.ignores_tiles:
            below_loops = optimal_without_lanes(space, mappings, bound)
        return CopyChoice(mappings, bound, complete=False, below_loops=below_loops)

    def _suffices(self, choice: CopyChoice, copies: CopyMappings) -> bool:
        """Tell whether no mapping besides the representatives can be better or is needed."""
        if not choice.is_optimal or self._usage.names:
            return False
        needs_lanes = self._loops_can_pay and copies.ignores_tiles
        return not needs_lanes or choice.below_loops is not None

    def _changed(
        self, space: Mapspace, mappings: Iterable[LoopNest], change: MappingChange
    ) -> tuple[ScoredCopy, ...]:
        """Apply `change` to mappings, and score those for which it does not return None."""
        return tuple(self._scored(space, filter(None, map(change, mappings))))

    def _scored(self, space: Mapspace, mappings: Iterable[LoopNest]) -> Iterator[ScoredCopy]:
        """Score mappings (joule, second, bits in use); those that do not fit are left out."""
        scorer = MappingScorer(space)
        for mapping in mappings:
            try:
                score = scorer.score(mapping)
            except (InfeasibleMapping, MappingError):
                continue
            bits = (float(score.capacity.get(name, 0)) for name in self._usage.pmapping_memories)
            yield ScoredCopy(mapping, (score.energy, score.latency, *bits), scorer, space)


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
