"""What all templates of a mapspace share: the Einsum, the path, the rules, and what follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf

from tilewright.arch.components.components import (
    Comparison,
    Component,
    Memory,
    Network,
    TensorHolder,
)
from tilewright.mapper.templates.placement import Holder, Template
from tilewright.mapper.templates.slots import Fill, Reserve, Slot
from tilewright.mapper.templates.spatial_choices import (
    Dim,
    Fan,
    Unlimited,
    apply_min_usage,
    bounds_in_effect,
    divisors,
    free_variables,
    lane_choices,
)
from tilewright.mapper.workload.einsum import Einsum


@dataclass(frozen=True, slots=True)
class Rules:
    """What of the conventions the mapspace depends on (design.md §5)."""

    tile_shape: bool = True  # honour tensors.tile_shape
    refetch_spatial: bool = True  # no_refetch_from_above covers spatial loops too
    all_bounds: bool = True  # see fanout.bounds_in_effect
    messages: bool = True  # links carry all rounds, as in model/messages.py
    runs: bool = True  # neighbouring holders do not stop each other's tiles from shrinking
    backed_on_top: bool = True  # no loop stands above the outermost holder of a tensor
    copies_whole: bool = True  # copies go through every memory that must keep their tensors
    sinks: bool = True  # below lanes of a deeper level a tile does not shrink
    whole_places: bool = True  # a place of a distributed memory works, or it does not
    remainders: bool = True  # uneven tiles count as they are, else on average (§2.8)
    file_order: bool = True  # lanes as the file lists them, else behind a network the last on top


AS_ACCELFORGE = Rules(*(False,) * 11)


@dataclass(frozen=True, slots=True)
class Frame:
    """What all templates of a mapspace share; `components` is the path, outermost first.

    `uneven`: rank variables that may have one loop whose tiles do not divide the tile above it.
    `shared`: whether other Einsums use its tensors, so that the outermost memory holds these whole;
    `exchanged`: tensors above whose outermost holder loops may stand that other Einsums share.
    `listed`: templates name every choice of lanes that holders see below themselves
    (lane_variants.py).
    `first_network`: the level of the outermost one, or one below all others if there is none.
    What it works out is kept for the next template.
    """

    einsum: Einsum
    components: tuple[Component, ...]
    rules: Rules
    uneven: frozenset[str] = frozenset()
    exchanged: frozenset[str] = frozenset()
    listed: bool = False
    shared: bool = False
    first_network: int = field(init=False, compare=False)
    laid_out: dict[Template, tuple[Slot, ...]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _fans: dict[object, tuple[Fan, ...]] = field(default_factory=dict, compare=False, repr=False)
    _roomy: dict[object, _Roomy] = field(default_factory=dict, compare=False, repr=False)
    _levels: dict[str, int] = field(default_factory=dict, compare=False, repr=False)
    _bits: dict[Reserve, float] = field(default_factory=dict, compare=False, repr=False)
    _shared: dict[object, tuple[str, ...]] = field(default_factory=dict, compare=False, repr=False)
    _tight: dict[object, bool] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Work out what is asked for of every template."""
        networks = (i for i, c in enumerate(self.components) if isinstance(c, Network))
        object.__setattr__(self, "first_network", next(networks, len(self.components)))

    @property
    def wholes(self) -> Mapping[str, tuple[int, ...]]:
        """The tiles of each uneven variable that an uneven loop may cut.

        With averages, that is the whole variable: no loop may stand above it.
        """
        return {
            v: divisors(bound) if self.rules.remainders else (bound,)
            for v, bound in self.einsum.bounds.items()
            if v in self.uneven
        }

    @property
    def groups(self) -> bool:
        """Whether choices of lanes that are factors of the same slots share a template."""
        plain = not (self.einsum.is_copy or self.uneven or self.has_networks)
        return plain and not self.listed

    @property
    def has_networks(self) -> bool:
        """Whether values travel on a network somewhere on the path."""
        return self.first_network < len(self.components)

    def level(self, component: str) -> int:
        """Return the position of `component` on the path."""
        if not self._levels:
            self._levels.update({c.name: i for i, c in enumerate(self.components)})
        return self._levels[component]

    def shared_variables(self, tensors: frozenset[str], relevance: str) -> tuple[str, ...]:
        """Return the rank variables that have the same relevance to all of some tensors."""
        key = (tensors, relevance)
        if key not in self._shared:
            accesses = [self.einsum.access(tensor) for tensor in tensors]
            self._shared[key] = tuple(
                v for v in self.einsum.bounds if all(a.relevance(v) == relevance for a in accesses)
            )
        return self._shared[key]

    def fans(self, template: Template) -> tuple[Fan, ...]:
        """Return the spatial dimensions of the path with their choices, outermost first.

        They depend on what is held where only, not on the order of the holders.
        """
        held = (template.placement.kept, len(template.holders))  # copies may leave holders out
        if held not in self._fans:
            self._fans[held] = self._fans_of(template)
        return self._fans[held]

    def _fans_of(self, template: Template) -> tuple[Fan, ...]:
        banned = _spatial_bans(self, template)
        bans = tuple(sorted((name, tuple(sorted(names))) for name, names in banned.items()))
        if bans not in self._roomy:
            self._roomy[bans] = _roomy_fans(self, banned)
        dims, fans, needs = self._roomy[bans]
        room = partial(_has_room, self, template)
        if needs.within(room):
            return fans
        return apply_min_usage(dims, self.einsum, room, self.wholes)

    def share_lanes(self, other: Frame) -> None:
        """Take over what lanes `other` has worked out; it must have the same dimensions."""
        self._roomy.update(other._roomy)

    def can_overflow(self, reserves: tuple[Reserve, ...]) -> bool:
        """Tell whether whole tensors overfill the memory of some reservations."""
        if reserves not in self._tight:
            sizes = (
                self.einsum.access(slot.tensor).tile_size(self.einsum.bounds) for slot in reserves
            )
            bits = (value_bits(self, slot) for slot in reserves)
            total = sum(size * each for size, each in zip(sizes, bits, strict=True))
            self._tight[reserves] = total > room_for(self, reserves[0])
        return self._tight[reserves]

    def has_least_room(self, template: Template) -> bool:
        """Tell whether one value of each tensor fits wherever a template holds it."""
        ones = dict.fromkeys(self.einsum.bounds, 1)
        least: dict[str, float] = {}
        for holder in template.holders:
            values = self.einsum.access(holder.tensor).tile_size(ones)
            bits = values * value_bits(self, reserve_of(self, holder))
            least[holder.component] = least.get(holder.component, 0.0) + bits
        memories = (c for c in self.components if isinstance(c, Memory))
        return all(least.get(m.name, 0.0) <= m.size * m.physical_fanout for m in memories)

    def holder(self, component: str) -> TensorHolder:
        """Return a Memory or Toll of the path by name."""
        found = self.components[self.level(component)]
        assert isinstance(found, TensorHolder)
        return found


