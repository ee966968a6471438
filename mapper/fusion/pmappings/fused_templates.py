"""Enumerate the pmapping templates of one Einsum of a fused search.

In a mapspace of one Einsum all backing holders stand on top. In a fused template a tensor that
stays on chip is backed in a memory on chip, and other tensors may be held above or below it there.

Example: holders `DRAM:A DRAM:B | GLB:A GLB:Y GLB:B`, where Y is backed in GLB. The region is
`GLB:A GLB:Y`: fused loops may stand above each of the two. GLB:B stands below the region.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import NamedTuple

from tilewright.arch.components.components import Comparison, Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.templates.adjacent_holders import HolderSpan, adjacent_across
from tilewright.mapper.templates.placement import Holder, Template, order_allowed
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.required_tile_shape import required_tile_shape
from tilewright.mapper.templates.slots import Fill
from tilewright.mapper.templates.spatial_choices import holds
from tilewright.mapper.workload.errors import UnsupportedFeature

_INSTEAD = "search without fusion"
Holders = tuple[Holder, ...]


@dataclass(frozen=True, slots=True)
class FusedTemplate:
    """Template of one Einsum in which tensors exchanged with other Einsums are backed on chip.

    A template is a mapping without its loops: holders (memories that keep a tensor's tile, Tolls
    that it passes) in order. The region is its part from the first holder below the outermost
    memory to the lowest one that backs a tensor on chip; fused loops may stand among its holders.
    `n_outermost`: number of holders that stand on top of the region, those of the outermost memory.
    `lowest_on_chip`: number of the lowest backing holder on chip; n_outermost - 1 if there is none.
    `n_private`: number of holders at the top of the region that back tensors of this Einsum alone;
    they hold them whole, above all loops.
    """

    template: Template
    n_outermost: int
    lowest_on_chip: int
    n_private: int = 0

    @property
    def region(self) -> Holders:
        """Holders below those of the outermost memory, down to the lowest backing one on chip.

        A holder is a memory that keeps the tile of one tensor; it backs the tensor if it is the
        outermost one to do so. Loops shared with other Einsums may stand among these.
        """
        return self.template.holders[self.n_outermost : self.lowest_on_chip + 1]

    @property
    def streamed(self) -> frozenset[int]:
        """Places in the region of the holders whose tiles shrink with loops below the region.

        The region: the holders below the outermost memory, down to the lowest that backs a tensor
        on chip. Such a holder stands right above that lowest one with no loop between, and reserves
        the smaller tile below it.
        """
        last = self.lowest_on_chip
        runs = (run for run in self.template.adjacent if run.first <= last)
        moving = (i for run in runs for group in run.groups for i in group if i <= last)
        return frozenset(i - self.n_outermost for i in moving)

    @property
    def on_chip(self) -> tuple[TensorPlace, ...]:
        """(tensor, memory) of the exchanged tensors that are backed on chip, outermost first."""
        return tuple(TensorPlace.of(h) for h in self.exchanging if h.backing)

    @property
    def exchanging(self) -> Holders:
        """Holders above which loops shared with other Einsums may stand.

        Those below the outermost memory, down to the lowest that backs a tensor on chip, without
        the holders of tensors that this Einsum alone uses: these stand above all loops.
        """
        return self.region[self.n_private :]


def first_two_memories(flat: FlatArch) -> tuple[Memory, Memory | None]:
    """Return the outermost memory of a path and the next one below it (None: there is none).

    `flat`: the components from the root of the architecture to one compute. Raises
    UnsupportedFeature if there is no memory.
    """
    memories = [c for c in flat.components if isinstance(c, Memory)]
    if not memories:
        raise UnsupportedFeature(f"no memory on the way to {flat.compute.name}", instead=_INSTEAD)
    return memories[0], memories[1] if len(memories) > 1 else None


def fused_templates(
    space: Mapspace,
    exchangeable: frozenset[TensorPlace],
    among: Iterable[Template] | None = None,
) -> Iterator[FusedTemplate]:
    """Enumerate the fused templates of one Einsum.

    A fused template is a mapping without its loops, in which exchanged tensors may be backed on
    chip. `space`: the mapspace of the Einsum on the path to one compute. `exchangeable`: (tensor,
    memory) pairs in which tensors may stay on chip. `among`: templates of the mapspace to make them
    of, None for all. Holders that back a tensor on chip come at every place among the holders of
    their memory that the rules allow; above the lowest of them memories keep the order of the
    hierarchy. Raises UnsupportedFeature if a tensor of this Einsum alone would be backed below the
    second memory, or on chip although it persists.
    """
    for template in space.templates if among is None else among:
        if not _has_legal_backing(space, template, exchangeable):
            continue
        if not _admits_whole_tensors(space, template):
            continue
        for fused_template in _reordered_templates(space, template):
            yield fused_template
            yield from _streaming_variants(space, fused_template)


def refuse_unclear_backing(space: Mapspace, exchangeable: frozenset[TensorPlace]) -> None:
    """Raise UnsupportedFeature if `fused_templates` would, for whatever placement.

    `space`, `exchangeable`: as there. A placement says which memory keeps which tensors.
    """
    for placement in space.placements:
        template = space.first_template(placement)
        if template is not None:
            _has_legal_backing(space, template, exchangeable)


def _reordered_templates(space: Mapspace, template: Template) -> Iterator[FusedTemplate]:
    """Yield the fused templates of one template, one per order of its holders.

    Orders are left out in which holders with no loop between them stand above a tensor on chip:
    they may as well stand below it.
    """
    top = _outermost_holders(space, template)
    n_private = len(_private_holders(space, template))
    for holders in _holder_orders(space, template):
        backing = [number for number, holder in enumerate(holders) if holder.backing]
        lowest = max([*backing, len(top) - 1])
        if any(run.first <= lowest for run in template.adjacent):
            continue
        reordered = replace(template, holders=(*top, *holders[len(top) :]))
        yield FusedTemplate(reordered, len(top), lowest, n_private)


class _HolderSets(NamedTuple):
    """A template's holders in three sets: on top of all loops, backing on chip, not backing."""

    top: Holders
    on_chip: Holders
    non_backing: Holders


