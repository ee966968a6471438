"""Reads and writes of one tensor when all tiles of a loop have the same size.

Then every loop multiplies. A walk down the nest collects the products of the loops above each
holder, a walk up the requests of each level to the level above (theory/model.md §3.1).

Example (theory/model.md §3): A[m, k] with m = 8, k = 4 in tiles of 2 x 4 in a buffer, n = 2 below
it: 4 visits of 8 values are 32 reads in DRAM and 32 writes in the buffer, which the Compute reads
8 * 4 * 2 = 64 times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.mapper.model.paths.nest import TensorNest
from tilewright.mapper.model.paths.path import Hold
from tilewright.mapper.model.paths.view import (
    IRRELEVANT,
    RELEVANT,
    Count,
    HolderView,
    Requests,
    TensorView,
)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Values of one tensor that move in and out of one holder, for one instance of the Einsum.

    `tensor`, `holder`: the tensor, and its Memory or Toll. `reads`, `writes`: over all instances
    of the holder; `unit_reads`, `unit_writes`: in its busiest instance. `fills`, `drains`: from,
    and back to, the holder above; `served`, `taken`: to, and from, the level below. These four
    include first reads of outputs that are elided, as nothing has been written yet
    (theory/model.md §3.3). `zeros`: zeros of padded ranks that `reads` and `writes` leave out.
    """

    tensor: str
    holder: HolderView
    reads: Count
    writes: Count
    unit_reads: Count
    unit_writes: Count
    fills: Count
    drains: Count
    served: Count
    taken: Count
    zeros: Count = 0


@dataclass(slots=True)
class _LoopProducts:
    """Products of the turns of loops above a holder, and between it and the holder above.

    `tile`: values of one visit of the holder. The names with `_first` count only the loops whose
    turns bring data for the first time: temporal loops over relevant variables, and all spatial
    loops. `gap`: loops since the holder above; a shared spatial loop counts once, for multicast
    and reduction (theory/model.md §3.4).
    """

    holder: HolderView
    tile: int
    total: Count  # all loops
    unit: Count  # temporal loops
    total_first: Count
    unit_first: Count
    gap: Count
    gap_first: Count


def even_traffic(nest: TensorNest, turns: Mapping[int, Count]) -> list[Traffic]:
    """Return reads, writes and moved values of each holder of a tensor, outermost first.

    Holds if every loop's tile divides the tile above it, or if turns are averages
    (theory/imperfect.md §6); then loops multiply. `nest`: the loop nest as this tensor sees it.
    `turns`: place of a loop in the path to its number of turns, whole or average.
    """
    tensor = nest.tensor
    levels, gap, gap_first = _walk_down(nest, turns)
    requests = tensor.leaf
    traffic: list[Traffic] = []
    for number in range(len(levels) - 1, -1, -1):
        level = levels[number]
        reads, writes, first_reads = requests
        from_below = Requests(reads * gap, writes * gap, first_reads * gap_first)
        if level.holder.is_toll and not tensor.streams and number == len(levels) - 1:
            from_below = Requests(0, level.tile, 0)  # a copy that only rises: its tile passes here
        requests = _requests_above(level, tensor, from_below, backing=number == 0)
        traffic.append(_traffic(level, from_below, requests, tensor.name))
        gap, gap_first = level.gap, level.gap_first
    traffic.reverse()
    return traffic


def _walk_down(
    nest: TensorNest, turns: Mapping[int, Count]
) -> tuple[list[_LoopProducts], Count, Count]:
    """Return the products of turns above each holder, and those of the loops below the innermost.

    (one record per holder, outermost first; gap; gap_first), as in _LoopProducts.
    """
    tensor, loops, view = nest.tensor, nest.loops, nest.view
    shape = dict(view.einsum.bounds)
    neutral: Count = 1
    total, unit, total_first, unit_first, gap, gap_first = (neutral,) * 6
    levels: list[_LoopProducts] = []
    for item in nest.items:
        if not isinstance(item, int):
            continue
        loop = loops.get(item)
        if loop is None:
            step = nest.path.steps[item]
            assert isinstance(step, Hold)
            holder = view.holder(step.component, tensor.name)
            size = tensor.tile(shape)
            levels.append(
                _LoopProducts(holder, size, total, unit, total_first, unit_first, gap, gap_first)
            )
            gap = gap_first = 1
            continue
        shape[loop.variable] = loop.tile
        count = turns[item]
        total *= count
        kind = tensor.relevance[loop.variable]
        if loop.spatial is None:
            unit *= count
            gap *= count
            if kind == RELEVANT:
                total_first *= count
                unit_first *= count
                gap_first *= count
            continue
        total_first *= count
        shared = kind == IRRELEVANT and tensor.name in view.dims[loop.spatial, loop.dim].may_reuse
        if not shared:
            gap *= count
            gap_first *= count
    return levels, gap, gap_first


def _requests_above(
    level: _LoopProducts, tensor: TensorView, from_below: Requests, *, backing: bool
) -> Requests:
    """Return the values that one visit of a holder asks of the holder above.

    `from_below`: what is asked of it in one visit, which a Toll passes on. All are 0 if it is
    `backing`: there is none above.
    """
    if backing:
        return Requests(0, 0, 0)
    if level.holder.is_toll:  # a Toll passes requests on
        return from_below
    tile = level.tile
    if not tensor.output:
        return Requests(tile, 0, 0)
    if not tensor.accumulates:
        return Requests(0, tile, 0)
    return Requests(tile, tile, tile if level.holder.skips_first_write else 0)


def _traffic(
    level: _LoopProducts, from_below: Requests, from_above: Requests, tensor: str
) -> Traffic:
    """Multiply the values of one visit to totals over all visits.

    `from_below`: values that the level below asks for; `from_above`: requests to the holder above.
    """
    holder = level.holder
    child_reads, child_writes, child_skips = from_below
    own_reads, own_writes, own_skips = from_above
    if holder.is_toll:
        reads = child_reads * holder.down + own_writes * holder.up
        skipped_reads = child_skips * holder.down
        writes: Count = 0
        skipped_writes: Count = 0
    else:
        reads = own_writes + child_reads
        skipped_reads = child_skips if holder.skips_first_write else 0
        writes, skipped_writes = own_reads + child_writes, own_skips
    return Traffic(
        tensor,
        holder,
        reads * level.total - skipped_reads * level.total_first,
        writes * level.total - skipped_writes * level.total_first,
        reads * level.unit - skipped_reads * level.unit_first,
        writes * level.unit - skipped_writes * level.unit_first,
        own_reads * level.total,
        own_writes * level.total,
        child_reads * level.total,
        child_writes * level.total,
    )
