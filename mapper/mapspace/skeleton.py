"""The slots of a template: where its loops may stand, outermost slot first.

The gaps are canonical: loops that another gap serves at no higher cost are left out. Loops over
variables relevant to the non-backing holder above can be raised above it, loops over variables
irrelevant to the holder below can be lowered under it (proofs: lattice-dp.md §1 and §9.1; what is
said there about constraints holds here where a rule of the file pins a holder).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, prod

from tilewright.arch.components import Component, Memory, Network, TensorHolder
from tilewright.mapper.einsum import Einsum, TensorAccess
from tilewright.mapper.mapspace.fanout import (
    Dim,
    Fan,
    Unlimited,
    apply_min_usage,
    bounds_in_effect,
    free_variables,
    lane_choices,
)
from tilewright.mapper.mapspace.placement import Holder, Run, Template


@dataclass(frozen=True, slots=True)
class Fill:
    """The node of a holder: its tile is the one that the loops above leave."""

    tensor: str
    component: str
    backing: bool


@dataclass(frozen=True, slots=True)
class Loops:
    """Temporal loops over any of `variables`; `single`: over one of them at most."""

    variables: tuple[str, ...]
    single: bool = False


@dataclass(frozen=True, slots=True)
class Reserve:
    """The tile that `component` must have room for: the one that the loops above leave.

    `persistent`: it stays there for every instance of the Einsum (accelforge.md §2.4).
    """

    tensor: str
    component: str
    persistent: bool = False


@dataclass(frozen=True, slots=True)
class Pass:
    """`tensor` crosses a Toll here."""

    tensor: str
    component: str


Slot = Fill | Loops | Reserve | Pass | Fan


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


@dataclass(frozen=True, slots=True)
class Frame:
    """What all templates of a mapspace share; `components` is the path, outermost first.

    `uneven`: rank variables that may have one loop whose tiles do not divide the tile above it.
    What it works out is kept for the next template.
    """

    einsum: Einsum
    components: tuple[Component, ...]
    rules: Rules
    uneven: frozenset[str] = frozenset()
    _fans: dict[object, tuple[Fan, ...]] = field(default_factory=dict, compare=False, repr=False)
    _roomy: dict[object, _Roomy] = field(default_factory=dict, compare=False, repr=False)
    _levels: dict[str, int] = field(default_factory=dict, compare=False, repr=False)
    _bits: dict[Reserve, float] = field(default_factory=dict, compare=False, repr=False)

    @property
    def has_networks(self) -> bool:
        """Whether values travel on a network somewhere on the path."""
        return any(isinstance(component, Network) for component in self.components)

    def level(self, component: str) -> int:
        """Return the position of `component` on the path."""
        if not self._levels:
            self._levels.update({c.name: i for i, c in enumerate(self.components)})
        return self._levels[component]

    def fans(self, template: Template) -> tuple[Fan, ...]:
        """Return the spatial dimensions of the path with their choices, outermost first.

        They depend on the placement only, not on the order of the holders.
        """
        banned = _spatial_bans(self, template) if self.rules.refetch_spatial else {}
        bans = tuple(sorted((name, tuple(sorted(names))) for name, names in banned.items()))
        if bans not in self._roomy:
            self._roomy[bans] = _roomy_fans(self, banned)
        dims, fans, needs = self._roomy[bans]
        room = partial(_has_room, self, template)
        if needs.within(room):
            return fans
        key = (bans, template.placement.kept)
        if key not in self._fans:
            self._fans[key] = apply_min_usage(dims, self.einsum, room, self.uneven)
        return self._fans[key]

    def holder(self, component: str) -> TensorHolder:
        """Return a Memory or Toll of the path by name."""
        found = self.components[self.level(component)]
        assert isinstance(found, TensorHolder)
        return found


def skeleton(frame: Frame, template: Template) -> tuple[Slot, ...]:
    """Lay out the slots of `template`, outermost first."""
    bans = _bans(frame, template)
    fans = frame.fans(template)
    tolls = sorted(template.tolls, key=lambda t: (frame.level(t.component), t.tensor))
    runs = {i: run for run in template.runs for i in range(run.first, run.last + 1)}
    slots: list[Slot] = []
    last = len(frame.components) - 1
    placed = -1
    for index, holder in enumerate((*template.holders, None)):
        level = last if holder is None else frame.level(holder.component)
        run = runs.get(index)
        inside = run is not None and index > run.first
        ready = [
            toll
            for toll in _reachable(frame, template, index, tolls)
            if run is None or not _is_open(template, run, index, toll.tensor)
        ]
        tolls = [toll for toll in tolls if toll not in ready]
        for depth in range(max(placed, level) + 1):
            name = frame.components[depth].name
            here = [fan for fan in fans if fan.component == name and depth > placed]
            slots += [_without_lanes(fan) for fan in here] if inside else here
            slots += [Pass(t.tensor, name) for t in ready if t.component == name]
        placed = max(placed, level)
        if holder is not None:
            slots.append(Fill(holder.tensor, holder.component, holder.backing))
            if run is None:
                slots += _gap(frame, template, index, bans)
            elif all(index not in group for group in run.groups):
                slots.append(reserve_of(frame, holder))
            if run is not None and index == run.last:
                slots += _run(frame, template, run, bans)
    return tuple(slots)


def _is_open(template: Template, run: Run, index: int, tensor: str) -> bool:
    """Tell whether a holder of `tensor` above `index` still shrinks below the run."""
    held = [i for i in range(run.first, run.last + 1) if template.holders[i].tensor == tensor]
    return bool(held) and held[-1] < index


def _without_lanes(fan: Fan) -> Fan:
    """Holders on both sides of lanes do not stand together."""
    return replace(fan, choices=tuple(c for c in fan.choices if prod(c) == 1))


def _run(
    frame: Frame, template: Template, run: Run, bans: Sequence[frozenset[str]]
) -> Iterator[Slot]:
    """Lay out the loops below a run of holders, with its reservations."""
    allowed = [v for v in frame.einsum.bounds if v not in bans[run.last]]
    pinned = any(_pinned(frame, template, i) for i in range(run.first, run.last + 1))
    before: tuple[str, ...] = tuple(frame.einsum.bounds)  # nothing streams for the first time
    for number, group in enumerate(run.groups):
        later = [i for rest in run.groups[number + 1 :] for i in rest]
        streams = streaming_variables(frame, template, (*group, *later))
        slides = sliding_variables(frame, template, group, later)
        passing = [v for v in streams if v in allowed and (pinned or v not in before)]
        yield from _loops(passing)
        yield from _loops([v for v in slides if v in allowed], single=True)
        yield from (reserve_of(frame, template.holders[i]) for i in group)
        before = streaming_variables(frame, template, group)
    yield from _loops(
        [
            v
            for v in allowed
            if (pinned or v not in before) and _useful_above(frame, template, run.last + 1, v)
        ]
    )


def _loops(variables: Sequence[str], single: bool = False) -> Iterator[Loops]:
    if variables:
        yield Loops(tuple(variables), single)


def streaming_variables(
    frame: Frame, template: Template, holders: Sequence[int]
) -> tuple[str, ...]:
    """Return the variables over which all of these holders stream."""
    accesses = [frame.einsum.access(template.holders[i].tensor) for i in holders]
    return tuple(
        v for v in frame.einsum.bounds if all(a.relevance(v) == "relevant" for a in accesses)
    )


def sliding_variables(
    frame: Frame, template: Template, group: Sequence[int], later: Sequence[int]
) -> tuple[str, ...]:
    """Return the variables over which all of `group` slide while those of `later` stream."""
    einsum, holders = frame.einsum, template.holders
    return tuple(
        v
        for v in streaming_variables(frame, template, later)
        if all(einsum.access(holders[i].tensor).relevance(v) == "partial" for i in group)
    )


def _reachable(
    frame: Frame, template: Template, index: int, tolls: Sequence[Holder]
) -> list[Holder]:
    """Return the tolls to be passed above holder `index`: outer levels first, per tensor."""
    if index >= len(template.holders):
        return list(tolls)
    level = frame.level(template.holders[index].component)
    waiting = [(h.tensor, frame.level(h.component)) for h in template.holders[index:]]
    return [
        toll
        for toll in tolls
        if (own := frame.level(toll.component)) < level
        and not any(tensor == toll.tensor and other < own for tensor, other in waiting)
    ]


def _gap(
    frame: Frame, template: Template, index: int, bans: Sequence[frozenset[str]]
) -> list[Slot]:
    """Lay out the loops between holder `index` and the next one, with the reservation."""
    holder = template.holders[index]
    below = template.holders[index + 1] if index + 1 < len(template.holders) else None
    reserve = reserve_of(frame, holder)
    if below is not None and below.backing:
        return [reserve]
    access = frame.einsum.access(holder.tensor)
    allowed = [v for v in frame.einsum.bounds if v not in bans[index]]
    pinned = _pinned(frame, template, index)
    slots: list[Slot] = []
    if not (holder.backing or holder.floating):
        if pinned:
            slots.append(Loops(_of(access, allowed, "relevant")))
        slots.append(Loops(_of(access, allowed, "partial"), single=True))
    slots.append(reserve)
    rest = [
        v
        for v in allowed
        if (holder.backing or pinned or access.relevance(v) != "relevant")
        and _useful_above(frame, template, index + 1, v)
    ]
    slots.append(Loops(tuple(rest)))
    return [slot for slot in slots if not isinstance(slot, Loops) or slot.variables]


def _of(access: TensorAccess, variables: Sequence[str], relevance: str) -> tuple[str, ...]:
    return tuple(v for v in variables if access.relevance(v) == relevance)


def _useful_above(frame: Frame, template: Template, index: int, variable: str) -> bool:
    """Tell whether a loop directly above holder `index` cannot be lowered under it for free."""
    if index >= len(template.holders):
        return True
    holder = template.holders[index]
    rules = template.placement.rules_of(holder.component)
    if holder.tensor in rules.no_resend_to_below or _pinned(frame, template, index):
        return True
    return frame.einsum.access(holder.tensor).relevance(variable) != "irrelevant"


def _pinned(frame: Frame, template: Template, index: int) -> bool:
    """Tell whether tile_shape pins the tile at holder `index`, the first one of its memory.

    Or if a network does: hops count the loops above the lanes, so that none can be moved for free.
    """
    if frame.has_networks:
        return True
    holder = template.holders[index]
    first = next(h for h in template.holders if h.component == holder.component)
    shapes = template.placement.rules_of(holder.component).tile_shape
    return frame.rules.tile_shape and bool(shapes) and first is holder


def _bans(frame: Frame, template: Template) -> list[frozenset[str]]:
    """Return, per gap, the variables that may not be looped over there.

    no_refetch_from_above and no_resend_to_below forbid them, or a floating holder below.
    """
    banned: list[set[str]] = [set() for _ in template.holders]
    for index, holder in enumerate(template.holders):
        rules = template.placement.rules_of(holder.component)
        same = [i for i, h in enumerate(template.holders) if h.tensor == holder.tensor]
        access = frame.einsum.access(holder.tensor)
        loose = {v for v in frame.einsum.bounds if access.relevance(v) != "relevant"}
        if holder.tensor in rules.no_refetch_from_above:
            for gap in range(same[0], index):
                banned[gap] |= loose
        if holder.floating:
            for gap in range(index):
                banned[gap] |= loose
        if holder.tensor in rules.no_resend_to_below:
            end = next((i for i in same if i > index), len(template.holders))
            for gap in range(index, end):
                banned[gap] |= loose
    return [frozenset(names) for names in banned]


_Roomy = tuple[tuple[Dim, ...], tuple[Fan, ...], Unlimited]


def _roomy_fans(frame: Frame, banned: Mapping[str, frozenset[str]]) -> _Roomy:
    """Return the dimensions, their choices if capacity were no limit, and what these need."""
    dims = []
    for level, component in enumerate(frame.components):
        for dim in component.spatial:
            taken = banned.get(component.name, frozenset())
            variables = free_variables(dim, frame.einsum, taken)
            bounds = bounds_in_effect(dim, frame.einsum, not frame.rules.all_bounds)
            choices = lane_choices(dim, frame.einsum, variables, bounds, frame.uneven)
            dims.append(Dim(level, dim, Fan(component.name, dim.name, variables, choices)))
    needs = Unlimited()
    return tuple(dims), apply_min_usage(dims, frame.einsum, needs, frame.uneven), needs


def _has_room(frame: Frame, template: Template, level: int, tile: Mapping[str, int]) -> bool:
    """Tell whether the memory of a level holds the smallest tiles that feed the lanes below it."""
    memory = frame.components[level]
    if not isinstance(memory, Memory) or memory.size == inf:
        return True
    bits = 0.0
    for holder in template.holders:
        if holder.component == memory.name:
            least = frame.einsum.bounds if holder.backing else tile
            bits += frame.einsum.access(holder.tensor).tile_size(least) * value_bits(
                frame, reserve_of(frame, holder)
            )
    return bits <= memory.size


def reserve_of(frame: Frame, holder: Holder) -> Reserve:
    """Return the reservation of a holder."""
    persistent = holder.backing and frame.einsum.access(holder.tensor).persistent
    return Reserve(holder.tensor, holder.component, persistent)


def value_bits(frame: Frame, slot: Reserve) -> float:
    """Return the bits of one value; a persistent tensor is there once per instance."""
    if slot not in frame._bits:
        held, own = frame.holder(slot.component), frame.einsum.access(slot.tensor)
        bits = held.bits_per_value.get(slot.tensor, own.bits_per_value)
        frame._bits[slot] = float(bits * (frame.einsum.n_instances if slot.persistent else 1))
    return frame._bits[slot]


def _spatial_bans(frame: Frame, template: Template) -> Mapping[str, frozenset[str]]:
    """Forbid spatial loops that would fetch a tensor under no_refetch_from_above again."""
    banned: dict[str, frozenset[str]] = {}
    for holder in template.holders:
        rules = template.placement.rules_of(holder.component)
        if holder.tensor not in rules.no_refetch_from_above or holder.backing:
            continue
        backing = _backing(template, holder)
        access = frame.einsum.access(holder.tensor)
        loose = frozenset(v for v in frame.einsum.bounds if access.relevance(v) != "relevant")
        for depth in range(frame.level(backing.component) + 1, frame.level(holder.component) + 1):
            name = frame.components[depth].name
            banned[name] = banned.get(name, frozenset()) | loose
    return banned


def _backing(template: Template, holder: Holder) -> Holder:
    return next(h for h in template.holders if h.tensor == holder.tensor)