def _holder_orders(space: Mapspace, template: Template) -> Iterator[Holders]:
    """Yield orders of a template's holders, those backing on chip anywhere in their memory.

    Memories above the lowest tensor on chip keep the order of the hierarchy.
    """
    holders = _holder_sets(space, template)
    memories = memories_on_chip(space)
    last = max((memories.index(h.component) for h in holders.on_chip), default=0)
    orders: list[Holders] = [holders.top]
    remaining = holders.non_backing
    for memory in memories[: last + 1]:
        count = _n_leading_of(memory, remaining)
        leading, remaining = remaining[:count], remaining[count:]
        out_of_order = _holders_of(memory, remaining)
        if out_of_order and memory != memories[last]:
            return
        on_chip = _holders_of(memory, holders.on_chip)
        allowed = list(_allowed_orders(on_chip, leading, out_of_order, template))
        orders = [(*outer_holders, *order) for outer_holders in orders for order in allowed]
    for order in orders:
        yield (*order, *remaining)


def memories_on_chip(space: Mapspace) -> list[str]:
    """Return the names of the memories below the outermost one, outermost first."""
    return [c.name for c in space.flat.components if isinstance(c, Memory)][1:]


def _holders_of(memory: str, holders: Holders) -> Holders:
    return tuple(holder for holder in holders if holder.component == memory)


def _n_leading_of(memory: str, holders: Holders) -> int:
    """Return how many holders at the start of the list are of one memory."""
    return next((i for i, h in enumerate(holders) if h.component != memory), len(holders))


def _allowed_orders(
    on_chip: Holders, non_backing: Holders, out_of_order: Holders, template: Template
) -> Iterator[Holders]:
    """Yield the orders of one memory's holders that the rules of the placement allow.

    `on_chip`: in any order, anywhere among the `non_backing`, which keep their order.
    `out_of_order`: holders of that memory below those of deeper memories.
    """
    for order in _interleave_orders(on_chip, non_backing):
        if not on_chip or order_allowed([*order, *out_of_order], template.placement):
            yield order


