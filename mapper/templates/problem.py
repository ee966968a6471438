"""The problem of a mapspace: one Einsum, one path of components, one set of conventions.

All templates of a mapspace share it. Facts that several templates ask for (the legal spatial loops
of a placement, the bits of a value, the slots of a template) are worked out once and kept here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import NamedTuple

from tilewright.arch.components.components import (
    Comparison,
    Component,
    Memory,
    Network,
    TensorHolder,
)
from tilewright.mapper.model.conventions import DEFAULT, Conventions
from tilewright.mapper.templates.placement import Holder, Template
from tilewright.mapper.templates.slots import Fill, Reservation, Slot
from tilewright.mapper.templates.spatial_choices import (
    PathDimension,
    SpatialLoops,
    UnlimitedCapacity,
    apply_min_usage,
    bounds_in_effect,
    divisors,
    free_variables,
    lane_choices,
)
from tilewright.mapper.workload.einsum import Einsum

_Bans = Mapping[str, frozenset[str]]  # component -> variables without a spatial loop there


class _CapacityFreeChoices(NamedTuple):
    """Spatial choices without regard to capacity, and the tiles that they need at each level."""

    dims: tuple[PathDimension, ...]
    loops: tuple[SpatialLoops, ...]
    needs: UnlimitedCapacity


@dataclass(frozen=True, slots=True)
class Problem:
    """What all templates of a mapspace share; `components` is the path, outermost first.

    `uneven`: rank variables that may have one loop whose tiles do not divide the tile above it.
    `exchanged`: tensors above whose outermost holder loops may stand that other Einsums share.
    `lists_lane_choices`: each choice of lanes that a holder sees below itself is a template of its
    own (lane_variants.py). `has_shared_tensors`: other Einsums use tensors of this one, so that the
    outermost memory holds these whole. `first_network`: the level of the outermost Network,
    len(components) if there is none. `slot_sequences`: the slots of the templates laid out so far.
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
        """The tiles of each uneven variable that an uneven loop may cut: its divisors.

        With average tiles (imperfect.md §6) only the whole variable: no loop may stand above it.
        """
        return {
            v: divisors(bound) if self.conventions.exact_remainders else (bound,)
            for v, bound in self.einsum.bounds.items()
            if v in self.uneven
        }

    @property
    def groups_lane_choices(self) -> bool:
        """Whether lane choices that multiply the counts of the same slots share a template."""
        has_order = self.einsum.is_copy or self.uneven or self.has_networks
        return not has_order and not self.lists_lane_choices

    @property
    def has_networks(self) -> bool:
        """Whether values travel on a network somewhere on the path."""
        return self.first_network < len(self.components)

    def level(self, component: str) -> int:
        """Return the position of `component` on the path, 0 for the outermost."""
        if not self._levels:
            self._levels.update({c.name: i for i, c in enumerate(self.components)})
        return self._levels[component]

    def shared_variables(self, tensors: frozenset[str], relevance: str) -> tuple[str, ...]:
        """Return the rank variables that have the same relevance to all of some tensors."""
        key = (tensors, relevance)
        if key not in self._variables:
            accesses = [self.einsum.access(tensor) for tensor in tensors]
            self._variables[key] = tuple(
                v for v in self.einsum.bounds if all(a.relevance(v) == relevance for a in accesses)
            )
        return self._variables[key]

    def spatial_loops(self, template: Template) -> tuple[SpatialLoops, ...]:
        """Return the spatial dimensions of the path with their legal choices, outermost first.

        They depend on the placement only, not on the order of the holders.
        """
        key = (
            template.placement.kept_tensors,
            len(template.holders),
        )  # copies may leave holders out
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
        """Take over the spatial choices of `sibling`, a problem with the same dimensions."""
        self._capacity_free.update(sibling._capacity_free)

    def can_overflow(self, reservations: tuple[Reservation, ...]) -> bool:
        """Tell whether whole tensors overfill the one memory of some reservations."""
        if reservations not in self._overflows:
            sizes = (
                self.einsum.access(slot.tensor).tile_size(self.einsum.bounds)
                for slot in reservations
            )
            bits = (self.value_bits(slot) for slot in reservations)
            total = sum(size * value_bits for size, value_bits in zip(sizes, bits, strict=True))
            self._overflows[reservations] = total > self.capacity_bits(reservations[0])
        return self._overflows[reservations]

    def fits_single_values(self, template: Template) -> bool:
        """Tell whether one value of each tensor fits wherever a template holds it."""
        ones = dict.fromkeys(self.einsum.bounds, 1)
        needed_bits: dict[str, float] = {}
        for holder in template.holders:
            values = self.einsum.access(holder.tensor).tile_size(ones)
            bits = values * self.value_bits(self.reservation(holder))
            needed_bits[holder.component] = needed_bits.get(holder.component, 0.0) + bits
        memories = (c for c in self.components if isinstance(c, Memory))
        return all(needed_bits.get(m.name, 0.0) <= m.size * m.physical_fanout for m in memories)

    def holder(self, component: str) -> TensorHolder:
        """Return a Memory or Toll of the path by name."""
        holder = self.components[self.level(component)]
        assert isinstance(holder, TensorHolder)
        return holder

    def reservation(self, holder: Holder) -> Reservation:
        """Return the reservation of a holder, without regard to lanes and places."""
        persistent = holder.backing and self.einsum.access(holder.tensor).persistent
        return Reservation(holder.tensor, holder.component, persistent)

    def capacity_bits(self, slot: Reservation) -> float:
        """Return the bits of the memory of a reservation, in all places that share the tile."""
        memory = self.holder(slot.component)
        assert isinstance(memory, Memory)
        return memory.size * float(slot.places)

    def value_bits(self, slot: Reservation) -> float:
        """Return the bits of one value; a persistent tensor is there once per instance."""
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
    capacity = memory.size * memory.physical_fanout  # how many places work is not known yet
    bits = 0.0
    for holder in template.holders:
        if holder.component == memory.name:
            keeps_whole_tensor = holder.backing and holder.tensor not in problem.exchanged
            smallest = problem.einsum.bounds if keeps_whole_tensor else tile
            values = problem.einsum.access(holder.tensor).tile_size(smallest)
            bits += values * problem.value_bits(problem.reservation(holder))
    return bits <= capacity