def reserve_of(frame: Frame, holder: Holder) -> Reserve:
    """Return the reservation of a holder."""
    persistent = holder.backing and frame.einsum.access(holder.tensor).persistent
    return Reserve(holder.tensor, holder.component, persistent)


def room_for(frame: Frame, slot: Reserve) -> float:
    """Return the bits that the memory of a reservation has, in all places that share them."""
    memory = frame.holder(slot.component)
    assert isinstance(memory, Memory)
    return memory.size * float(slot.places)


def value_bits(frame: Frame, slot: Reserve) -> float:
    """Return the bits of one value; a persistent tensor is there once per instance."""
    if slot not in frame._bits:
        held, own = frame.holder(slot.component), frame.einsum.access(slot.tensor)
        bits = held.bits_per_value.get(slot.tensor, own.bits_per_value)
        frame._bits[slot] = float(bits * (frame.einsum.n_instances if slot.persistent else 1))
    return frame._bits[slot]


_Roomy = tuple[tuple[Dim, ...], tuple[Fan, ...], Unlimited]


def _roomy_fans(frame: Frame, banned: Mapping[str, frozenset[str]]) -> _Roomy:
    """Return the dimensions, their choices if capacity were no limit, and what these need."""
    dims = []
    for level, component in enumerate(frame.components):
        for dim in component.spatial:
            taken = banned.get(component.name, frozenset())
            variables = free_variables(dim, frame.einsum, taken)
            if not frame.rules.file_order and level >= frame.first_network:
                variables = tuple(sorted(variables, reverse=True))
            bounds = bounds_in_effect(dim, frame.einsum, not frame.rules.all_bounds, taken)
            choices = lane_choices(dim, frame.einsum, variables, bounds, frame.uneven)
            dims.append(Dim(level, dim, Fan(component.name, dim.name, variables, choices)))
    needs = Unlimited()
    return tuple(dims), apply_min_usage(dims, frame.einsum, needs, frame.wholes), needs


def _has_room(frame: Frame, template: Template, level: int, tile: Mapping[str, int]) -> bool:
    """Tell whether the memory of a level holds the smallest tiles that feed the lanes below it."""
    memory = frame.components[level]
    if not isinstance(memory, Memory) or memory.size == inf:
        return True
    room = memory.size * memory.physical_fanout  # how many places work is not known yet
    bits = 0.0
    for holder in template.holders:
        if holder.component == memory.name:
            whole = holder.backing and holder.tensor not in frame.exchanged
            least = frame.einsum.bounds if whole else tile
            bits += frame.einsum.access(holder.tensor).tile_size(least) * value_bits(
                frame, reserve_of(frame, holder)
            )
    return bits <= room


def _spatial_bans(frame: Frame, template: Template) -> Mapping[str, frozenset[str]]:
    """Forbid spatial loops that would fetch a tensor under no_refetch_from_above again, and those
    above the first holder of what Einsums exchange there that would compute it more than once."""
    banned: dict[str, frozenset[str]] = {}
    if frame.shared:
        last = next(i for i, c in enumerate(frame.components) if isinstance(c, Memory))
        names = (component.name for component in frame.components[: last + 1])
        banned = dict.fromkeys(names, frozenset(frame.einsum.bounds))
    for holder in template.holders:
        rules = template.placement.rules_of(holder.component)
        levels = range(0)
        if holder.backing:
            if holder.tensor in frame.exchanged:
                levels = range(frame.level(holder.component) + 1)
        elif frame.rules.refetch_spatial and holder.tensor in rules.no_refetch_from_above:
            first = frame.level(_backing(template, holder).component)
            levels = range(first + 1, frame.level(holder.component) + 1)
        if not levels:
            continue
        access = frame.einsum.access(holder.tensor)
        loose = frozenset(v for v in frame.einsum.bounds if access.relevance(v) != "relevant")
        for name in (frame.components[level].name for level in levels):
            banned[name] = banned.get(name, frozenset()) | loose
    return banned


def _backing(template: Template, holder: Holder) -> Holder:
    return next(h for h in template.holders if h.tensor == holder.tensor)


def pinned(frame: Frame, template: Template, slot: Slot) -> tuple[Comparison, ...]:
    """Return the tile_shape that must hold above `slot`: that of the first holder of a memory."""
    if not isinstance(slot, Fill) or not frame.rules.tile_shape:
        return ()
    first = next(h for h in template.holders if h.component == slot.component)
    if first.tensor != slot.tensor:
        return ()
    return template.placement.rules_of(slot.component).tile_shape
