"""Which rules of the architecture a mapping breaks, one sentence each.

The rules say what the search looks at (docs/files.md); a mapping that breaks one still has a score.
They are checked on the tree of the mapping, for each Einsum on its own path of components.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import prod

from tilewright.arch.components.components import (
    Kept,
    PlacementRules,
    SpatialDim,
    TensorHolder,
    Toll,
)
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.model.conventions import Conventions
from tilewright.mapper.templates.spatial_choices import bounds_in_effect, holds, usage
from tilewright.mapper.verification.component_paths import component_path
from tilewright.mapper.verification.einsum_schedule import (
    EinsumSchedule,
    ScheduledHolder,
    ScheduledLoop,
    extents_below,
    schedules_of,
    turns_of_loops,
)
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.workload import Workload

_ROUNDING = 1e-9


def broken_rules(
    arch: Arch, workload: Workload, mapping: Mapping, conventions: Conventions
) -> tuple[str, ...]:
    """Return a sentence for each rule of the architecture that a mapping breaks.

    The rules are keep, may_keep, back, no_refetch_from_above, no_resend_to_below,
    tensor_order_options, force_memory_hierarchy_order, tile_shape, reuse, loop_bounds and
    min_usage, as `conventions` read them. Empty if the mapping breaks none.
    """
    sentences: dict[str, None] = {}
    for schedule in schedules_of(mapping):
        einsum = conventions.einsum(workload.einsum(schedule.einsum))
        flat = component_path(arch, workload, schedule, conventions.switch)
        if isinstance(flat, FlatArch):
            rules = _EinsumRules(schedule, einsum, flat, conventions)
            sentences |= dict.fromkeys(rules.broken())
    return tuple(sentences)


def placement_broken(
    einsum: Einsum, flat: FlatArch, mapping: Mapping, conventions: Conventions
) -> Iterator[str]:
    """Yield what `broken_rules` says of a mapping of one Einsum, but for rules of lanes.

    `flat`: the Einsum's path of components.
    """
    (schedule,) = schedules_of(mapping)
    yield from _EinsumRules(schedule, einsum, flat, conventions).placement()


@dataclass(frozen=True, slots=True)
class _LoopAbove:
    """A loop above a holder; `turns`: its number of iterations."""

    loop: ScheduledLoop
    turns: int


class _EinsumRules:
    """Checks the rules of one path of components against what one Einsum does there."""

    def __init__(
        self, schedule: EinsumSchedule, einsum: Einsum, flat: FlatArch, conventions: Conventions
    ) -> None:
        self._einsum, self._flat, self._conventions = einsum, flat, conventions
        self._level = {c.name: level for level, c in enumerate(flat.components)}
        self._holders = [h for h in schedule.holders if h.tensor in einsum.tensors]
        turns = turns_of_loops(schedule, einsum.bounds)
        self._loops = [_LoopAbove(*pair) for pair in zip(schedule.loops, turns, strict=True)]
        self._rules: dict[str, PlacementRules] = {}
        above: dict[str, frozenset[str]] = {}
        for component in flat.components:
            if isinstance(component, TensorHolder):
                self._rules[component.name] = component.tensors.resolve(above)
                above[component.name] = self._tensors_in(component.name)
        self._kept: Kept = above

    def broken(self) -> Iterator[str]:
        """Yield a sentence per broken rule, outermost component first."""
        for component in self._flat.components:
            if isinstance(component, TensorHolder):
                yield from self._holder(component)
            yield from self._lanes(component.name)
        yield from self._hierarchy()

    def placement(self) -> Iterator[str]:
        """Yield a sentence per broken rule of a holder, outermost holder first."""
        for component in self._flat.components:
            if isinstance(component, TensorHolder):
                yield from self._holder(component)
        yield from self._hierarchy()

    def _holder(self, component: TensorHolder) -> Iterator[str]:
        yield from self._placement(component)
        yield from self._orders(component.name)
        yield from self._tile_shape(component.name)
        for tensor in sorted(self._kept[component.name]):
            yield from self._moved_again(component.name, tensor)

    def _tensors_in(self, component: str) -> frozenset[str]:
        return frozenset(h.tensor for h in self._holders if h.component == component)

    def _says(self, rule: str, component: str, text: str) -> str:
        return f"the mapping breaks {rule} of {component}: {text} (Einsum {self._einsum.name})"

    # ---- placement

    def _placement(self, component: TensorHolder) -> Iterator[str]:
        name, rules = component.name, self._rules[component.name]
        here = self._kept[name]
        outside = frozenset().union(
            *(self._kept[c] for c in self._kept if self._level[c] < self._level[name])
        )
        for tensor in sorted((rules.keep | rules.back) & self._needed(component, outside) - here):
            rule = "keep" if tensor in rules.keep else "back"
            yield self._says(rule, name, f"{tensor} is not held there")
        for tensor in sorted(here - rules.keep - rules.back - rules.may_keep):
            yield self._says("may_keep", name, f"{tensor} is held there")
        for tensor in sorted(rules.back & here & outside):
            yield self._says("back", name, f"{tensor} is held above it, too")

    def _needed(self, component: TensorHolder, outside: frozenset[str]) -> frozenset[str]:
        """Return the tensors to which a component's `keep` and `back` apply.

        Of a Toll those held further out (`outside`); of a copy Einsum none where conventions end it
        at the deepest outermost holder.
        """
        if self._einsum.is_copy and not self._conventions.copies_hold_below_backing:
            return frozenset()  # a copy ends at the memory that backs its last tensor
        tensors = frozenset(self._einsum.tensors)
        return tensors & outside if isinstance(component, Toll) else tensors

    def _inner_holders(self, component: str) -> list[ScheduledHolder]:
        """Return the holders of a component that are not the outermost of their tensor."""
        outermost = {h.tensor: h for h in reversed(self._holders)}
        inner = (h for h in self._holders if h is not outermost[h.tensor])
        return [h for h in inner if h.component == component]

    def _orders(self, component: str) -> Iterator[str]:
        options = self._rules[component].tensor_order_options
        order = [h.tensor for h in self._inner_holders(component)]
        if options and order and not any(_agrees(order, option) for option in options):
            text = f"no option has {', '.join(order)} in this order"
            yield self._says("tensor_order_options", component, text)

    def _hierarchy(self) -> Iterator[str]:
        """Yield a sentence for holders with a loop between them against the order of memories."""
        for upper, lower in combinations(self._holders, 2):
            components = (upper.component, lower.component)
            if upper.is_toll or lower.is_toll or upper.loops_above == lower.loops_above:
                continue
            is_free = any(
                self._rules[name].force_memory_hierarchy_order is False for name in components
            )
            if self._level[upper.component] > self._level[lower.component] and not is_free:
                yield self._says(
                    "force_memory_hierarchy_order",
                    lower.component,
                    f"{lower.tensor} is held there below {upper.tensor} in {upper.component}",
                )

    def _tile_shape(self, component: str) -> Iterator[str]:
        first = next((h for h in self._holders if h.component == component), None)
        if first is None or not self._conventions.honours_tile_shape:
            return
        loops = (above.loop for above in self._loops[: first.loops_above])
        extents = extents_below(loops, self._einsum.bounds)
        for bound in self._rules[component].tile_shape:
            if not holds(bound, extents):
                named = {v: e for v, e in extents.items() if v in bound.rank_variables}
                text = f"{_listed(named)} against {bound.operator} {bound.value}"
                yield self._says("tile_shape", component, text)

    # ---- loops

    def _moved_again(self, component: str, tensor: str) -> Iterator[str]:
        rules = self._rules[component]
        places = [h for h in self._holders if h.tensor == tensor and not h.is_toll]
        number = next((n for n, h in enumerate(places) if h.component == component), None)
        if number is None:
            return
        starts = [*(h.loops_above for h in places), len(self._loops)]
        fetching = self._loops[starts[0] : starts[number]]
        sending = self._loops[starts[number] : starts[number + 1]]
        if tensor in rules.no_refetch_from_above and number > 0:
            yield from self._repeating("no_refetch_from_above", component, tensor, fetching)
        if tensor in rules.no_resend_to_below:
            in_time = [above for above in sending if not above.loop.is_spatial]
            yield from self._repeating("no_resend_to_below", component, tensor, in_time)

    def _repeating(
        self, rule: str, component: str, tensor: str, loops: list[_LoopAbove]
    ) -> Iterator[str]:
        """Yield a sentence for the first of these loops that moves a tensor against `rule`."""
        access = self._einsum.access(tensor)
        for above in loops:
            loop = above.loop
            if loop.is_spatial and not (
                self._conventions.no_refetch_covers_spatial
                and self._level[loop.component] <= self._level[component]
            ):
                continue
            if above.turns > 1 and access.relevance(loop.variable) != "relevant":
                yield self._says(
                    rule, component, f"a loop over {loop.variable} moves {tensor} again"
                )
                return

    def _lanes(self, component: str) -> Iterator[str]:
        for dim in self._flat.component(component).spatial:
            label = f"{component}.{dim.name}"
            lanes = self._lanes_of(component, dim.name)
            yield from self._shared_parts(label, dim, lanes)
            for bound in bounds_in_effect(dim, self._einsum, self._conventions):
                if not holds(bound, lanes):
                    named = {v: n for v, n in lanes.items() if v in bound.rank_variables}
                    text = f"lanes over {_listed(named)} against {bound.operator} {bound.value}"
                    yield self._says("loop_bounds", label, text)
            share = usage(dim, prod(lanes.values()))
            if share < dim.min_usage - _ROUNDING and not self._einsum.is_copy:
                text = f"{100 * share:.4g} % in use, less than {100 * dim.min_usage:.4g} %"
                yield self._says("min_usage", label, text)

    def _lanes_of(self, component: str, dim: str) -> dict[str, int]:
        """Return how many lanes of one dimension each rank variable takes."""
        lanes = dict.fromkeys(self._einsum.bounds, 1)
        for above in self._loops:
            loop = above.loop
            if (loop.component, loop.dim) == (component, dim) and loop.variable in lanes:
                lanes[loop.variable] *= above.turns
        return lanes

    def _shared_parts(self, label: str, dim: SpatialDim, lanes: dict[str, int]) -> Iterator[str]:
        divided = {variable for variable, number in lanes.items() if number > 1}
        for tensor in sorted(set(self._einsum.tensors) & dim.reuse):
            for variable in sorted(divided & self._einsum.access(tensor).rank_variables):
                text = f"a loop over {variable} gives the lanes different parts of {tensor}"
                yield self._says("reuse", label, text)


def _agrees(order: list[str], option: tuple[frozenset[str], ...]) -> bool:
    """Tell whether tensors stand in the order of the sets of an option; others stand anywhere."""
    places = [next((i for i, group in enumerate(option) if t in group), None) for t in order]
    listed = [place for place in places if place is not None]
    return listed == sorted(listed)


def _listed(values: dict[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items()) or "no variable"
