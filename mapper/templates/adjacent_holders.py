"""Group adjacent holders, whose tiles shrink whatever their order, also past a deeper memory.

By default the order of holders with no loop between them says nothing about time
(docs/conventions.md §4): each keeps the tile that the loops below all of them leave, up to the
first loop that makes it stay. A plain template has the holders of one memory in every order, and
the loops of a holder right above it, so most of these mappings are there already. Two cases are
left: a holder streams past one of a deeper memory, which the hierarchy lists below it; or several
windows slide over one loop. Each such group of adjacent holders makes a template of its own: the
tiles are filled above the loops of the group and reserved below them, in a stated order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from math import inf, prod
from typing import NamedTuple

from tilewright.mapper.templates.placement import AdjacentHolders, Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slot_sequence import sliding_variables, streaming_variables

_Group = tuple[int, ...]  # numbers of holders whose tiles are reserved in one place


def with_adjacent_holders(
    problem: Problem, template: Template, crowded: frozenset[str] = frozenset()
) -> Iterator[Template]:
    """Yield `template`, then its variants with one or more groups of adjacent holders.

    A template fixes which memory holds which tensor and the order of these holders, but no loops.
    Adjacent holders have no loop between them; their tiles all shrink with the loops below the
    last of them. Groups of one variant do not overlap. `crowded`: names of memories whose capacity
    may be short even if everything kept there fits (other Einsums leave tensors there). There are
    variants only if some memory is crowded or cannot hold all its tensors whole.
    """
    yield template
    options = list(_adjacent(problem, template, crowded | overflowing(problem, template)))
    for number in range(1, len(options) + 1):
        for chosen in combinations(options, number):
            spans = sorted((adjacent.first, adjacent.last) for adjacent in chosen)
            if all(upper[1] < lower[0] for upper, lower in pairwise(spans)):
                ordered = tuple(sorted(chosen, key=lambda adjacent: adjacent.first))
                yield replace(template, adjacent=ordered)


def _adjacent(
    problem: Problem, template: Template, full: frozenset[str]
) -> Iterator[AdjacentHolders]:
    """Yield the groups of adjacent holders that allow mappings which no plain template has.

    `full`: memories whose capacity may be short; without any, nothing is gained.
    """
    backing_count = sum(holder.backing for holder in template.holders)
    if not full:
        return
    count = len(template.holders)
    for first in range(backing_count, count):
        for last in range(first + 1, count):
            if template.holders[last].backing or not _may_be_adjacent(
                problem, template, first, last
            ):
                break
            yield from _ReservationOrders(problem, template, range(first, last + 1), full).runs()


class HolderSpan(NamedTuple):
    """Numbers of holders of a template, counted from 0 at the outermost one.

    `first`: the outermost holder that a group of adjacent holders (no loop between them) may begin
    with; `backed`: the holder that the group must reach, below `first`, because a fused mapping
    holds its tensor on chip from there. A template is a mapping without its loops.
    """

    first: int
    backed: int


def adjacent_across(
    problem: Problem, template: Template, span: HolderSpan, crowded: frozenset[str]
) -> Iterator[AdjacentHolders]:
    """Yield the groups of adjacent holders that begin above holder `span.backed` and reach it.

    Adjacent holders have no loop between them. Each group begins at a holder numbered from
    `span.first` to `span.backed` - 1 and ends at holder `span.backed` or a deeper one; one result
    per order in which its tiles may be reserved. Backing holders (the outermost one of a tensor,
    above all loops) keep whole tiles. `crowded`: names of memories whose capacity may be short
    although all tensors kept there fit.
    """
    full = crowded | overflowing(problem, template)
    for first in range(span.first, span.backed):
        for last in range(span.backed, len(template.holders)):
            if not _may_be_adjacent(problem, template, first, last):
                break
            yield from _ReservationOrders(problem, template, range(first, last + 1), full).runs()


def overflowing(problem: Problem, template: Template) -> frozenset[str]:
    """Return the names of the memories too small for all tensors that a template keeps there.

    Whole tensors in bits are added up per memory and compared with the size of one instance in
    bits. Tolls, which only pass values, have no size and never overflow. A template is a mapping
    without its loops.
    """
    bits: dict[str, float] = {}
    for holder in template.holders:
        size = problem.einsum.access(holder.tensor).tile_size(problem.einsum.bounds)
        needed = size * problem.value_bits(problem.reservation(holder))
        bits[holder.component] = bits.get(holder.component, 0.0) + needed
    sizes = {name: getattr(problem.holder(name), "size", inf) for name in bits}
    return frozenset(name for name, needed in bits.items() if sizes[name] < needed)


def _may_be_adjacent(problem: Problem, template: Template, first: int, last: int) -> bool:
    """Tell whether every fanout between holders `first` and `last` may use a single lane.

    Only then can there be no loop between them.
    """
    outer = problem.level(template.holders[first].component)
    inner = problem.level(template.holders[last].component)
    return all(
        any(prod(choice) == 1 for choice in loops.choices)
        for loops in problem.spatial_loops(template)
        if outer < problem.level(loops.component) <= inner
    )


class _ReservationOrders:
    """Enumerates the orders in which the tiles of some adjacent holders are reserved.

    `members`: the numbers of the holders; `full`: memories whose capacity may be short.
    """

    def __init__(
        self, problem: Problem, template: Template, members: range, full: frozenset[str]
    ) -> None:
        self._problem = problem
        self._template = template
        self._members = members
        self._full = full
        tensors = [template.holders[i].tensor for i in members]
        self._shrinking = tuple(
            i
            for position, i in enumerate(members)
            if tensors[position] not in tensors[position + 1 :] and not template.holders[i].backing
        )  # a holder right above another holder of its tensor keeps its whole tile

    def runs(self) -> Iterator[AdjacentHolders]:
        """Yield one AdjacentHolders per order; none if the first holder's tile cannot shrink."""
        first, last = self._members[0], self._members[-1]
        if first not in self._shrinking:
            return
        for groups in self._extend((), self._shrinking):
            yield AdjacentHolders(first, last, groups)

    def _extend(
        self, reserved: tuple[_Group, ...], waiting: tuple[int, ...]
    ) -> Iterator[tuple[_Group, ...]]:
        """Yield the lists of groups in the order of their reservations that begin with `reserved`.

        `waiting`: holders still to be put into groups.
        """
        if not waiting:
            yield reserved
            return
        for size in range(1, len(waiting) + 1):
            for group in combinations(waiting, size):
                later = tuple(i for i in waiting if i not in group)
                if self._splits(later):
                    continue
                if self._saves_capacity(reserved, group) and self._is_new(reserved, group, later):
                    yield from self._extend((*reserved, group), later)

    def _is_new(self, reserved: tuple[_Group, ...], group: _Group, later: tuple[int, ...]) -> bool:
        """Tell whether reserving `group` after `reserved` gives mappings that no other order gives.

        `later`: holders to be reserved after it.
        """
        slides = sliding_variables(self._problem, self._template, group, later)
        if len(group) > 1 and not slides:
            return False
        if not reserved:
            return True
        if self._reorders_a_memory(reserved, group):
            return False
        streams = streaming_variables(self._problem, self._template, (*group, *later))
        last = reserved[-1]
        if any(not self._all_stream(v, last) for v in (*streams, *slides)):
            return True
        return not slides and min(group) > max(last)  # in the same place: in one order only

    def _reorders_a_memory(self, reserved: tuple[_Group, ...], group: _Group) -> bool:
        """Tell whether two holders of one memory are reserved in the reverse of their order.

        Another template has them in that order.
        """
        return any(
            self._may_swap(upper, lower)
            for upper in group
            for earlier in reserved
            for lower in earlier
            if lower > upper
        )

    def _may_swap(self, upper: int, lower: int) -> bool:
        component = self._template.holders[upper].component
        if component != self._template.holders[lower].component:
            return False
        return not self._template.placement.rules_of(component).tensor_order_options

    def _all_stream(self, variable: str, group: Sequence[int]) -> bool:
        return variable in streaming_variables(self._problem, self._template, group)

    def _splits(self, later: tuple[int, ...]) -> bool:
        """Tell whether just the upper holders are reserved so far.

        The others then are adjacent holders on their own, which are enumerated elsewhere. `later`:
        the others.
        """
        if not later:
            return False
        reserved = [i for i in self._members if i not in later]
        first = self._members[0]
        return reserved == list(range(first, first + len(reserved)))

    def _saves_capacity(self, reserved: tuple[_Group, ...], group: _Group) -> bool:
        """Tell whether each holder reserved after a deeper one is in a memory that may be full.

        Elsewhere the smaller tile is of no use.
        """
        holders = self._template.holders
        in_full = [i for i in group if holders[i].component in self._full]
        if len(group) > 1 and not in_full:
            return False
        deepest = max((i for earlier in reserved for i in earlier), default=-1)
        return all(i > deepest or i in in_full for i in group)
