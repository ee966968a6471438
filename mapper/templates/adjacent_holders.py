"""Holders that stand together: their tiles shrink in any order, also past a deeper memory.

By default holders with no loop between them form a run whose order says nothing about time
(docs/conventions.md §4): each keeps what the loops below the run leave, up to the first loop that
makes it stay. In a plain template the holders of one memory come in every order, and a holder's
loops stand right above it, so most of these mappings are there already. Left over are runs in
which a holder streams past one of a deeper memory, which the hierarchy lists below it, and runs in
which several windows slide over one loop. Each becomes a template of its own: the tiles are filled
above the loops of the run and reserved group by group below them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from math import inf, prod

from tilewright.mapper.templates.placement import AdjacentHolders, Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slot_sequence import sliding_variables, streaming_variables


def with_adjacent_holders(
    problem: Problem, template: Template, crowded: frozenset[str] = frozenset()
) -> Iterator[Template]:
    """Yield `template`, then its variants with one or more runs.

    `crowded`: memories in which room may be short even if everything kept there fits.
    """
    yield template
    known = list(_runs(problem, template, crowded | overflowing(problem, template)))
    for number in range(1, len(known) + 1):
        for chosen in combinations(known, number):
            spans = sorted((run.first, run.last) for run in chosen)
            if all(a[1] < b[0] for a, b in pairwise(spans)):
                ordered = tuple(sorted(chosen, key=lambda run: run.first))
                yield replace(template, adjacent=ordered)


def _runs(problem: Problem, template: Template, full: frozenset[str]) -> Iterator[AdjacentHolders]:
    """Enumerate the runs of neighbouring holders that no other template stands for."""
    top = sum(holder.backing for holder in template.holders)
    if not full:
        return
    count = len(template.holders)
    for first in range(top, count):
        for last in range(first + 1, count):
            if template.holders[last].backing or not _can_stand_together(
                problem, template, first, last
            ):
                break
            maker = _Maker(problem, template, (first, last), full)
            if first not in maker.moving:
                continue
            for groups in maker.extend((), maker.moving):
                yield AdjacentHolders(first, last, groups)


def adjacent_across(
    problem: Problem, template: Template, span: tuple[int, int], crowded: frozenset[str]
) -> Iterator[AdjacentHolders]:
    """Enumerate the runs from above to below (or at) holder `span[1]`, which is backed there.

    They begin at holder `span[0]` or below; holders that are backed keep their whole tiles.
    """
    full = crowded | overflowing(problem, template)
    for first in range(*span):
        for last in range(span[1], len(template.holders)):
            if not _can_stand_together(problem, template, first, last):
                break
            maker = _Maker(problem, template, (first, last), full)
            if first in maker.moving:
                for groups in maker.extend((), maker.moving):
                    yield AdjacentHolders(first, last, groups)


def overflowing(problem: Problem, template: Template) -> frozenset[str]:
    """Return the memories that do not hold everything that is kept there at once."""
    bits: dict[str, float] = {}
    for holder in template.holders:
        size = problem.einsum.access(holder.tensor).tile_size(problem.einsum.bounds)
        need = size * problem.value_bits(problem.reservation(holder))
        bits[holder.component] = bits.get(holder.component, 0.0) + need
    sizes = {name: getattr(problem.holder(name), "size", inf) for name in bits}
    return frozenset(name for name, need in bits.items() if sizes[name] < need)


def _can_stand_together(problem: Problem, template: Template, first: int, last: int) -> bool:
    """Tell whether the mapspace has points without lanes between two holders."""
    outer = problem.level(template.holders[first].component)
    inner = problem.level(template.holders[last].component)
    return all(
        any(prod(choice) == 1 for choice in fan.choices)
        for fan in problem.spatial_loops(template)
        if outer < problem.level(fan.component) <= inner
    )


class _Maker:
    """Enumerates the orders in which the tiles of one run are reserved."""

    def __init__(
        self, problem: Problem, template: Template, span: tuple[int, int], full: frozenset[str]
    ) -> None:
        self._problem = problem
        self._template = template
        self._span = span
        self._full = full
        first, last = span
        tensors = [template.holders[i].tensor for i in range(first, last + 1)]
        self.moving = tuple(
            i
            for i in range(first, last + 1)
            if template.holders[i].tensor not in tensors[i - first + 1 :]
            and not template.holders[i].backing
        )  # a holder right above another one of its tensor keeps its whole tile

    def extend(
        self, done: tuple[tuple[int, ...], ...], rest: tuple[int, ...]
    ) -> Iterator[tuple[tuple[int, ...], ...]]:
        """Yield the groups, in the order in which their tiles are reserved."""
        if not rest:
            yield done
            return
        for size in range(1, len(rest) + 1):
            for group in combinations(rest, size):
                left = tuple(i for i in rest if i not in group)
                if self._is_cut(left):
                    continue
                if self._pays(done, group) and self._makes_sense(done, group, left):
                    yield from self.extend((*done, group), left)

    def _makes_sense(
        self, done: tuple[tuple[int, ...], ...], group: tuple[int, ...], left: tuple[int, ...]
    ) -> bool:
        slides = sliding_variables(self._problem, self._template, group, left)
        if len(group) > 1 and not slides:
            return False
        if not done:
            return True
        if any(self._keeps_order(i, j) for i in group for before in done for j in before if j > i):
            return False
        streams = streaming_variables(self._problem, self._template, (*group, *left))
        last = done[-1]
        if any(not self._all_relevant(v, last) for v in (*streams, *slides)):
            return True
        return not slides and min(group) > max(last)  # in the same place: in one order only

    def _keeps_order(self, upper: int, lower: int) -> bool:
        """Tell whether another template has the two holders the other way round."""
        one, other = self._template.holders[upper], self._template.holders[lower]
        if one.component != other.component:
            return False
        return not self._template.placement.rules_of(one.component).tensor_order_options

    def _all_relevant(self, variable: str, group: Sequence[int]) -> bool:
        return variable in streaming_variables(self._problem, self._template, group)

    def _is_cut(self, left: tuple[int, ...]) -> bool:
        """Tell whether the upper holders are through before the lower ones: two runs then."""
        if not left:
            return False
        first, last = self._span
        whole = [i for i in range(first, last + 1) if i not in left]
        return whole == list(range(first, first + len(whole)))

    def _pays(self, done: tuple[tuple[int, ...], ...], group: tuple[int, ...]) -> bool:
        """Every holder that shrinks further than elsewhere is in a memory that is too small."""
        holders = self._template.holders
        full = [i for i in group if holders[i].component in self._full]
        if len(group) > 1 and not full:
            return False
        deepest = max((i for earlier in done for i in earlier), default=-1)
        return all(i > deepest or i in full for i in group)
