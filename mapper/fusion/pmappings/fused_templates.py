"""Templates of one Einsum in a cascade: tensors on chip stand among the holders of their memory.

In a mapspace of one Einsum all backing holders stand on top. Here a tensor that stays on chip is
backed in the second memory, and the other tensors there may be held above or below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations

from tilewright.arch.components.components import Comparison, Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.search_errors import UnsupportedFeature
from tilewright.mapper.templates.adjacent_holders import adjacent_across
from tilewright.mapper.templates.placement import Holder, Template, order_allowed
from tilewright.mapper.templates.problem import Problem, required_tile_shape
from tilewright.mapper.templates.slots import Fill
from tilewright.mapper.templates.spatial_choices import holds

_INSTEAD = "search without fusion"


@dataclass(frozen=True, slots=True)
class FusedTemplate:
    """A template; `holders[first:split + 1]` stand above or at the lowest tensor on chip.

    `first`: number of holders of the outermost memory. Without a tensor on chip split = first - 1.
    `own`: number of holders right below these that back tensors of this Einsum alone, whole: above
    all loops. They count among those on chip.
    """

    template: Template
    n_outermost: int
    lowest_on_chip: int
    n_private: int = 0

    @property
    def region(self) -> tuple[Holder, ...]:
        """The holders that fused loops may stand between."""
        return self.template.holders[self.n_outermost : self.lowest_on_chip + 1]

    @property
    def streamed(self) -> frozenset[int]:
        """Numbers of the holders of the region whose tiles shrink below it."""
        runs = (run for run in self.template.adjacent if run.first <= self.lowest_on_chip)
        moving = (
            i for run in runs for group in run.groups for i in group if i <= self.lowest_on_chip
        )
        return frozenset(i - self.n_outermost for i in moving)

    @property
    def on_chip(self) -> tuple[TensorPlace, ...]:
        """Tensors backed below the outermost memory that Einsums exchange, in order."""
        return tuple(TensorPlace(h.tensor, h.component) for h in self.exchanging if h.backing)

    @property
    def exchanging(self) -> tuple[Holder, ...]:
        """The holders of the region that loops may stand above."""
        return self.region[self.n_private :]


def first_two_memories(flat: FlatArch) -> tuple[Memory, Memory | None]:
    """Return the outermost memory of the path and the one below it, if there is one."""
    memories = [c for c in flat.components if isinstance(c, Memory)]
    if not memories:
        raise UnsupportedFeature(f"no memory on the way to {flat.compute.name}", instead=_INSTEAD)
    return memories[0], memories[1] if len(memories) > 1 else None


def fused_templates(space: Mapspace, chip: frozenset[TensorPlace]) -> Iterator[FusedTemplate]:
    """Enumerate the layouts of `space`; `chip`: where tensors may be backed on chip."""
    outer = first_two_memories(space.flat)[0]
    for template in space.templates:
        if _has_legal_backing(space, template, chip) and _admits_whole(space, template):
            top = [h for h in template.holders if h.backing and h.component == outer.name]
            own = len(_private_holders(space, template))
            for holders in _holder_orders(space, template):
                split = max((i for i, h in enumerate(holders) if h.backing), default=-1)
                split = max(split, len(top) - 1)
                if any(run.first <= split for run in template.adjacent):
                    continue  # held above a tensor on chip, but no loop between: the same as below
                made = replace(template, holders=(*top, *holders[len(top) :]))
                layout = FusedTemplate(made, len(top), split, own)
                yield layout
                yield from _streaming_variants(space, layout)


def _holder_orders(space: Mapspace, template: Template) -> Iterator[tuple[Holder, ...]]:
    """Yield the holders with those backed on chip in every place: among those of their memory,
    the memories above in the order of the hierarchy."""
    outer, inner = first_two_memories(space.flat)
    top = tuple(h for h in template.holders if h.backing and h.component == outer.name)
    own = _private_holders(space, template)
    rest = [h for h in template.holders if not h.backing]
    ways: list[tuple[Holder, ...]] = [(*top, *own)]
    memories = [c.name for c in space.flat.components if isinstance(c, Memory) and c is not outer]
    backed = [h for h in template.holders if h.backing and h not in (*top, *own)]
    last = max((memories.index(h.component) for h in backed), default=0)
    for name in memories[: last + 1] if inner else ():
        on_chip = [h for h in backed if h.component == name]
        count = next((i for i, h in enumerate(rest) if h.component != name), len(rest))
        mixed = list(_interleave_orders(on_chip, rest[:count]))
        rest = rest[count:]
        out_of_order = [h for h in rest if h.component == name]
        if out_of_order and name != memories[last]:
            return
        allowed = [
            order
            for order in mixed
            if not on_chip or order_allowed([*order, *out_of_order], template.placement)
        ]
        ways = [(*way, *order) for way in ways for order in allowed]
    for way in ways:
        yield (*way, *rest)


def _private_holders(space: Mapspace, template: Template) -> tuple[Holder, ...]:
    """Return the holders that back a tensor of this Einsum alone below the outermost memory."""
    outer = first_two_memories(space.flat)[0]
    alone = private_tensors(space)
    backed = (h for h in template.holders if h.backing and h.component != outer.name)
    return tuple(h for h in backed if h.tensor in alone)


def private_tensors(space: Mapspace) -> frozenset[str]:
    """Return the tensors that no other Einsum uses."""
    return frozenset(space.einsum.tensors) - space.backed - space.exchanged


def reorderable_memories(space: Mapspace) -> tuple[str, ...]:
    """Return the memories of `space` whose holders may leave the order of the hierarchy.

    Layouts keep to it above the lowest tensor on chip: what deeper memories hold there would need
    room while other Einsums run. Under accelforge they keep to it below lanes, too.
    """
    rules = {(n, r) for p in space.placements for (n, _), r in zip(p.kept, p.rules, strict=True)}
    outer = first_two_memories(space.flat)[0].name
    free = {n for n, r in rules if r.force_memory_hierarchy_order is False and n != outer}
    lower = [c.name for c in space.flat.components if isinstance(c, Memory) and c.name != outer]
    return tuple(name for name in lower if name in free) if len(lower) > 1 else ()


def _has_legal_backing(space: Mapspace, template: Template, chip: frozenset[TensorPlace]) -> bool:
    """Check where tensors are backed: nothing that is exchanged outside of `chip`, nothing else
    below the second memory, whose room is known while other Einsums run."""
    outer, inner = first_two_memories(space.flat)
    for holder in template.holders:
        if not holder.backing or holder.component == outer.name:
            continue
        if all(holder.tensor != place.tensor for place in chip):
            persistent = space.einsum.access(holder.tensor).persistent
            if inner is not None and holder.component == inner.name and not persistent:
                continue
            what = "it persists" if persistent else "no Einsum hands it to another there"
            raise UnsupportedFeature(
                f"{holder.tensor} may be backed in {holder.component}, but {what}",
                instead=f"{_INSTEAD}, or keep it in {outer.name}",
            )
        if TensorPlace(holder.tensor, holder.component) not in chip:
            return False
    return True


def _interleave_orders(on_chip: list[Holder], others: list[Holder]) -> Iterator[tuple[Holder, ...]]:
    """Interleave every order of `on_chip` with `others`, which keep their order."""
    for order in permutations(on_chip):
        yield from _interleave(order, tuple(others))


def _interleave(
    first: tuple[Holder, ...], second: tuple[Holder, ...]
) -> Iterator[tuple[Holder, ...]]:
    if not first or not second:
        yield (*first, *second)
        return
    for rest in _interleave(first[1:], second):
        yield (first[0], *rest)
    for rest in _interleave(first, second[1:]):
        yield (second[0], *rest)


def banned_variables(space: Mapspace, layout: FusedTemplate) -> tuple[frozenset[str], ...]:
    """Return, per region holder, the variables that may not be looped over right above it.

    no_refetch_from_above and no_resend_to_below forbid loops that would move a tensor again, a
    floating holder those that would make it come again.
    """
    holders = layout.template.holders
    banned: list[frozenset[str]] = [frozenset() for _ in layout.region]
    for run in layout.template.adjacent:  # its holders stand together
        for place in range(run.first + 1, layout.lowest_on_chip + 1):
            banned[place - layout.n_outermost] = frozenset(space.einsum.bounds)
    for index, holder in enumerate(holders):
        rules = layout.template.placement.rules_of(holder.component)
        same = [i for i, h in enumerate(holders) if h.tensor == holder.tensor]
        access = space.einsum.access(holder.tensor)
        loose = frozenset(v for v in space.einsum.bounds if access.relevance(v) != "relevant")
        spans: list[range] = [range(index + 1)] if holder.floating else []
        if holder.tensor in rules.no_refetch_from_above:
            spans.append(range(same[0] + 1, index + 1))
        if holder.tensor in rules.no_resend_to_below:
            below = next((i for i in same if i > index), len(holders))
            spans.append(range(index + 1, below + 1))
        for span in spans:
            for place in range(
                max(span.start, layout.n_outermost), min(span.stop, layout.lowest_on_chip + 1)
            ):
                banned[place - layout.n_outermost] |= loose
    return tuple(banned)


def _streaming_variants(space: Mapspace, layout: FusedTemplate) -> Iterator[FusedTemplate]:
    """Yield the layouts in which holders right above the lowest tensor on chip shrink below it.

    Where all are of its memory, and come in every order, one has them right below it instead.
    """
    template, last = layout.template, layout.lowest_on_chip
    inner = template.holders[last]
    if not space.problem.conventions.adjacent_holders_shrink or not layout.on_chip:
        return
    options = template.placement.rules_of(inner.component).tensor_order_options
    if not options and all(h.component == inner.component for h in layout.region):
        return
    above = layout.n_outermost + layout.n_private, last
    for run in adjacent_across(space.problem, template, above, space.crowded):
        if all(run.last < other.first for other in template.adjacent):
            yield replace(layout, template=replace(template, adjacent=(run, *template.adjacent)))


def _admits_whole(space: Mapspace, template: Template) -> bool:
    """Tell whether tile_shape of the outermost memory lets whole tensors pass."""
    outer = template.holders[0]
    fill = Fill(outer.tensor, outer.component, backing=True)
    pins = required_tile_shape(space.problem, template, fill)
    return all(holds(comparison, space.einsum.bounds) for comparison in pins)


def tile_shape_places(
    problem: Problem, layout: FusedTemplate
) -> list[tuple[int, tuple[Comparison, ...]]]:
    """Return the holders that shared loops may stand above whose memory has a tile_shape, which
    holds at its first one."""
    if not problem.conventions.honours_tile_shape:
        return []
    memories = [holder.component for holder in layout.region]
    rules = layout.template.placement.rules_of
    firsts = {memory: memories.index(memory) for memory in memories}
    found = ((place, rules(memory).tile_shape) for memory, place in firsts.items())
    return [(place, shapes) for place, shapes in found if shapes]