def _outermost_holders(space: Mapspace, template: Template) -> Holders:
    """Return the template's backing holders of the outermost memory."""
    outermost = first_two_memories(space.flat)[0]
    return tuple(h for h in template.holders if h.backing and h.component == outermost.name)


def _holder_sets(space: Mapspace, template: Template) -> _HolderSets:
    """Sort the holders of a template into three sets (_HolderSets)."""
    top = (*_outermost_holders(space, template), *_private_holders(space, template))
    on_chip = [h for h in template.holders if h.backing and h not in top]
    non_backing = [h for h in template.holders if not h.backing]
    return _HolderSets(top, tuple(on_chip), tuple(non_backing))


def _private_holders(space: Mapspace, template: Template) -> Holders:
    """Return the holders that back a tensor of this Einsum alone below the outermost memory."""
    outermost = first_two_memories(space.flat)[0]
    private = private_tensors(space)
    backing = (h for h in template.holders if h.backing and h.component != outermost.name)
    return tuple(h for h in backing if h.tensor in private)


def private_tensors(space: Mapspace) -> frozenset[str]:
    """Return the tensors of a mapspace's Einsum that no other Einsum uses."""
    return frozenset(space.einsum.tensors) - space.backed - space.exchanged


def reorderable_memories(space: Mapspace) -> tuple[str, ...]:
    """Return the names of the memories on chip whose holders may leave the order of the hierarchy.

    Those with force_memory_hierarchy_order set to false in some placement; empty if there is only
    one memory on chip. The fused search does not use that freedom above the lowest tensor on chip,
    because what deeper memories hold there would need capacity while other Einsums run, and under
    the accelforge conventions not below spatial loops. So the names tell what it leaves out.
    """
    free: set[str] = set()
    for placement in space.placements:
        for (memory, _), rules in zip(placement.kept_tensors, placement.rules, strict=True):
            if rules.force_memory_hierarchy_order is False:
                free.add(memory)
    lower = memories_on_chip(space)
    return tuple(name for name in lower if name in free) if len(lower) > 1 else ()


def _has_legal_backing(
    space: Mapspace, template: Template, exchangeable: frozenset[TensorPlace]
) -> bool:
    """Tell whether every exchanged tensor on chip is backed at one of the places `exchangeable`.

    Raises UnsupportedFeature if a tensor of this Einsum alone is backed below the second memory, or
    persists on chip: its bits would have to be known while other Einsums run.
    """
    outermost = first_two_memories(space.flat)[0].name
    exchanged = {place.tensor for place in exchangeable}
    for holder in template.holders:
        if not holder.backing or holder.component == outermost:
            continue
        if holder.tensor not in exchanged:
            _refuse_unclear_backing(space, holder)
        elif TensorPlace.of(holder) not in exchangeable:
            return False
    return True


def _refuse_unclear_backing(space: Mapspace, holder: Holder) -> None:
    """Raise UnsupportedFeature where an on-chip tensor of this Einsum alone persists, or is deep.

    Deep: backed below the second memory.
    """
    outermost, second = first_two_memories(space.flat)
    persistent = space.einsum.access(holder.tensor).persistent
    if second is not None and holder.component == second.name and not persistent:
        return
    reason = "it persists" if persistent else "no Einsum hands it to another there"
    raise UnsupportedFeature(
        f"{holder.tensor} may be backed in {holder.component}, but {reason}",
        instead=f"{_INSTEAD}, or keep it in {outermost.name}",
    )


def _interleave_orders(
    on_chip: Sequence[Holder], non_backing: Sequence[Holder]
) -> Iterator[Holders]:
    """Yield every order of `on_chip`, interleaved in every way with `non_backing` in its order."""
    for order in permutations(on_chip):
        yield from _interleave(order, tuple(non_backing))


def _interleave(first: Holders, second: Holders) -> Iterator[Holders]:
    if not first or not second:
        yield (*first, *second)
        return
    for lower_holders in _interleave(first[1:], second):
        yield (first[0], *lower_holders)
    for lower_holders in _interleave(first, second[1:]):
        yield (second[0], *lower_holders)


