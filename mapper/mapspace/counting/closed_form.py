"""Count points in closed form, where templates differ in the order of holders only.

Where nothing pins a tile, no window slides, no memory overflows and no holder sees lanes above it,
the gaps in which a loop over a variable may stand are independent. So the number of points of a
template depends on the number of these gaps per variable and on the lanes alone: the exponent e of
each prime is distributed over h gaps in C(e + h - 1, h - 1) ways. The number of orders of the
holders per numbers of gaps follows holder by holder, without making the templates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise, permutations
from math import comb, prod

from tilewright.arch.components.components import Memory, PlacementRules
from tilewright.mapper.mapspace.factors import factorise
from tilewright.mapper.templates.adjacent_holders import overflowing
from tilewright.mapper.templates.placement import Holder, Placement, Template, order_allowed
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.spatial_choices import SpatialLoops

Gaps = tuple[int, ...]  # per rank variable
_OrderCounts = dict[tuple[str, Gaps], int]  # last holder's tensor, gaps so far -> orders


@dataclass
class CountCache:
    """Counts of one Einsum that `ClosedFormCounts` reuses between sets of rules.

    `lanes`: spatial dimensions to the number of choices per product of lanes of each variable.
    `points`: (gaps per variable, dimensions) to the number of points. `orders`: orders of the
    holders of each memory to the number of orders per gaps. A gap is a place where a loop may
    stand. A point is one choice of all tile sizes of a template (a mapping without loops); a lane
    is one instance along a dimension of a fanout.
    """

    lanes: dict[tuple[SpatialLoops, ...], Counter[Gaps]] = field(default_factory=dict)
    points: dict[tuple[Gaps, tuple[SpatialLoops, ...]], int] = field(default_factory=dict)
    orders: dict[object, Counter[Gaps]] = field(default_factory=dict)


class ClosedFormCounts:
    """Counts the templates of plain placements, and their points, by binomial coefficients.

    A point is a template with a tile below each slot, that is, a mapping. A placement (which
    tensors each memory keeps) is plain if the gaps in which a loop may stand are independent of
    each other; the points then follow from how primes of the bounds spread over gaps. `memo`: a
    cache to share between problems of the same Einsum. `is_possible`: some placement may be plain.
    A template is a mapping without its loops.
    """

    def __init__(self, problem: Problem, memo: CountCache) -> None:
        self._problem = problem
        self._memo = memo
        self._names = tuple(problem.einsum.bounds)
        self._relevant = {
            access.tensor: tuple(access.relevance(v) == "relevant" for v in self._names)
            for access in problem.einsum.accesses
        }
        self.is_possible = self._problem_is_plain()

    def _problem_is_plain(self) -> bool:
        problem = self._problem
        accesses = problem.einsum.accesses
        return not (
            problem.einsum.is_copy
            or problem.uneven
            or problem.has_networks
            or any(c.physical_fanout > 1 for c in problem.components)
            or any(a.relevance(v) == "partial" for a in accesses for v in self._names)
        )

    def is_plain(self, placement: Placement, template: Template) -> bool:
        """Tell whether `count` may be used for a placement; `template`: any one of its templates.

        Not with networks, windows, uneven variables, distributed memories, floating holders,
        refetch or tile_shape rules, open hierarchies, memories too small for whole tensors, or
        holders below lanes of deeper components. A placement says which memory keeps which
        tensors; a template is a mapping without its loops; a lane is one instance along a
        dimension of a fanout.
        """
        problem = self._problem
        if not self.is_possible or any(holder.floating for holder in template.holders):
            return False
        honours_shapes = problem.conventions.honours_tile_shape
        if any(_restricts_loops(rules, honours_shapes) for rules in placement.rules):
            return False
        return not overflowing(problem, template) and not self._sees_lanes(template)

    def _sees_lanes(self, template: Template) -> bool:
        """Tell whether a holder stands below spatial loops of a component deeper than its own."""
        level = self._problem.level
        backed = max(level(h.component) for h in template.holders if h.backing)
        levels_below = [level(h.component) for h in template.holders if not h.backing]
        lanes = (
            level(loops.component)
            for loops in self._problem.spatial_loops(template)
            if loops.has_lanes
        )
        return any(depth <= backed and min(levels_below, default=depth) < depth for depth in lanes)

    def count(self, placement: Placement, template: Template) -> tuple[int, int]:
        """Return (number of templates, number of points) of a plain placement.

        All its points fit their memories, as no memory is too small for its whole tensors.
        `template`: any template of it. A placement says which memory keeps which tensors; a
        template is a mapping without its loops; a point is one choice of all tile sizes of a
        template.
        """
        orders = self._orders_of(placement, template)
        dims = self._problem.spatial_loops(template)
        if any(not loops.choices for loops in dims):
            return sum(orders.values()), 0
        points = sum(number * self._points(gaps, dims) for gaps, number in orders.items())
        return sum(orders.values()), points

    def _orders_of(self, placement: Placement, template: Template) -> Counter[Gaps]:
        """Return the number of orders of a placement's holders, by number of gaps per variable."""
        memories = {c.name for c in self._problem.components if isinstance(c, Memory)}
        groups = [
            [h for h in template.holders if not h.backing and h.component == name]
            for name, _ in placement.kept_tensors
            if name in memories
        ]
        allowed = [_allowed_orders(group, placement) for group in groups]
        key = tuple(allowed)
        if key not in self._memo.orders:
            self._memo.orders[key] = self._counted_orders(allowed)
        return self._memo.orders[key]

    def _counted_orders(self, groups: Sequence[Sequence[tuple[Holder, ...]]]) -> Counter[Gaps]:
        counts: _OrderCounts = {("", (0,) * len(self._names)): 1}
        for orders in groups:
            next_counts: _OrderCounts = {}
            for (last, gaps), number in counts.items():
                for order in orders:
                    tensors = [last, *(holder.tensor for holder in order)]
                    state = tensors[-1], self._further(gaps, tensors)
                    next_counts[state] = next_counts.get(state, 0) + number
            counts = next_counts
        orders_by_gaps: Counter[Gaps] = Counter()
        for (last, gaps), number in counts.items():
            orders_by_gaps[self._further(gaps, [last, None])] += number
        return orders_by_gaps

    def _further(self, gaps: Gaps, tensors: Sequence[str | None]) -> Gaps:
        """Return the gaps per variable with those between some successive holders added.

        `tensors`: of the holders, outermost first; "" stands for the backing holders, None for the
        Compute.
        """
        counted = list(gaps)
        for upper, lower in pairwise(tensors):
            for i in range(len(counted)):
                streams = bool(upper) and self._relevant[upper or ""][i]
                counted[i] += not streams and (lower is None or self._relevant[lower][i])
        return tuple(counted)

    def _points(self, gaps: Gaps, dims: tuple[SpatialLoops, ...]) -> int:
        key = (gaps, dims)
        if key not in self._memo.points:
            bounds = self._problem.einsum.bounds.values()
            total = 0
            for lanes, number in self._lanes_of(dims).items():
                completions = (
                    _distributions(b // n, h) for b, n, h in zip(bounds, lanes, gaps, strict=True)
                )
                total += number * prod(completions)
            self._memo.points[key] = total
        return self._memo.points[key]

    def _lanes_of(self, dims: tuple[SpatialLoops, ...]) -> Counter[Gaps]:
        """Return the number of choices of lanes of all dimensions, by total lanes per variable."""
        if dims not in self._memo.lanes:
            lanes: Counter[Gaps] = Counter({(1,) * len(self._names): 1})
            for loops in dims:
                lanes = self._with_dimension(lanes.items(), loops)
            self._memo.lanes[dims] = lanes
        return self._memo.lanes[dims]

    def _with_dimension(
        self, outer: Iterable[tuple[Gaps, int]], loops: SpatialLoops
    ) -> Counter[Gaps]:
        counts: Counter[Gaps] = Counter()
        bounds = tuple(self._problem.einsum.bounds.values())
        named = [dict(zip(loops.variables, choice, strict=True)) for choice in loops.choices]
        choices = [tuple(lanes.get(v, 1) for v in self._names) for lanes in named]
        for lanes, number in outer:
            for choice in choices:
                product_lanes = tuple(a * b for a, b in zip(lanes, choice, strict=True))
                if all(bound % n == 0 for bound, n in zip(bounds, product_lanes, strict=True)):
                    counts[product_lanes] += number
        return counts


@cache
def _distributions(extent: int, gaps: int) -> int:
    """Return in how many ways `extent` is a product of one factor for each of `gaps` gaps.

    Example: 4 over 2 gaps: 1 x 4, 2 x 2, 4 x 1, so 3.
    """
    if gaps == 0:
        return int(extent == 1)
    return prod(comb(exponent + gaps - 1, gaps - 1) for _, exponent in factorise(extent))


def _restricts_loops(rules: PlacementRules, honours_shapes: bool) -> bool:
    """Tell whether a component's rules restrict loops, or let its holders leave the hierarchy.

    `honours_shapes`: whether tile_shape rules count.
    """
    restricts = bool(rules.no_refetch_from_above or rules.no_resend_to_below)
    is_free = rules.force_memory_hierarchy_order is False
    return restricts or is_free or bool(honours_shapes and rules.tile_shape)


def _allowed_orders(
    holders: Sequence[Holder], placement: Placement
) -> tuple[tuple[Holder, ...], ...]:
    """Return the orders of the holders of one memory that its rules allow."""
    return tuple(order for order in permutations(holders) if order_allowed(order, placement))
