"""The slots of a template: where its loops may stand, outermost slot first.

The gaps are canonical: loops that another gap serves at no higher cost are left out. Loops over
variables relevant to the non-backing holder above can be raised above it, loops over variables
irrelevant to the holder below can be lowered under it (proofs: lattice.md §2; what is
said there about constraints holds here where a rule of the file pins a holder). For two holders of
A(m, k), in a memory and in a buffer below it, the slots are

    Fill(A, memory)  Reservation(A, memory)  TemporalLoops(m, k)  Fill(A, buffer)
    Reservation(A, buffer)  TemporalLoops(the variables irrelevant to A)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import prod

from tilewright.mapper.templates.lane_variants import (
    early_holders,
    lanes_seen_below,
    remaining_choices,
    swapped_variables,
    working_places,
)
from tilewright.mapper.templates.placement import AdjacentHolders, Holder, Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Fill, Reservation, Slot, TemporalLoops, TollCrossing
from tilewright.mapper.templates.spatial_choices import SpatialLoops
from tilewright.mapper.templates.spatial_loop_order import ordered_dimensions
from tilewright.mapper.workload.einsum import TensorAccess

_Bans = Sequence[frozenset[str]]  # per gap below a holder: variables without a temporal loop there


def slot_sequence(problem: Problem, template: Template) -> tuple[Slot, ...]:
    """Return the slots of a template, outermost first: where fills, loops and reservations stand.

    A slot is a fill (Storage node), a set of variables over which temporal loops may stand, the
    spatial loops of one dimension, a reservation (the tile that needs capacity) or a Toll
    crossing. Loops that another slot serves at no higher cost are left out (theory/lattice.md §2).
    The problem caches the result.
    """
    slots = problem.slot_sequences.get(template)
    if slots is None:
        slots = problem.slot_sequences[template] = _SlotLayout(problem, template).slots()
    return slots


class _SlotLayout:
    """Lays out the slots of one template from the outermost holder to the Compute."""

    def __init__(self, problem: Problem, template: Template) -> None:
        self._problem = problem
        self._template = template
        self._dims = remaining_choices(template, problem.spatial_loops(template))
        self._seen_below = lanes_seen_below(problem, template, self._dims)
        self._bans = _temporal_bans(problem, template, self._dims)
        self._adjacent = {i: group for group in template.adjacent for i in group.members}
        self._tolls = sorted(
            template.tolls, key=lambda t: (problem.level(t.component), t.tensor)
        )  # still to be crossed
        self._depth = -1  # spatial loops down to this level are laid out

    def slots(self) -> tuple[Slot, ...]:
        """Return the slots; reservations have the number of instances that share the tile."""
        slots: list[Slot] = []
        for index, holder in enumerate(self._template.holders):
            self._descend(slots, index, self._problem.level(holder.component))
            slots.append(Fill(holder.tensor, holder.component, holder.backing))
            slots += self._below_fill(index, holder)
        self._descend(slots, len(self._template.holders), len(self._problem.components) - 1)
        slots = ordered_dimensions(self._problem, slots)
        places = working_places(self._problem, self._dims)
        return tuple(
            replace(slot, places=places[slot.component])
            if isinstance(slot, Reservation) and places.get(slot.component, 1) != 1
            else slot
            for slot in slots
        )

    def _descend(self, slots: list[Slot], index: int, level: int) -> None:
        """Add to `slots` the spatial loops and Tolls that stand right above holder `index`.

        `level`: of the holder's component; loops down to it are added.
        """
        crossed = self._crossed_above(index)
        self._tolls = [toll for toll in self._tolls if toll not in crossed]
        adjacent = self._adjacent.get(index)
        is_inside = adjacent is not None and index > adjacent.first
        for depth in range(max(self._depth, level) + 1):
            name = self._problem.components[depth].name
            if depth > self._depth:
                dims = [loops for loops in self._dims if loops.component == name]
                slots += [_single_lane(loops) for loops in dims] if is_inside else dims
            slots += [TollCrossing(t.tensor, name) for t in crossed if t.component == name]
        self._depth = max(self._depth, level)

    def _crossed_above(self, index: int) -> list[Holder]:
        """Return the (tensor, Toll) crossings that stand right above holder `index`."""
        adjacent = self._adjacent.get(index)
        return [
            toll
            for toll in _reachable_tolls(self._problem, self._template, index, self._tolls)
            if adjacent is None or not _shrinks_below(self._template, adjacent, index, toll.tensor)
        ]

    def _below_fill(self, index: int, holder: Holder) -> Iterator[Slot]:
        """Yield the slots between the fill of holder `index` and the next holder."""
        adjacent = self._adjacent.get(index)
        if adjacent is None:
            yield from self._gap(index, holder)
            return
        if all(index not in group for group in adjacent.groups):
            yield self._problem.reservation(holder)
        if index == adjacent.last:
            yield from _adjacent_gap(
                self._problem, self._template, adjacent, self._bans[adjacent.last]
            )

    def _gap(self, index: int, holder: Holder) -> Iterator[Slot]:
        """Yield the temporal loops and the reservation between holder `index` and the next one."""
        problem, template = self._problem, self._template
        reservation = self._reservation(index, holder)
        next_holder = template.holders[index + 1 : index + 2]
        if next_holder and next_holder[0].backing:
            yield reservation
            return
        access = problem.einsum.access(holder.tensor)
        allowed = [v for v in problem.einsum.bounds if v not in self._bans[index]]
        pinned = _is_pinned(problem, template, index)
        relevant = _with_relevance(access, allowed, "relevant")
        if self._may_have_loops_above(index, holder):
            if pinned:
                yield from _loops(relevant)
            yield from _loops(_with_relevance(access, allowed, "partial"), single=True)
        yield reservation
        variables_below = allowed if holder.backing or pinned else _without(allowed, relevant)
        yield from _useful_loops(problem, template, index + 1, variables_below)

    def _may_have_loops_above(self, index: int, holder: Holder) -> bool:
        """Tell whether loops may stand between the fill and the reservation of holder `index`."""
        if holder.backing or holder.floating:
            return False
        return not (self._problem.conventions.loops_sink and self._seen_below[index])

    def _reservation(self, index: int, holder: Holder) -> Reservation:
        """Return the reservation of holder `index`, with lanes above that multiply its tile."""
        reservation = self._problem.reservation(holder)
        seen_below = self._seen_below[index]
        if not seen_below:
            return reservation
        return replace(reservation, lanes=seen_below.lanes, open_dims=seen_below.open_dims)


def _shrinks_below(template: Template, adjacent: AdjacentHolders, index: int, tensor: str) -> bool:
    """Tell whether a tensor's last holder among adjacent ones is above `index`.

    Its tile then shrinks below the last of them, and a Toll of the tensor stands there.
    """
    holding = [i for i in adjacent.members if template.holders[i].tensor == tensor]
    return bool(holding) and holding[-1] < index


def _single_lane(loops: SpatialLoops) -> SpatialLoops:
    """Return a dimension with only its choices of one lane.

    Between adjacent holders there can be no spatial loop.
    """
    return replace(loops, choices=tuple(c for c in loops.choices if prod(c) == 1))


def _adjacent_gap(
    problem: Problem, template: Template, adjacent: AdjacentHolders, banned: frozenset[str]
) -> Iterator[Slot]:
    """Yield the loops and reservations below the last of some adjacent holders.

    `banned`: variables that may have no loop there.
    """
    allowed = [v for v in problem.einsum.bounds if v not in banned]
    pinned = any(
        template.holders[i].backing or _is_pinned(problem, template, i) for i in adjacent.members
    )
    streamed = tuple(problem.einsum.bounds)  # no loop above the first group
    for number, group in enumerate(adjacent.groups):
        later = list(chain.from_iterable(adjacent.groups[number + 1 :]))
        streams = streaming_variables(problem, template, (*group, *later))
        slides = sliding_variables(problem, template, group, later)
        yield from _loops(_among(streams, allowed if pinned else _without(allowed, streamed)))
        yield from _loops(_among(slides, allowed), single=True)
        yield from (problem.reservation(template.holders[i]) for i in group)
        streamed = streaming_variables(problem, template, group)
    free = allowed if pinned else _without(allowed, streamed)
    yield from _useful_loops(problem, template, adjacent.last + 1, free)


def _without(variables: Iterable[str], excluded: Sequence[str]) -> list[str]:
    return [v for v in variables if v not in excluded]


def _among(variables: Iterable[str], allowed: Sequence[str]) -> list[str]:
    return [v for v in variables if v in allowed]


def _useful_loops(
    problem: Problem, template: Template, index: int, variables: Sequence[str]
) -> Iterator[TemporalLoops]:
    """Yield the slot of temporal loops right above holder `index`, unless it would be empty.

    `variables`: those that may loop there. Loops that cost no more below the holder are left out.
    """
    yield from _loops([v for v in variables if _useful_above(problem, template, index, v)])


def _loops(variables: Sequence[str], single: bool = False) -> Iterator[TemporalLoops]:
    """Yield the slot of temporal loops over some variables; none for no variables.

    `single`: over at most one of them.
    """
    if variables:
        yield TemporalLoops(tuple(variables), single)


def streaming_variables(
    problem: Problem, template: Template, holders: Sequence[int]
) -> tuple[str, ...]:
    """Return the rank variables relevant to the tensors of all given holders.

    Loops over these right below the holders shrink all their tiles (they stream). `holders`:
    numbers of holders of the template, 0 for the outermost. A template is a mapping without its
    loops.
    """
    tensors = frozenset(template.holders[i].tensor for i in holders)
    return problem.shared_variables(tensors, "relevant")


def sliding_variables(
    problem: Problem, template: Template, group: Sequence[int], later: Sequence[int]
) -> tuple[str, ...]:
    """Return the variables over which the tiles of `group` slide while those of `later` shrink.

    A tile slides if the variable moves a window that overlaps its previous place (relevance
    "partial"). `group`, `later`: numbers of holders; for `later` the variables must be relevant.
    """
    streams = streaming_variables(problem, template, later)
    tensors = frozenset(template.holders[i].tensor for i in group)
    slides = problem.shared_variables(tensors, "partial")
    return tuple(v for v in streams if v in slides)


def _reachable_tolls(
    problem: Problem, template: Template, index: int, tolls: Sequence[Holder]
) -> list[Holder]:
    """Return those of `tolls` that can be crossed right above holder `index`.

    Their components are further out than the holder's, and no holder of the tensor further out than
    the Toll follows.
    """
    if index >= len(template.holders):
        return list(tolls)
    level = problem.level(template.holders[index].component)
    waiting = [(h.tensor, problem.level(h.component)) for h in template.holders[index:]]
    reachable = []
    for toll in tolls:
        toll_level = problem.level(toll.component)
        if toll_level < level and not any(
            tensor == toll.tensor and depth < toll_level for tensor, depth in waiting
        ):
            reachable.append(toll)
    return reachable


def _with_relevance(
    access: TensorAccess, variables: Sequence[str], relevance: str
) -> tuple[str, ...]:
    return tuple(v for v in variables if access.relevance(v) == relevance)


def _useful_above(problem: Problem, template: Template, index: int, variable: str) -> bool:
    """Tell whether a loop over `variable` right above holder `index` may cost less than below it.

    Adjacent holders stay together: the loop would have to go below all of them.
    """
    if index >= len(template.holders):
        return True
    together = (group.members for group in template.adjacent if group.first == index)
    members = next(together, range(index, index + 1))
    return any(_stays_above(problem, template, i, variable) for i in members)


def _stays_above(problem: Problem, template: Template, index: int, variable: str) -> bool:
    holder = template.holders[index]
    rules = template.placement.rules_of(holder.component)
    if holder.tensor in rules.no_resend_to_below or _keeps_loops(problem, template, index):
        return True
    return problem.einsum.access(holder.tensor).relevance(variable) != "irrelevant"


def _is_pinned(problem: Problem, template: Template, index: int) -> bool:
    """Tell whether moving a loop from below holder `index` to above it may cost something.

    So where no loop moves for free (_keeps_loops), and where a network feeds spatial loops right
    above the holder: every round of the loops above these is a message.
    """
    return _keeps_loops(problem, template, index) or _right_below_network(problem, template, index)


def _right_below_network(problem: Problem, template: Template, index: int) -> bool:
    """Tell whether spatial loops that a network feeds stand right above holder `index`."""
    levels_above = [problem.level(holder.component) for holder in template.holders[:index]]
    first = max(problem.first_network, max(levels_above, default=-1) + 1)
    level = problem.level(template.holders[index].component)
    return any(component.spatial for component in problem.components[first : level + 1])


def _keeps_loops(problem: Problem, template: Template, index: int) -> bool:
    """Tell whether no loop can be moved past holder `index` without a change of cost or legality.

    tile_shape pins the tile of the first holder of a memory. No loop moves for free where spatial
    loops stand above holders of outer memories, or where the links of a network carry one round
    only, so that larger tiles take longer.
    """
    one_round = problem.has_networks and not problem.conventions.links_carry_all_rounds
    if one_round or _out_of_order(problem, template):
        return True
    holder = template.holders[index]
    first = next(h for h in template.holders if h.component == holder.component)
    shapes = template.placement.rules_of(holder.component).tile_shape
    return problem.conventions.honours_tile_shape and bool(shapes) and first is holder


def _out_of_order(problem: Problem, template: Template) -> bool:
    """Tell whether the template fixes lanes of a dimension above a holder of an outer memory."""
    return any(
        any(prod(choice) > 1 for choice in restriction.choices)
        and early_holders(problem, template, problem.level(restriction.component))
        for restriction in template.lane_restrictions
    )


def _temporal_bans(
    problem: Problem, template: Template, dims: Sequence[SpatialLoops]
) -> list[frozenset[str]]:
    """Return, per gap, the variables that may have no temporal loop there.

    no_refetch_from_above and no_resend_to_below forbid them, a floating holder below, or spatial
    loops above a holder that sees both the other way round.
    """
    banned = swapped_variables(problem, template, dims)
    for index, holder in enumerate(template.holders):
        gaps = _gaps_without_reuse(template, index)
        if gaps:
            access = problem.einsum.access(holder.tensor)
            reused = {v for v in problem.einsum.bounds if access.relevance(v) != "relevant"}
            for gap in gaps:
                banned[gap] |= reused
    return [frozenset(names) for names in banned]


def _gaps_without_reuse(template: Template, index: int) -> list[int]:
    """Return the gaps in which loops must be relevant to the tensor of holder `index`.

    A gap has the number of the holder above it.
    """
    holder = template.holders[index]
    rules = template.placement.rules_of(holder.component)
    gaps: list[int] = []
    if holder.floating:
        gaps += range(index)
    if holder.tensor in rules.no_refetch_from_above:
        gaps += range(_holders_of(template, holder.tensor)[0], index)
    if holder.tensor in rules.no_resend_to_below:
        holding = _holders_of(template, holder.tensor)
        gaps += range(index, next((i for i in holding if i > index), len(template.holders)))
    return gaps


def _holders_of(template: Template, tensor: str) -> list[int]:
    return [i for i, holder in enumerate(template.holders) if holder.tensor == tensor]
