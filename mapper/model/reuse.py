"""Reads and writes of one tensor, when every tile of a loop has the same size.

All loops then only multiply, so one walk down (products of the loops above each holder) and one
walk up (what each level asks of the one above it) give the counts of model.md §3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.mapper.model.nest import TensorNest
from tilewright.mapper.model.path import Hold
from tilewright.mapper.model.view import IRRELEVANT, RELEVANT, Count, HolderView, TensorView


@dataclass(frozen=True, slots=True)
class Traffic:
    """Values read and written in one holder: over all its instances, and in the busiest one.

    `fills` and `drains`: values that this holder asks of, and gives back to, the one above;
    `served` and `taken`: values that it serves to, and takes from, the level below. In these four
    the first visits of outputs, which move nothing, are not left out.
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


@dataclass(slots=True)
class _LoopProducts:
    """Products of the turns of loops above a holder, and between it and the holder above it."""

    holder: HolderView
    tile: int
    total: Count  # all loops
    unit: Count  # temporal loops
    total_first: Count  # loops that bring data never seen before: relevant temporal, all spatial
    unit_first: Count
    gap: Count  # from the holder above: multicast and reduction take one value for all
    gap_first: Count


def even_traffic(nest: TensorNest, turns: Mapping[int, Count]) -> list[Traffic]:
    """Return the traffic of each holder of the tensor, outermost first; `turns` of each loop."""
    tensor = nest.tensor
    levels, gap, gap_first = _walk_down(nest, turns)
    requests: tuple[Count, Count, Count] = tensor.leaf
    traffic: list[Traffic] = []
    for number in range(len(levels) - 1, -1, -1):
        level = levels[number]
        reads, writes, skips = requests
        requests_below = (reads * gap, writes * gap, skips * gap_first)
        if level.holder.is_toll and not tensor.streams and number == len(levels) - 1:
            requests_below = (0, level.tile, 0)  # a tensor that only rises: its tile passes here
        requests = _own_requests(level, tensor, top=number == 0, requests_below=requests_below)
        traffic.append(_traffic(level, requests_below, requests, tensor.name))
        gap, gap_first = level.gap, level.gap_first
    traffic.reverse()
    return traffic


def _walk_down(
    nest: TensorNest, turns: Mapping[int, Count]
) -> tuple[list[_LoopProducts], Count, Count]:
    tensor, loops, view = nest.tensor, nest.loops, nest.view
    shape = dict(view.einsum.bounds)
    total: Count = 1
    unit: Count = 1
    total_first: Count = 1
    unit_first: Count = 1
    gap: Count = 1
    gap_first: Count = 1
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


def _own_requests(
    level: _LoopProducts,
    tensor: TensorView,
    *,
    top: bool,
    requests_below: tuple[Count, Count, Count],
) -> tuple[Count, Count, Count]:
    """Return (reads from above, writes to above, first reads skipped) of one visit."""
    if top:
        return 0, 0, 0
    if level.holder.is_toll:  # things only pass through
        return requests_below
    tile = level.tile
    if not tensor.output:
        return tile, 0, 0
    if not tensor.accumulates:
        return 0, tile, 0
    return tile, tile, tile if level.holder.skips_first_write else 0


def _traffic(
    level: _LoopProducts,
    requests_below: tuple[Count, Count, Count],
    own_requests: tuple[Count, Count, Count],
    tensor: str,
) -> Traffic:
    """Turn what one visit moves into totals (model.md §3.1)."""
    holder = level.holder
    child_reads, child_writes, child_skips = requests_below
    own_reads, own_writes, own_skips = own_requests
    if holder.is_toll:
        down = (child_reads, child_skips) if holder.down else (0, 0)
        up = own_writes if holder.up else 0
        reads, skipped_reads = down[0] + up, down[1]
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
