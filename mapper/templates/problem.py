"""The problem of a mapspace: one Einsum, one path of components, one set of conventions.

All templates of a mapspace share it. Facts that several templates ask for (the legal spatial loops
of a placement, the bits of a value, the slots of a template) are worked out once and kept here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.arch.components.components import (
    Component,
    Memory,
    Network,
    SpatialDim,
    TensorHolder,
)
from tilewright.mapper.mapspace.factors import divisors
from tilewright.mapper.model.conventions import DEFAULT, Conventions
from tilewright.mapper.templates.placement import Holder, Template
from tilewright.mapper.templates.size_tests import SizeTests
from tilewright.mapper.templates.slots import Reservation, Slot
from tilewright.mapper.templates.spatial_choices import (
    PathDimension,
    SpatialLoops,
    UnlimitedCapacity,
    apply_min_usage,
    bounds_in_effect,
    free_variables,
    lane_choices,
)
from tilewright.mapper.workload.einsum import Einsum

_Bans = Mapping[str, frozenset[str]]  # component -> variables without a spatial loop there


class _CapacityFreeChoices(NamedTuple):
    """Spatial choices found without regard to capacity.

    `dims`: dimensions with all choices; `loops`: what is left after min_usage; `needs`: the largest
    tiles that each memory would have to hold.
    """

    dims: tuple[PathDimension, ...]
    loops: tuple[SpatialLoops, ...]
    needs: UnlimitedCapacity


class UsedDimension(NamedTuple):
    """A spatial dimension of a template that may have more than one lane.

    `slot`: its number among the slots; `level`: of its component on the path, 0 for the outermost.
    A template is a mapping without its loops; a slot is a place of a template for loops, a fill or
    a reserved tile; a lane is one instance along a dimension of a fanout.
    """

    slot: int
    loops: SpatialLoops
    level: int


@dataclass(frozen=True, slots=True)
class Problem:
    """What all templates of one Einsum on one path of components share, with cached facts.

    `einsum`: the computation. `components`: the path from the root to the Compute, outermost
    first. `conventions`: rules of the model and the mapspace. `uneven`: rank variables that may
    have one loop whose tile does not divide the tile above it. `exchanged`: tensors that other
    Einsums use on chip, with loops that these share above the outermost holder.
    `lists_lane_choices`: give each choice of lanes (instances along a dimension) that a holder
    sees below itself a template of its own. `has_shared_tensors`: other Einsums use tensors of
    this one, so the outermost memory holds these whole. `first_network`: place of the outermost
    Network on the path, len(components) if none. `slot_sequences`: the slots (places for loops,
    fills, reservations) of the templates laid out so far. `lane_shares`: by how many lanes tensors
    may be shared, by the memories that hand them over (least_placement_costs.py). `size_tests`:
    for which other sizes of memories all answers about fitting tiles are the same.

    The caches are not part of the value: `dataclasses.replace` starts with empty ones.
    """

    einsum: Einsum
    components: tuple[Component, ...]
    conventions: Conventions = DEFAULT
    uneven: frozenset[str] = frozenset()
    exchanged: frozenset[str] = frozenset()
    lists_lane_choices: bool = False
    has_shared_tensors: bool = False
    first_network: int = field(init=False, compare=False)
    slot_sequences: dict[Template, tuple[Slot, ...]] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )
    lane_shares: dict[object, NDArray[np.float64]] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )
    size_tests: SizeTests = field(init=False, default_factory=SizeTests, compare=False, repr=False)
    _spatial_loops: dict[object, tuple[SpatialLoops, ...]] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )
    _capacity_free: dict[object, _CapacityFreeChoices] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )
    _levels: dict[str, int] = field(init=False, default_factory=dict, compare=False, repr=False)
    _bits: dict[Reservation, float] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )
    _variables: dict[object, tuple[str, ...]] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )
    _overflows: dict[object, bool] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        """Find the outermost Network: every template asks for its level."""
        networks = (i for i, c in enumerate(self.components) if isinstance(c, Network))
        object.__setattr__(self, "first_network", next(networks, len(self.components)))

    @property
    def cuttable_tiles(self) -> Mapping[str, tuple[int, ...]]:
        """For each uneven variable, the tiles that a loop with a smaller last tile may divide.

        They are the divisors of the variable's bound, in values. Under conventions that price
        uneven loops by average tiles (theory/imperfect.md §6) only the bound itself: no loop may
        stand above.
        """
        return {
            v: divisors(bound) if self.conventions.exact_remainders else (bound,)
            for v, bound in self.einsum.bounds.items()
            if v in self.uneven
        }

    @property
    def groups_lane_choices(self) -> bool:
        """Whether choices of lanes with the same effect on all counts share one template.

        A lane is an instance along a dimension. Not so for copy Einsums, uneven tiles or networks,
        whose costs depend on more than these counts, nor if `lists_lane_choices` is set. A
        template is a mapping without its loops.
        """
        has_order = self.einsum.is_copy or self.uneven or self.has_networks
        return not has_order and not self.lists_lane_choices

    @property
    def has_networks(self) -> bool:
        """Whether a Network (hardware that moves values between instances) is on the path."""
        return self.first_network < len(self.components)

    def level(self, component: str) -> int:
        """Return the position of a component on the path, 0 for the outermost.

        Raises KeyError if no component has this name.
        """
        if not self._levels:
            self._levels.update({c.name: i for i, c in enumerate(self.components)})
        return self._levels[component]

    @property
    def outermost_memory(self) -> str:
        """The name of the first memory on the path."""
        return next(c.name for c in self.components if isinstance(c, Memory))

    def dimension(self, loops: SpatialLoops) -> SpatialDim:
        """Return the dimension of the architecture over which some spatial loops stand."""
        component = self.components[self.level(loops.component)]
        return next(dim for dim in component.spatial if dim.name == loops.name)

    def used_dimensions(self, slots: Iterable[Slot]) -> list[UsedDimension]:
        """Return the dimensions among the slots of a template that may have more than one lane.

        A template is a mapping without its loops; a slot is a place of a template for loops, a fill
        or a reserved tile; a lane is one instance along a dimension of a fanout.
        """
        return [
            UsedDimension(i, slot, self.level(slot.component))
            for i, slot in enumerate(slots)
            if isinstance(slot, SpatialLoops) and slot.has_lanes
        ]

    def shared_variables(self, tensors: frozenset[str], relevance: str) -> tuple[str, ...]:
        """Return the rank variables with one given relevance to every one of some tensors.

        `relevance`: "relevant" (each index selects other values), "partial" (neighbouring tiles
        overlap, a sliding window) or "irrelevant". In the order of the Einsum's bounds.
        """
        key = (tensors, relevance)
        if key not in self._variables:
            accesses = [self.einsum.access(tensor) for tensor in tensors]
            self._variables[key] = tuple(
                v for v in self.einsum.bounds if all(a.relevance(v) == relevance for a in accesses)
            )
        return self._variables[key]

    def spatial_loops(self, template: Template) -> tuple[SpatialLoops, ...]:
        """Return each dimension of each fanout of the path with its legal lanes, outermost first.

        A choice of lanes gives each rank variable a number of instances along the dimension. Legal
        means within fanout, loop_bounds, reuse and min_usage. It depends on which tensors are kept
        where (for capacity and refetch rules), not on the order of the holders.
        """
        # copies may leave holders out
        key = (template.placement.kept_tensors, len(template.holders))
        if key not in self._spatial_loops:
            self._spatial_loops[key] = self._legal_spatial_loops(template)
        return self._spatial_loops[key]

    def _legal_spatial_loops(self, template: Template) -> tuple[SpatialLoops, ...]:
        banned = _spatial_bans(self, template)
        bans = tuple(sorted((name, tuple(sorted(names))) for name, names in banned.items()))
        if bans not in self._capacity_free:
            self._capacity_free[bans] = _capacity_free_choices(self, banned)
        choices = self._capacity_free[bans]
        fits = partial(_smallest_tiles_fit, self, template)
        if choices.needs.within(fits):
            return choices.loops
        return apply_min_usage(choices.dims, self.einsum, fits, self.cuttable_tiles)

    def share_spatial_choices(self, sibling: Problem) -> None:
        """Copy the cached spatial choices of another problem, to save computing them again.

        `sibling` must have the same Einsum, conventions and fanout dimensions; nothing checks
        that.
        """
        self._capacity_free.update(sibling._capacity_free)

    def can_overflow(self, reservations: tuple[Reservation, ...]) -> bool:
        """Tell whether tensors, each held whole, need more bits than one memory has.

        `reservations`: tiles to be held in the same memory, at least one. Where this is False no
        tile size can overfill the memory, so that searches need not look at it.
        """
        if reservations not in self._overflows:
            total = sum(
                self.einsum.access(slot.tensor).tile_size(self.einsum.bounds)
                * self.value_bits(slot)
                for slot in reservations
            )
            memory, places = self.holder(reservations[0].component), float(reservations[0].places)
            assert isinstance(memory, Memory)
            self._overflows[reservations] = not self.size_tests.fits(memory, total, places)
        return self._overflows[reservations]

    def fits_single_values(self, template: Template) -> bool:
        """Tell whether one value of each tensor fits every memory in which a template holds it.

        False proves that no mapping of the template fits. Capacities count all instances of a
        memory. A template is a mapping without its loops.
        """
        ones = dict.fromkeys(self.einsum.bounds, 1)
        needed_bits: dict[str, float] = {}
        for holder in template.holders:
            values = self.einsum.access(holder.tensor).tile_size(ones)
            bits = values * self.value_bits(self.reservation(holder))
            needed_bits[holder.component] = needed_bits.get(holder.component, 0.0) + bits
        memories = (c for c in self.components if isinstance(c, Memory))
        return all(
            self.size_tests.fits(m, needed_bits.get(m.name, 0.0), m.physical_fanout)
            for m in memories
        )

    def holder(self, component: str) -> TensorHolder:
        """Return a Memory or Toll of the path by name.

        Raises KeyError if the path has no such component; the name of another kind of component is
        a programming error (an assertion).
        """
        holder = self.components[self.level(component)]
        assert isinstance(holder, TensorHolder)
        return holder

    def reservation(self, holder: Holder) -> Reservation:
        """Return the record of the tile for which a holder's memory must have capacity.

        Lanes (instances of fanouts) and the number of instances of the memory keep their defaults
        here: none and 1. It is persistent if a backing holder (the outermost one) keeps a
        persistent tensor.
        """
        persistent = holder.backing and self.einsum.access(holder.tensor).persistent
        return Reservation(holder.tensor, holder.component, persistent)

    def capacity_bits(self, slot: Reservation) -> float:
        """Return the bits available to a reserved tile: size of the memory times `slot.places`.

        `places` is the number of instances at work of a memory spread over an Array.
        """
        memory = self.holder(slot.component)
        assert isinstance(memory, Memory)
        return memory.size * float(slot.places)

    def value_bits(self, slot: Reservation) -> float:
        """Return the bits that one value of a reserved tensor takes in its memory.

        The memory's own bits_per_value comes first, then the tensor's. A persistent tensor is
        there once per instance of the Einsum, so its bits are multiplied by `n_instances`.
        """
        bits = self._bits.get(slot)
        if bits is None:
            access = self.einsum.access(slot.tensor)
            component_bits = self.holder(slot.component).bits_per_value.get(
                slot.tensor, access.bits_per_value
            )
            bits = float(component_bits * (self.einsum.n_instances if slot.persistent else 1))
            self._bits[slot] = bits
        return bits


def _capacity_free_choices(problem: Problem, banned: _Bans) -> _CapacityFreeChoices:
    """Return the spatial choices that would be legal if capacity were no limit."""
    dims = []
    conventions = problem.conventions
    for level, component in enumerate(problem.components):
        for dim in component.spatial:
            bans = banned.get(component.name, frozenset())
            variables = free_variables(dim, problem.einsum, bans)
            if not conventions.spatial_loops_in_file_order and level >= problem.first_network:
                variables = tuple(sorted(variables, reverse=True))
            bounds = bounds_in_effect(dim, problem.einsum, conventions, bans)
            choices = lane_choices(dim, problem.einsum, variables, bounds, problem.uneven)
            dims.append(
                PathDimension(
                    level, dim, SpatialLoops(component.name, dim.name, variables, choices)
                )
            )
    needs = UnlimitedCapacity()
    loops = apply_min_usage(dims, problem.einsum, needs, problem.cuttable_tiles)
    return _CapacityFreeChoices(tuple(dims), loops, needs)


def _smallest_tiles_fit(
    problem: Problem, template: Template, level: int, tile: Mapping[str, int]
) -> bool:
    """Tell whether the memory of a level holds the smallest tiles that feed the lanes below it."""
    memory = problem.components[level]
    if not isinstance(memory, Memory) or memory.size == inf:
        return True
    bits = 0.0
    for holder in template.holders:
        if holder.component == memory.name:
            keeps_whole_tensor = holder.backing and holder.tensor not in problem.exchanged
            smallest = problem.einsum.bounds if keeps_whole_tensor else tile
            values = problem.einsum.access(holder.tensor).tile_size(smallest)
            bits += values * problem.value_bits(problem.reservation(holder))
    # how many places work is not known yet
    return problem.size_tests.fits(memory, bits, memory.physical_fanout)


def _spatial_bans(problem: Problem, template: Template) -> _Bans:
    """Return, per component, the rank variables over which it may have no spatial loop.

    Such a loop would fetch a tensor under no_refetch_from_above again, would compute a tensor more
    than once that Einsums exchange below it, or would leave each lane with a part of the sums of an
    output that no memory above the lanes holds (theory/model.md §8.2).
    """
    banned: dict[str, frozenset[str]] = {}
    if problem.has_shared_tensors:
        outermost = problem.level(problem.outermost_memory)
        names = (component.name for component in problem.components[: outermost + 1])
        banned = dict.fromkeys(names, frozenset(problem.einsum.bounds))
    for holder in template.holders:
        levels = _levels_without_spatial_reuse(problem, template, holder)
        if not levels:
            continue
        access = problem.einsum.access(holder.tensor)
        reused = frozenset(v for v in problem.einsum.bounds if access.relevance(v) != "relevant")
        for name in (problem.components[level].name for level in levels):
            banned[name] = banned.get(name, frozenset()) | reused
    return banned


def _levels_without_spatial_reuse(problem: Problem, template: Template, holder: Holder) -> range:
    """Return the levels at which spatial loops must be relevant to a holder's tensor."""
    if holder.backing:
        is_summed = problem.einsum.access(holder.tensor).output
        sums_must_join = is_summed and problem.conventions.complete_reads
        needs_all = sums_must_join or holder.tensor in problem.exchanged
        return range(problem.level(holder.component) + 1) if needs_all else range(0)
    rules = template.placement.rules_of(holder.component)
    covers_spatial = problem.conventions.no_refetch_covers_spatial
    if not covers_spatial or holder.tensor not in rules.no_refetch_from_above:
        return range(0)
    backing = next(h for h in template.holders if h.tensor == holder.tensor)
    return range(problem.level(backing.component) + 1, problem.level(holder.component) + 1)
