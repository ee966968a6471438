"""The linear-map layout of 2024: collapse intervals, ceil split, then tiles (layouts.md §7.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.affine_map import AffineMap, QuasiAffine, constant, dim, plus, times
from tilewright.mapper.layout.collapse import DEFAULT_INTERVALS, Collapse, Interval
from tilewright.mapper.layout.grid_split import GridSplit
from tilewright.mapper.layout.layout import Layout
from tilewright.mapper.layout.tiling import Tiling

Rule = Literal["join", "tt-mlir-2024"]


def linear_map_layout(
    shape: Sequence[int],
    grid: Sequence[int],
    intervals: Sequence[Interval] = DEFAULT_INTERVALS,
    tiling: Tiling | None = None,
    rule: Rule = "join",
) -> Layout:
    """Lay a tensor out over a virtual grid: collapse, ceil split of scalars, then whole tiles.

    `intervals`: dimensions to join, half-open, negative bounds from the end. `rule`: "join"
    partitions the dimensions into groups; "tt-mlir-2024" gives the numbers of that compiler, which
    on grids of higher rank may use a dimension in two groups and allocate many times the tensor.
    Raises SpecError for parts that do not fit (`Collapse.of`, `GridSplit`, `tt_mlir_2024_map`).
    """
    if rule not in get_args(Rule):
        raise SpecError(f"no collapse rule {rule!r}", instead=f"one of {', '.join(get_args(Rule))}")
    if rule == "join":
        collapse = Collapse.of(shape, intervals, len(grid))
    else:
        collapse = Collapse.linear(shape, tt_mlir_2024_map(shape, len(grid), intervals))
    return Layout.on_grid(collapse, GridSplit.ceil(collapse.extents, grid), tiling)


def tt_mlir_2024_map(
    shape: Sequence[int], grid_rank: int, intervals: Sequence[Interval] = DEFAULT_INTERVALS
) -> AffineMap:
    """Return the linear map that tt-mlir built for collapse intervals from July 2024 to June 2025.

    It starts from the last min(rank, grid rank) dimensions, replaces result number b by the joined
    interval (b, e), replaces the results before the first interval by the first dimensions, and
    pads with 0 in front. A dimension may then stand in two results (layouts.md §7.1). Raises
    SpecError where that builder fails: a result number beyond the results, or a dimension in none.
    """
    rank, results = len(shape), min(len(shape), grid_rank)
    rows: list[QuasiAffine] = [dim(number) for number in range(rank - results, rank)]
    first = rank
    for begin, end in intervals:
        start, stop = (bound + rank if bound < 0 else bound for bound in (begin, end))
        if start >= stop:
            continue
        if not 0 <= start < results or stop > rank:
            raise SpecError(
                f"interval ({begin}, {end}) would replace result {start} of {results}: the rule "
                "tt-mlir-2024 takes the first dimension for the number of a result",
                value=tuple(intervals),
                instead='rule="join"',
            )
        rows[start] = _joined(shape, start, stop)
        first = min(first, start)
    for number in range(min(first, results)):
        rows[number] = dim(number)
    _check_all_used(rows, rank, intervals)
    return AffineMap(rank, (constant(0),) * (grid_rank - results) + tuple(rows))


def _check_all_used(rows: Sequence[QuasiAffine], rank: int, intervals: Sequence[Interval]) -> None:
    """Raise SpecError unless every dimension of the tensor stands in a result of the linear map.

    `rows`: its results; `rank`: of the tensor; `intervals`: for the message.
    """
    used = {number for row in rows for number in (row.coefficients() or ({}, 0))[0]}
    if used != set(range(rank)):
        raise SpecError(
            f"the rule tt-mlir-2024 puts dimensions {sorted(set(range(rank)) - used)} in no result "
            "of the linear map",
            value=tuple(intervals),
            instead="more intervals, or a grid of higher rank",
        )


def _joined(shape: Sequence[int], start: int, stop: int) -> QuasiAffine:
    total, factor = constant(0), 1
    for number in reversed(range(start, stop)):
        total = plus(times(dim(number), factor), total)
        factor *= shape[number]
    return total