def _spatial_bans(problem: Problem, template: Template) -> _Bans:
    """Return the variables that may have no spatial loop, per component.

    Such a loop would fetch a tensor under no_refetch_from_above again, or would compute a tensor
    more than once that Einsums exchange below it.
    """
    banned: dict[str, frozenset[str]] = {}
    if problem.has_shared_tensors:
        outermost = next(i for i, c in enumerate(problem.components) if isinstance(c, Memory))
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
    """Return the levels whose spatial loops must be relevant to the tensor of a holder."""
    if holder.backing:
        is_exchanged = holder.tensor in problem.exchanged
        return range(problem.level(holder.component) + 1) if is_exchanged else range(0)
    rules = template.placement.rules_of(holder.component)
    covers_spatial = problem.conventions.no_refetch_covers_spatial
    if not covers_spatial or holder.tensor not in rules.no_refetch_from_above:
        return range(0)
    backing = next(h for h in template.holders if h.tensor == holder.tensor)
    return range(problem.level(backing.component) + 1, problem.level(holder.component) + 1)


def required_tile_shape(problem: Problem, template: Template, slot: Slot) -> tuple[Comparison, ...]:
    """Return the tile_shape that must hold above `slot`: that of the first holder of a memory."""
    if not isinstance(slot, Fill) or not problem.conventions.honours_tile_shape:
        return ()
    first = next(h for h in template.holders if h.component == slot.component)
    if first.tensor != slot.tensor:
        return ()
    return template.placement.rules_of(slot.component).tile_shape
