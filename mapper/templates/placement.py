"""Templates: which memory holds which tensor, and in which order the holders stand.

A template fixes everything of a mapping except its loops. The rules are those of model.md
§8.1: keep and may_keep choose the placement from the outermost memory down, the orders are all
interleavings that respect the hierarchy, and a tensor's first holder (its backing) stands on top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from tilewright.arch.components.components import PlacementRules


@dataclass(frozen=True, slots=True)
class Holder:
    """A component that keeps a tile of one tensor (a memory) or passes it on (a Toll).

    `tensor`, `component`: their names. `backing`: the outermost holder of the tensor, above all
    loops of its Einsum. `floating`: also the outermost holder, but loops may stand above it if
    their variables are fully relevant to the tensor, so that no value is fetched twice.
    """

    tensor: str
    component: str
    backing: bool = False
    floating: bool = False


@dataclass(frozen=True, slots=True)
class Placement:
    """The tensors that each component keeps, the first of two choices that make a template.

    `kept_tensors`: pairs (component, names of its tensors) for each memory and Toll of the path,
    outermost first; a component may keep none. `rules`: the evaluated `tensors:` block of the
    architecture file for each of these components, in the same order.
    """

    kept_tensors: tuple[tuple[str, tuple[str, ...]], ...]
    rules: tuple[PlacementRules, ...]

    def rules_of(self, component: str) -> PlacementRules:
        """Return the evaluated `tensors:` block (keep, tile_shape and so on) of a component.

        Raises KeyError if the placement does not list a component of this name.
        """
        for (name, _), rules in zip(self.kept_tensors, self.rules, strict=True):
            if name == component:
                return rules
        raise KeyError(component)


KeptTensors = Mapping[str, tuple[tuple[str, ...], PlacementRules]]  # component -> tensors, rules


@dataclass(frozen=True, slots=True)
class AdjacentHolders:
    """Successive holders with no loop between them, whose tiles shrink with the loops below all.

    `first`, `last`: their numbers in the template, 0 for the outermost. `groups`: numbers of
    holders whose tiles are reserved in one place, in the order of these places. Below the last
    holder stand, group by group: loops over variables relevant to the tensors of this and all
    later groups (their tiles shrink), at most one loop over a variable of a sliding window of the
    group, then the reservations of the group. A holder in no group keeps its whole tile. A
    template is a mapping without its loops.
    """

    first: int
    last: int
    groups: tuple[tuple[int, ...], ...]

    @property
    def members(self) -> range:
        """The numbers of the holders."""
        return range(self.first, self.last + 1)


@dataclass(frozen=True, slots=True)
class LaneRestriction:
    """The only choices of lanes that a template leaves one dimension of a fanout.

    A template restricts a dimension if its slots depend on the lanes (instances along it) in use.
    `component`, `dim`: names; `choices`: for each choice the number of lanes of each rank
    variable, in the order of the variables of `SpatialLoops`. A template is a mapping without its
    loops; a slot is a place of a template for loops, a fill or a reserved tile.
    """

    component: str
    dim: str
    choices: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Template:
    """All of a mapping except its loops: a placement of tensors with an order of their holders.

    `placement`: what each component keeps. `holders`: holders in memories, outermost first.
    `tolls`: tensors that pass Tolls, in no order. `adjacent`: groups of holders with no loop
    between them, whose tiles shrink below them all. `lane_restrictions`: dimensions whose lanes
    the template fixes, because capacity or tiles depend on them.
    """

    placement: Placement
    holders: tuple[Holder, ...]
    tolls: tuple[Holder, ...] = ()
    adjacent: tuple[AdjacentHolders, ...] = ()
    lane_restrictions: tuple[LaneRestriction, ...] = ()


def placement_of(kept_tensors: KeptTensors) -> Placement:
    """Return the placement with given tensors per component.

    `kept_tensors`: component name to (names of its tensors, its evaluated rules), outermost first.
    """
    return Placement(
        tuple((name, tensors) for name, (tensors, _) in kept_tensors.items()),
        tuple(rules for _, rules in kept_tensors.values()),
    )


def templates(
    chosen: Iterable[Placement], tolls: frozenset[str], floating: frozenset[str] = frozenset()
) -> Iterator[Template]:
    """Enumerate every legal order of the holders of some placements, as templates.

    A tensor's outermost holder stands on top, above all loops, unless the tensor is in `floating`
    (loops over its relevant variables may stand above) and that holder is not in the outermost
    memory. The others keep the order of their memories unless force_memory_hierarchy_order is
    false, and obey tensor_order_options. `chosen`: the placements; `tolls`: names of the
    components that are Tolls, whose crossings are not ordered.
    """
    for placement in chosen:
        backing, groups = _holders_of(placement, tolls, floating)
        crossed = tuple(Holder(t, name) for name, tensors in placement.kept_tensors if name in tolls
                        for t in tensors)  # fmt: skip
        for order in _orders(groups, placement):
            yield Template(placement, (*backing, *order), crossed)


def _holders_of(
    placement: Placement, tolls: frozenset[str], floating: frozenset[str]
) -> tuple[list[Holder], list[list[Holder]]]:
    """Return the backing holders of a placement, and lists of the other holders, one per memory.

    `tolls`: names of the Tolls, which are left out. `floating`: tensors whose outermost holder
    below the outermost memory does not back them.
    """
    held_above: set[str] = set()
    backing: list[Holder] = []
    groups: list[list[Holder]] = []
    is_outermost = True
    for name, tensors in placement.kept_tensors:
        if name in tolls:
            continue
        floats = frozenset() if is_outermost else floating - held_above
        is_outermost = False
        backing += [Holder(t, name, True) for t in tensors if t not in held_above | floats]
        tensors_below = [t for t in tensors if t in held_above | floats]
        groups.append([Holder(t, name, floating=t in floats) for t in tensors_below])
        held_above |= set(tensors)
    return backing, groups


def until_backed(template: Template) -> Template:
    """Leave out the holders at or below the deepest component that is some tensor's first holder.

    Backing holders (the outermost one of each tensor) stay. AccelForge does this for copy Einsums,
    which move a tensor and compute nothing, whatever `keep` says about deeper memories.
    """
    levels = [name for name, _ in template.placement.kept_tensors]
    last = max(levels.index(h.component) for h in template.holders if h.backing)
    holders = (h for h in template.holders if h.backing or levels.index(h.component) < last)
    return replace(template, holders=tuple(holders))


def _orders(groups: list[list[Holder]], placement: Placement) -> Iterator[tuple[Holder, ...]]:
    """Enumerate the legal orders of non-backing holders; `groups`: those of each memory.

    Outermost memory first, unless rules allow another order.
    """
    if any(_may_leave_hierarchy(group, placement) for group in groups):
        yield from _interleavings(groups, placement)
        return
    yield from _ordered_groups(groups, placement)


def _ordered_groups(
    groups: list[list[Holder]], placement: Placement
) -> Iterator[tuple[Holder, ...]]:
    if not groups:
        yield ()
        return
    for first in permutations(groups[0]):
        if not order_allowed(first, placement):
            continue
        for following in _ordered_groups(groups[1:], placement):
            yield (*first, *following)


def _may_leave_hierarchy(group: list[Holder], placement: Placement) -> bool:
    return bool(group) and (
        placement.rules_of(group[0].component).force_memory_hierarchy_order is False
    )


def _interleavings(
    groups: list[list[Holder]], placement: Placement
) -> Iterator[tuple[Holder, ...]]:
    """Enumerate the orders in which memories outside the hierarchy may stand anywhere.

    A pair of holders keeps the order of its memories if both hold the same tensor, or unless one of
    the two memories has force_memory_hierarchy_order false. Within one memory the order obeys its
    tensor_order_options.
    """
    level = {h: depth for depth, group in enumerate(groups) for h in group}
    free = {h: _may_leave_hierarchy([h], placement) for h in level}

    def must_precede(first: Holder, second: Holder) -> bool:
        if level[first] >= level[second]:
            return False
        return first.tensor == second.tensor or not (free[first] or free[second])

    for order in _linear_extensions(tuple(level), must_precede):
        by_memory = ([h for h in order if level[h] == depth] for depth in range(len(groups)))
        if all(order_allowed(holders, placement) for holders in by_memory):
            yield order


def _linear_extensions(
    holders: tuple[Holder, ...], must_precede: Callable[[Holder, Holder], bool]
) -> Iterator[tuple[Holder, ...]]:
    """Enumerate the orders of `holders` that keep a partial order.

    `must_precede(a, b)`: a before b.
    """
    if not holders:
        yield ()
        return
    for first in holders:
        following = tuple(h for h in holders if h is not first)
        if not any(must_precede(holder, first) for holder in following):
            yield from ((first, *order) for order in _linear_extensions(following, must_precede))


def order_allowed(order: Sequence[Holder], placement: Placement) -> bool:
    """Tell whether the holders of one memory stand in an order that tensor_order_options admits.

    `order`: holders of the same memory, outermost first. An option is a list of sets of tensors;
    it admits the order if tensors of an earlier set stand above those of a later one (tensors in
    no set stand anywhere). True if there are no options or no holders.
    """
    if not order:
        return True
    options = placement.rules_of(order[0].component).tensor_order_options
    return not options or any(_agrees(order, option) for option in options)


def _agrees(order: Sequence[Holder], option: tuple[frozenset[str], ...]) -> bool:
    """Tell whether the holders come in the order of the tensor sets of an option."""
    ranks = [next((i for i, group in enumerate(option) if h.tensor in group), None) for h in order]
    listed = [rank for rank in ranks if rank is not None]
    return listed == sorted(listed)
