"""Reads and writes of one tensor when the tiles of a loop differ in size: exact remainders.

The rules are those of reuse.py (theory/model.md §3.1, theory/imperfect.md §2), but each different
tile size is visited by itself. Visits with equal sizes are counted once and multiplied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilewright.mapper.model.paths.loops import PathLoop, parts, swapped_variables
from tilewright.mapper.model.paths.nest import TensorNest
from tilewright.mapper.model.paths.path import Hold
from tilewright.mapper.model.paths.view import IRRELEVANT, RELEVANT, HolderView
from tilewright.mapper.model.traffic.reuse import Traffic

Row = tuple[int, ...]  # tile sizes by rank variable, or counts of holders
_WIDTH = 6  # counts per holder: reads, writes, fills, drains, served, taken


@dataclass(frozen=True, slots=True)
class _Visit:
    """The counts, in values, of one visit of a place in the nest.

    `ask`: (reads, writes) asked of the holder above; `ask_first`: (first reads,) among them. For
    each holder below, outermost first: `total` has the six counts of `Traffic` over all instances,
    `total_first` the elided part of reads and writes; `unit` and `unit_first` have the same for the
    busiest instance.
    """

    ask: Row
    ask_first: Row
    total: Row = ()
    total_first: Row = ()
    unit: Row = ()
    unit_first: Row = ()


RepeatedVisits = tuple[tuple[_Visit, int], ...]  # a visit, and how many turns are equal to it


def exact_traffic(nest: TensorNest) -> list[Traffic]:
    """Return reads, writes and moved values of each holder of a tensor, with uneven tiles.

    Outermost holder first. Each different tile size is visited by itself, so that smaller last
    tiles count exactly (theory/imperfect.md §2). `nest`: the loop nest as this tensor sees it.
    """
    counter = _Counter(nest)
    visit = counter.visit(0, tuple(nest.view.einsum.bounds.values()))
    traffic = []
    for number, holder in enumerate(counter.holders):
        reads, writes, *moved = visit.total[_WIDTH * number : _WIDTH * (number + 1)]
        no_reads, no_writes = visit.total_first[2 * number : 2 * number + 2]
        unit_reads, unit_writes = visit.unit[_WIDTH * number : _WIDTH * number + 2]
        unit_no_reads, unit_no_writes = visit.unit_first[2 * number : 2 * number + 2]
        traffic.append(
            Traffic(
                nest.tensor.name,
                holder,
                reads - no_reads,
                writes - no_writes,
                unit_reads - unit_no_reads,
                unit_writes - unit_no_writes,
                *moved,
            )
        )
    return traffic


class _Counter:
    """Visits the loops and holders of a nest from the outermost to the innermost.

    Visits of one place with equal tile sizes are counted once.
    """

    def __init__(self, nest: TensorNest) -> None:
        tensor, loops, path, view = nest.tensor, nest.loops, nest.path, nest.view
        self._tensor = tensor
        self._view = view
        self._loops = loops
        self._items = [item for item in nest.items if isinstance(item, int)]
        self._names = tuple(view.einsum.bounds)
        self._fixed = swapped_variables(self._items, loops)
        self._known: dict[tuple[int, Row], _Visit] = {}
        self._held: dict[int, HolderView] = {}
        for item in self._items:
            step = None if item in loops else path.steps[item]
            if isinstance(step, Hold):
                self._held[item] = view.holder(step.component, tensor.name)
        self.holders = list(self._held.values())
        self._top = next(iter(self._held), -1)

    def visit(self, position: int, shape: Row) -> _Visit:
        """Return the counts of one visit of item `position`.

        `shape`: tile size of each variable.
        """
        key = (position, shape)
        if key not in self._known:
            self._known[key] = self._count(position, shape)
        return self._known[key]

    def _count(self, position: int, shape: Row) -> _Visit:
        if position == len(self._items):
            reads, writes, skips = self._tensor.leaf
            return _Visit((int(reads), int(writes)), (int(skips),))
        item = self._items[position]
        loop = self._loops.get(item)
        if loop is None:
            return self._hold(item, self.visit(position + 1, shape), shape)
        return self._turn(loop, position, shape)

    def _turn(self, loop: PathLoop, position: int, shape: Row) -> _Visit:
        axis = self._names.index(loop.variable)
        if loop.variable in self._fixed:
            sizes: tuple[tuple[int, int], ...] = ((loop.tile, loop.turns),)
        else:
            sizes = parts(loop, shape[axis])
        visits = tuple(
            (self.visit(position + 1, (*shape[:axis], size, *shape[axis + 1 :])), often)
            for size, often in sizes
        )
        kind = self._tensor.relevance[loop.variable]
        if loop.spatial is None:
            return _in_time(visits, new_data=kind == RELEVANT)
        may_reuse = self._view.dims[loop.spatial, loop.dim].may_reuse
        return _in_space(visits, kind == IRRELEVANT and self._tensor.name in may_reuse)

    def _hold(self, item: int, below: _Visit, shape: Row) -> _Visit:
        holder = self._held[item]
        reads, writes = below.ask
        (skips,) = below.ask_first
        if item == self._top:
            own_traffic, own_first = (0, 0), 0
        elif holder.is_toll:
            own_traffic, own_first = (reads, writes), skips
        else:
            tile = self._tensor.tile(dict(zip(self._names, shape, strict=True)))
            fetched = self._tensor.accumulates or not self._tensor.output
            own_traffic = (tile * fetched, tile * self._tensor.output)
            own_first = tile * (self._tensor.accumulates and holder.skips_first_write)
        if holder.is_toll:
            passed = reads * holder.down + own_traffic[1] * holder.up
            counts = (passed, 0, *own_traffic, reads, writes)
            first = (skips * holder.down, 0)
        else:
            counts = (own_traffic[1] + reads, own_traffic[0] + writes, *own_traffic, reads, writes)
            first = (skips * holder.skips_first_write, own_first)
        return _Visit(
            own_traffic,
            (own_first,),
            (*counts, *below.total),
            (*first, *below.total_first),
            (*counts, *below.unit),
            (*first, *below.unit_first),
        )


def _add(visits: RepeatedVisits, pick: Callable[[_Visit], Row]) -> Row:
    rows = [[value * often for value in pick(visit)] for visit, often in visits]
    return tuple(map(sum, zip(*rows, strict=True)))


def _largest(visits: RepeatedVisits, pick: Callable[[_Visit], Row]) -> Row:
    return tuple(map(max, zip(*(pick(visit) for visit, _ in visits), strict=True)))


def _in_time(visits: RepeatedVisits, *, new_data: bool) -> _Visit:
    """Return the counts of a temporal loop: the sum over its turns.

    First reads occur in the first turn only, unless every turn brings new data (`new_data`).
    """
    first = visits if new_data else ((visits[0][0], 1),)
    return _Visit(
        _add(visits, lambda v: v.ask),
        _add(first, lambda v: v.ask_first),
        _add(visits, lambda v: v.total),
        _add(first, lambda v: v.total_first),
        _add(visits, lambda v: v.unit),
        _add(first, lambda v: v.unit_first),
    )


def _in_space(visits: RepeatedVisits, shared: bool) -> _Visit:
    """Return the counts of a spatial loop: totals add up, one instance counts as the busiest.

    `shared`: instances ask for the same data, which is asked for once.
    """
    combine = _largest if shared else _add
    return _Visit(
        combine(visits, lambda v: v.ask),
        combine(visits, lambda v: v.ask_first),
        _add(visits, lambda v: v.total),
        _add(visits, lambda v: v.total_first),
        _largest(visits, lambda v: v.unit),
        visits[0][0].unit_first,
    )
