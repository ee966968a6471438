"""The slots of a template: where its loops may stand, outermost slot first.

The gaps are canonical: loops that another gap serves at no higher cost are left out. Loops over
variables relevant to the non-backing holder above can be raised above it, loops over variables
irrelevant to the holder below can be lowered under it (proofs: lattice.md §2; what is
said there about constraints holds here where a rule of the file pins a holder).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import prod

from tilewright.mapper.model.view import Count
from tilewright.mapper.templates.lane_variants import (
    Above,
    early_holders,
    lanes_above,
    remaining_choices,
    swapped_variables,
    working_places,
)
from tilewright.mapper.templates.placement import AdjacentHolders, Holder, Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Fill, Reservation, Slot, TemporalLoops, TollCrossing
from tilewright.mapper.templates.spatial_choices import SpatialLoops
from tilewright.mapper.workload.einsum import TensorAccess


def slot_sequence(problem: Problem, template: Template) -> tuple[Slot, ...]:
    """Lay out the slots of `template`, outermost first; the problem keeps them."""
    slots = problem.slot_sequences.get(template)
    if slots is None:
        slots = problem.slot_sequences[template] = _laid_out(problem, template)
    return slots


def _laid_out(problem: Problem, template: Template) -> tuple[Slot, ...]:
    fans = remaining_choices(template, problem.spatial_loops(template))
    lanes, places = lanes_above(problem, template, fans), working_places(problem, fans)
    bans = _bans(problem, template, fans)
    tolls = sorted(template.tolls, key=lambda t: (problem.level(t.component), t.tensor))
    runs = {i: run for run in template.adjacent for i in range(run.first, run.last + 1)}
    slots: list[Slot] = []
    last = len(problem.components) - 1
    placed = -1
    for index, holder in enumerate((*template.holders, None)):
        level = last if holder is None else problem.level(holder.component)
        run = runs.get(index)
        inside = run is not None and index > run.first
        ready = [
            toll
            for toll in _reachable(problem, template, index, tolls)
            if run is None or not _is_open(template, run, index, toll.tensor)
        ]
        tolls = [toll for toll in tolls if toll not in ready]
        for depth in range(max(placed, level) + 1):
            name = problem.components[depth].name
            here = [fan for fan in fans if fan.component == name and depth > placed]
            slots += [_without_lanes(fan) for fan in here] if inside else here
            slots += [TollCrossing(t.tensor, name) for t in ready if t.component == name]
        placed = max(placed, level)
        if holder is not None:
            slots.append(Fill(holder.tensor, holder.component, holder.backing))
            if run is None:
                slots += _gap(problem, template, index, (bans, lanes))
            elif all(index not in group for group in run.groups):
                slots.append(problem.reservation(holder))
            if run is not None and index == run.last:
                slots += _run(problem, template, run, bans)
    if not problem.conventions.spatial_loops_in_file_order:
        slots = _last_dimension_first(problem, slots)
    return tuple(_with_room(slot, places) for slot in slots)


def _last_dimension_first(problem: Problem, slots: Sequence[Slot]) -> list[Slot]:
    """Turn every run of dimensions behind a network round: AccelForge writes each above those
    before it. Elsewhere the order costs nothing, and alike for all Einsums they can be shared."""
    found: list[Slot] = []
    for _, run in groupby(slots, lambda slot: isinstance(slot, SpatialLoops)):
        together = list(run)
        behind = any(_is_behind_network(problem, slot) for slot in together)
        found += together[::-1] if behind else together
    return found


def _is_behind_network(problem: Problem, slot: Slot) -> bool:
    return isinstance(slot, SpatialLoops) and problem.level(slot.component) >= problem.first_network


def _with_room(slot: Slot, places: Mapping[str, Count]) -> Slot:
    """Share what is reserved in a distributed memory among its places."""
    if isinstance(slot, Reservation) and places.get(slot.component, 1) != 1:
        return replace(slot, places=places[slot.component])
    return slot


def _is_open(template: Template, run: AdjacentHolders, index: int, tensor: str) -> bool:
    """Tell whether a holder of `tensor` above `index` still shrinks below the run."""
    held = [i for i in range(run.first, run.last + 1) if template.holders[i].tensor == tensor]
    return bool(held) and held[-1] < index


def _without_lanes(fan: SpatialLoops) -> SpatialLoops:
    """Holders on both sides of lanes do not stand together."""
    return replace(fan, choices=tuple(c for c in fan.choices if prod(c) == 1))


def _run(
    problem: Problem, template: Template, run: AdjacentHolders, bans: Sequence[frozenset[str]]
) -> Iterator[Slot]:
    """Lay out the loops below a run of holders, with its reservations."""
    allowed = [v for v in problem.einsum.bounds if v not in bans[run.last]]
    members = range(run.first, run.last + 1)
    pinned = any(template.holders[i].backing or _pinned(problem, template, i) for i in members)
    before: tuple[str, ...] = tuple(problem.einsum.bounds)  # nothing streams for the first time
    for number, group in enumerate(run.groups):
        later = [i for rest in run.groups[number + 1 :] for i in rest]
        streams = streaming_variables(problem, template, (*group, *later))
        slides = sliding_variables(problem, template, group, later)
        passing = [v for v in streams if v in allowed and (pinned or v not in before)]
        yield from _loops(passing)
        yield from _loops([v for v in slides if v in allowed], single=True)
        yield from (problem.reservation(template.holders[i]) for i in group)
        before = streaming_variables(problem, template, group)
    yield from _loops(
        [
            v
            for v in allowed
            if (pinned or v not in before) and _useful_above(problem, template, run.last + 1, v)
        ]
    )


def _loops(variables: Sequence[str], single: bool = False) -> Iterator[TemporalLoops]:
    if variables:
        yield TemporalLoops(tuple(variables), single)


def streaming_variables(
    problem: Problem, template: Template, holders: Sequence[int]
) -> tuple[str, ...]:
    """Return the variables over which all of these holders stream."""
    tensors = frozenset(template.holders[i].tensor for i in holders)
    return problem.shared_variables(tensors, "relevant")


def sliding_variables(
    problem: Problem, template: Template, group: Sequence[int], later: Sequence[int]
) -> tuple[str, ...]:
    """Return the variables over which all of `group` slide while those of `later` stream."""
    streams = streaming_variables(problem, template, later)
    slides = problem.shared_variables(
        frozenset(template.holders[i].tensor for i in group), "partial"
    )
    return tuple(v for v in streams if v in slides)


def _reachable(
    problem: Problem, template: Template, index: int, tolls: Sequence[Holder]
) -> list[Holder]:
    """Return the tolls to be passed above holder `index`: outer levels first, per tensor."""
    if index >= len(template.holders):
        return list(tolls)
    level = problem.level(template.holders[index].component)
    waiting = [(h.tensor, problem.level(h.component)) for h in template.holders[index:]]
    return [
        toll
        for toll in tolls
        if (own := problem.level(toll.component)) < level
        and not any(tensor == toll.tensor and other < own for tensor, other in waiting)
    ]


def _gap(
    problem: Problem,
    template: Template,
    index: int,
    limits: tuple[Sequence[frozenset[str]], Sequence[Above]],
) -> list[Slot]:
    """Lay out the loops between holder `index` and the next one, with the reservation.

    `limits`: variables banned from each gap, and the lanes above each holder (see
    lane_variants.py).
    """
    holder, (bans, lanes) = template.holders[index], limits
    below = template.holders[index + 1] if index + 1 < len(template.holders) else None
    above = lanes[index]
    reserve = problem.reservation(holder)
    if above:
        reserve = replace(reserve, lanes=above.lanes, open_dims=above.under)
    if below is not None and below.backing:
        return [reserve]
    access = problem.einsum.access(holder.tensor)
    allowed = [v for v in problem.einsum.bounds if v not in bans[index]]
    pinned = _pinned(problem, template, index)
    slots: list[Slot] = []
    outermost = holder.backing or holder.floating
    if not outermost and not (problem.conventions.loops_sink and above):
        if pinned:
            slots.append(TemporalLoops(_of(access, allowed, "relevant")))
        slots.append(TemporalLoops(_of(access, allowed, "partial"), single=True))
    slots.append(reserve)
    rest = [
        v
        for v in allowed
        if (holder.backing or pinned or access.relevance(v) != "relevant")
        and _useful_above(problem, template, index + 1, v)
    ]
    slots.append(TemporalLoops(tuple(rest)))
    return [slot for slot in slots if not isinstance(slot, TemporalLoops) or slot.variables]


def _of(access: TensorAccess, variables: Sequence[str], relevance: str) -> tuple[str, ...]:
    return tuple(v for v in variables if access.relevance(v) == relevance)


def _useful_above(problem: Problem, template: Template, index: int, variable: str) -> bool:
    """Tell whether a loop directly above holder `index` cannot be lowered under it for free.

    Holders of a run stay together: it would have to go under all of them.
    """
    if index >= len(template.holders):
        return True
    run = next((run for run in template.adjacent if run.first == index), None)
    together = range(index, run.last + 1 if run is not None else index + 1)
    return any(_stays_above(problem, template, i, variable) for i in together)


def _stays_above(problem: Problem, template: Template, index: int, variable: str) -> bool:
    holder = template.holders[index]
    rules = template.placement.rules_of(holder.component)
    if holder.tensor in rules.no_resend_to_below or _held_still(problem, template, index):
        return True
    return problem.einsum.access(holder.tensor).relevance(variable) != "irrelevant"


def _pinned(problem: Problem, template: Template, index: int) -> bool:
    """Tell whether loops cannot be raised above holder `index` for free.

    Beside what holds its tile still, the lanes of a network right above it do: every round of the
    loops above them is a message.
    """
    return _held_still(problem, template, index) or _right_below_network(problem, template, index)


def _right_below_network(problem: Problem, template: Template, index: int) -> bool:
    """Tell whether lanes that a network feeds stand right above holder `index`."""
    above = [problem.level(holder.component) for holder in template.holders[:index]]
    first = max(problem.first_network, max(above, default=-1) + 1)
    own = problem.level(template.holders[index].component)
    return any(component.spatial for component in problem.components[first : own + 1])


def _held_still(problem: Problem, template: Template, index: int) -> bool:
    """Tell whether tile_shape pins the tile at holder `index`, the first one of its memory.

    Or no loop can be moved for free: where lanes stand above holders of outer memories, and where
    the links of a network carry one round only, so that larger tiles take longer.
    """
    one_round = problem.has_networks and not problem.conventions.links_carry_all_rounds
    if one_round or _out_of_order(problem, template):
        return True
    holder = template.holders[index]
    first = next(h for h in template.holders if h.component == holder.component)
    shapes = template.placement.rules_of(holder.component).tile_shape
    return problem.conventions.honours_tile_shape and bool(shapes) and first is holder


def _out_of_order(problem: Problem, template: Template) -> bool:
    """Tell whether lanes of a dimension that the template fixes stand above an outer memory."""
    return any(
        any(prod(choice) > 1 for choice in dealt.choices)
        and early_holders(problem, template, problem.level(dealt.component))
        for dealt in template.lane_restrictions
    )


def _bans(
    problem: Problem, template: Template, fans: Sequence[SpatialLoops]
) -> list[frozenset[str]]:
    """Return, per gap, the variables that may not be looped over there.

    no_refetch_from_above and no_resend_to_below forbid them, a floating holder below, or lanes
    above a holder that sees both the other way round.
    """
    banned = swapped_variables(problem, template, fans)
    for index, holder in enumerate(template.holders):
        rules = template.placement.rules_of(holder.component)
        gaps: list[int] = []
        if holder.floating:
            gaps += range(index)
        if holder.tensor in rules.no_refetch_from_above:
            gaps += range(_holders_of(template, holder.tensor)[0], index)
        if holder.tensor in rules.no_resend_to_below:
            same = _holders_of(template, holder.tensor)
            gaps += range(index, next((i for i in same if i > index), len(template.holders)))
        if gaps:
            access = problem.einsum.access(holder.tensor)
            loose = {v for v in problem.einsum.bounds if access.relevance(v) != "relevant"}
            for gap in gaps:
                banned[gap] |= loose
    return [frozenset(names) for names in banned]


def _holders_of(template: Template, tensor: str) -> list[int]:
    return [i for i, holder in enumerate(template.holders) if holder.tensor == tensor]