def banned_variables(space: Mapspace, template: FusedTemplate) -> tuple[frozenset[str], ...]:
    """Return, per holder of the region, the variables that no loop right above it may run over.

    The region: the holders below the outermost memory, down to the lowest that backs a tensor on
    chip. Banned are loops that would fetch or send a tensor again against no_refetch_from_above or
    no_resend_to_below of its memory, loops that would fetch a tensor again above a floating holder
    (the tensor's outermost one, where it may stand below loops), and all loops between holders that
    must stand together.
    """
    first, last = template.n_outermost, template.lowest_on_chip
    banned: list[frozenset[str]] = [frozenset() for _ in template.region]
    for run in template.template.adjacent:  # its holders stand together
        for place in range(run.first + 1, last + 1):
            banned[place - first] = frozenset(space.einsum.bounds)
    for index, holder in enumerate(template.template.holders):
        access = space.einsum.access(holder.tensor)
        moving = frozenset(v for v in space.einsum.bounds if access.relevance(v) != "relevant")
        for span in _spans_without_moves(template.template, index):
            for place in range(max(span.start, first), min(span.stop, last + 1)):
                banned[place - first] |= moving
    return tuple(banned)


def _spans_without_moves(template: Template, index: int) -> Iterator[range]:
    """Yield ranges of holders right above which no loop may move the tensor of holder `index`.

    To move: to fetch or to send it again, against its memory's rules.
    """
    holder = template.holders[index]
    rules = template.placement.rules_of(holder.component)
    of_tensor = [i for i, h in enumerate(template.holders) if h.tensor == holder.tensor]
    if holder.floating:
        yield range(index + 1)
    if holder.tensor in rules.no_refetch_from_above:
        yield range(of_tensor[0] + 1, index + 1)
    if holder.tensor in rules.no_resend_to_below:
        next_holder = next((i for i in of_tensor if i > index), len(template.holders))
        yield range(index + 1, next_holder + 1)


def _streaming_variants(space: Mapspace, template: FusedTemplate) -> Iterator[FusedTemplate]:
    """Yield templates in which holders right above the lowest tensor on chip stream through it.

    They reserve the smaller tile that stands below that tensor, with no loop between. Nothing where
    all holders of the region are of one memory: then another order has these holders below the
    tensor.
    """
    last = template.lowest_on_chip
    if not space.problem.conventions.adjacent_holders_shrink or not template.on_chip:
        return
    memory = template.template.holders[last].component
    options = template.template.placement.rules_of(memory).tensor_order_options
    if not options and all(h.component == memory for h in template.region):
        return
    span = HolderSpan(template.n_outermost + template.n_private, last)
    runs = template.template.adjacent
    for run in adjacent_across(space.problem, template.template, span, space.crowded):
        if all(run.last < following.first for following in runs):
            yield replace(template, template=replace(template.template, adjacent=(run, *runs)))


def _admits_whole_tensors(space: Mapspace, template: Template) -> bool:
    """Tell whether the tile_shape rule of the outermost memory allows whole tensors."""
    first = template.holders[0]
    fill = Fill(first.tensor, first.component, backing=True)
    pins = required_tile_shape(space.problem, template, fill)
    return all(holds(comparison, space.einsum.bounds) for comparison in pins)


def tile_shape_places(
    problem: Problem, template: FusedTemplate
) -> list[tuple[int, tuple[Comparison, ...]]]:
    """Return (place in the region, comparisons) for each memory there with a tile_shape rule.

    The region: the holders below the outermost memory, down to the lowest that backs a tensor on
    chip. The place is that of the first holder of the memory; the comparisons are the tile_shape
    constraints of the architecture, on values per rank variable. Empty where the conventions ignore
    tile_shape.
    """
    if not problem.conventions.honours_tile_shape:
        return []
    memories = [holder.component for holder in template.region]
    rules_of = template.template.placement.rules_of
    first = {memory: memories.index(memory) for memory in memories}
    shapes = ((place, rules_of(memory).tile_shape) for memory, place in first.items())
    return [(place, shape) for place, shape in shapes if shape]
