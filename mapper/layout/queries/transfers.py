"""List what must move between units to turn one layout of a tensor into another (layouts.md §9).

Every scalar is moved exactly once. Where a scalar lies is a sum over groups of what each group
adds, so that the transfers are products of small tables, one for each set of dimensions that the
groups of the two layouts tie together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.layout import Layout, Padding
from tilewright.mapper.layout.layout_phases import takes_turns
from tilewright.mapper.layout.unit_lookup import Unit

Integers = NDArray[np.int64]
Values = NDArray[Any]
MOST_SCALARS: Final = 1 << 26
MOST_TRANSFERS: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Stride:
    """One loop of a pattern: `count` turns.

    `source`, `destination`: positions from one turn to the next at both ends.
    """

    count: int
    source: int
    destination: int


@dataclass(frozen=True, slots=True)
class StridePattern:
    """Positions of scalars that move together: nested loops, outermost first.

    `source`, `destination`: positions of the first scalar in the shards; positions count scalars of
    the allocated shard, tile after tile (`Tiling.position`), slot after slot of the unit.
    """

    source: int
    destination: int
    strides: tuple[Stride, ...]

    @property
    def scalars(self) -> int:
        """Number of scalars."""
        return prod(stride.count for stride in self.strides)

    def positions(self) -> tuple[Integers, Integers]:
        """Return the positions of all scalars in the source and in the destination."""
        source = np.array([self.source], dtype=np.int64)
        destination = np.array([self.destination], dtype=np.int64)
        for stride in self.strides:
            turns = np.arange(stride.count, dtype=np.int64)
            source = np.add.outer(source, turns * stride.source).ravel()
            destination = np.add.outer(destination, turns * stride.destination).ravel()
        return source, destination


@dataclass(frozen=True, slots=True)
class Transfer:
    """All scalars that move from one unit to another (which may be the same one).

    `scalars`: how many; `bytes`: of them in the source's format, without shared exponents;
    `patterns`: where they lie at both ends.
    """

    source: Unit
    destination: Unit
    scalars: int
    bytes: int
    patterns: tuple[StridePattern, ...]


@dataclass(frozen=True, slots=True)
class _BoxPiece:
    """Scalars, over some dimensions, with one cell in the source and one in the destination.

    `patterns`: what these dimensions add to the positions at both ends.
    """

    source_cell: tuple[int, ...]
    destination_cell: tuple[int, ...]
    patterns: tuple[StridePattern, ...]


def transfers(source: Layout, destination: Layout) -> tuple[Transfer, ...]:
    """Return what moves from which unit to which, to turn one layout of a tensor into another.

    Sorted by source and destination unit; data that stay on their unit are included. Raises
    SpecError for layouts of different tensors, for a dimension in two groups, for placements in
    which blocks take turns, and beyond 67 million scalars that one set of dimensions ties together
    or a million transfers.
    """
    _check(source, destination)
    pieces = [_pieces(source, destination, dims) for dims in _tied(source, destination)]
    if prod(map(len, pieces)) > MOST_TRANSFERS:
        raise SpecError(
            f"{prod(map(len, pieces))} transfers between cells are too many",
            value=(source.grid, destination.grid),
            instead=f"grids with at most {MOST_TRANSFERS}",
        )
    by_units: dict[tuple[Unit, Unit], list[StridePattern]] = {}
    for combination in product(*pieces):
        cell = _sum_cells(piece.source_cell for piece in combination)
        target = _sum_cells(piece.destination_cell for piece in combination)
        units = (source.grid_map.unit(cell), destination.grid_map.unit(target))
        base = (
            source.grid_map.slot(cell) * prod(source.allocated_shape),
            destination.grid_map.slot(target) * prod(destination.allocated_shape),
        )
        patterns = by_units.setdefault(units, [])
        for parts in product(*(piece.patterns for piece in combination)):
            patterns.append(_joined(base, parts))
    bits = source.tiling.element.bits
    return tuple(
        Transfer(
            source=units[0],
            destination=units[1],
            scalars=(count := sum(pattern.scalars for pattern in patterns)),
            bytes=-(-count * bits // 8),
            patterns=tuple(patterns),
        )
        for units, patterns in sorted(by_units.items())
    )


def scatter(layout: Layout, values: Values, fill: float | None = None) -> dict[Unit, Values]:
    """Return the shards of a tensor's values: for each unit all positions of its slots.

    `values`: of the tensor's shape, else SpecError; `fill`: what stands in padding (None: the
    layout's value of padding, `padding_fill`). Every unit that has a cell is there; positions as in
    `StridePattern`.
    """
    if values.shape != layout.shape:
        raise SpecError("values of another shape than the tensor", value=values.shape)
    if fill is None:
        fill = padding_fill(layout.padding_value, values.dtype)
    size, flat = prod(layout.allocated_shape), values.ravel()
    shards: dict[Unit, Values] = {}
    for unit, slots in _slots(layout).items():
        shards[unit] = np.full(size * len(slots), fill, dtype=values.dtype)
        for slot, (numbers, places) in enumerate(slots):
            shards[unit][slot * size + places] = flat[numbers]
    return shards


def padding_fill(padding: Padding, dtype: np.dtype[Any]) -> float:
    """Return the number that a value of padding is in an array of a type.

    Integers have their greatest and least for inf and neginf. undef is NaN, or the least integer,
    so that a result that depends on it is seen.
    """
    if padding in ("zero", "one"):
        return float(padding == "one")
    if np.issubdtype(dtype, np.floating):
        return {"undef": np.nan, "inf": np.inf, "neginf": -np.inf}[padding]
    limits = np.iinfo(dtype)
    return limits.max if padding == "inf" else limits.min


def gather(layout: Layout, shards: Mapping[Unit, Values]) -> Values:
    """Return the values of the tensor from its shards: the inverse of `scatter`."""
    size = prod(layout.allocated_shape)
    first = next(iter(shards.values()))
    flat = np.zeros(layout.collapse.volume, dtype=first.dtype)
    for unit, slots in _slots(layout).items():
        for slot, (numbers, places) in enumerate(slots):
            flat[numbers] = shards[unit][slot * size + places]
    return flat.reshape(layout.shape)


def _slots(layout: Layout) -> dict[Unit, list[tuple[Integers, Integers]]]:
    """Return for each unit and slot the row-major numbers of its scalars, and their positions."""
    shape = layout.shape
    index = dict(enumerate(np.indices(shape, dtype=np.int64).reshape(len(shape), -1)))
    cells, places = _where(layout, index)
    number = np.zeros(places.shape, dtype=np.int64)
    for coordinate, count in zip(cells, layout.grid, strict=True):
        number = number * count + coordinate
    order = np.argsort(number, kind="stable")
    ends = np.searchsorted(number[order], np.arange(1, layout.split.cells + 1))
    result: dict[Unit, list[tuple[Integers, Integers]]] = {}
    for cell, part in zip(layout.cells(), np.split(order, ends[:-1]), strict=True):
        result.setdefault(layout.grid_map.unit(cell), []).append((part, places[part]))
    return result


def apply_transfers(
    moves: Sequence[Transfer], shards: Mapping[Unit, Values], destination: Mapping[Unit, Values]
) -> None:
    """Copy the scalars of every transfer from shards of the source into those of the destination.

    Both by unit, as `scatter` gives them; `destination` is changed in place.
    """
    for move in moves:
        for pattern in move.patterns:
            here, there = pattern.positions()
            destination[move.destination][there] = shards[move.source][here]


def _check(source: Layout, destination: Layout) -> None:
    if source.shape != destination.shape:
        raise SpecError(
            "transfers between layouts of different tensors",
            value=source.shape,
            instead=str(destination.shape),
        )
    for layout in (source, destination):
        if not layout.collapse.separable:
            raise SpecError(
                "transfers of a layout with a dimension in two groups",
                value=str(layout.collapse.affine),
                instead="a layout by the join rule",
            )
        if takes_turns(layout):
            raise SpecError(
                f"{prod(layout.place.blocks)} blocks take turns in "
                f"{layout.place.physical_tiles} places: they never hold the tensor at once",
                value=layout.place.blocks,
                instead="the layout before or after the stream of blocks",
            )


def _tied(source: Layout, destination: Layout) -> list[tuple[int, ...]]:
    """Return the sets of dimensions (of extent above 1) that depend on each other in either layout.

    Dimensions in one group are in one set.
    """
    dims = [number for number, extent in enumerate(source.shape) if extent > 1]
    sets = [{number} for number in dims]
    for group in (*source.collapse.groups, *destination.collapse.groups):
        sets = _with_joined(sets, group)
    return sorted(tuple(sorted(s)) for s in sets) or [()]


def _with_joined(sets: list[set[int]], group: Sequence[int]) -> list[set[int]]:
    """Return the sets with all those joined that share a dimension with a group."""
    joined = [s for s in sets if s & set(group)]
    if not joined:
        return sets
    return [s for s in sets if s not in joined] + [set().union(*joined)]


def _pieces(source: Layout, destination: Layout, dims: Sequence[int]) -> list[_BoxPiece]:
    """Return the pieces of one set of dimensions, one per pair of cells (source, destination).

    SpecError if the dimensions have more than MOST_SCALARS indices.
    """
    extents = [source.shape[number] for number in dims]
    if prod(extents) > MOST_SCALARS:
        raise SpecError(
            f"{prod(extents)} scalars of tied dimensions {tuple(dims)} are too many to enumerate",
            instead=f"at most {MOST_SCALARS}",
        )
    columns = np.indices(extents, dtype=np.int64).reshape(len(dims), prod(extents))
    index = dict(zip(dims, columns, strict=True))
    cells, places = zip(*(_where(layout, index) for layout in (source, destination)), strict=True)
    keys = np.concatenate(cells)
    order = np.lexsort((places[0], *reversed(keys)))
    changed = np.flatnonzero(np.any(np.diff(keys[:, order], axis=1), axis=0)) + 1
    rank = len(source.grid)
    return [
        _BoxPiece(
            tuple(map(int, keys[:rank, run[0]])),
            tuple(map(int, keys[rank:, run[0]])),
            tuple(_patterns(places[0][run], places[1][run])),
        )
        for run in np.split(order, changed)
    ]


def _where(layout: Layout, index: dict[int, Integers]) -> tuple[Integers, Integers]:
    """Return what indices of some dimensions add to (cell, position in the shard).

    `index`: arrays of indices by dimension. Groups without these dimensions add 0.
    """
    count = len(next(iter(index.values()))) if index else 1
    cells = np.zeros((len(layout.grid), count), dtype=np.int64)
    places = np.zeros(count, dtype=np.int64)
    for group, row in enumerate(layout.collapse.rows):
        terms = [(number, factor) for number, factor in row if number in index]
        if terms:
            coordinate = sum(index[number] * factor for number, factor in terms)
            block, cells_along = layout.split.block[group], layout.split.grid[group]
            number, inside = np.divmod(coordinate, block)
            turn, cells[group] = np.divmod(number, cells_along)
            places += group_positions(layout, group, turn * block + inside)
    return cells, places


def group_positions(layout: Layout, group: int, offset: Integers) -> Integers:
    """Return what an offset along one group adds to the position in the shard."""
    sides = layout.tiling.full_sides(len(layout.grid))
    tiles = layout.shard_tiles
    tile, scalar = np.divmod(offset, sides[group])
    result: Integers = tile * prod(tiles[group + 1 :]) * layout.tiling.scalars + scalar * prod(
        sides[group + 1 :]
    )
    return result


def _sum_cells(cells: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*cells, strict=True)))


def _joined(base: tuple[int, int], parts: Sequence[StridePattern]) -> StridePattern:
    return StridePattern(
        base[0] + sum(part.source for part in parts),
        base[1] + sum(part.destination for part in parts),
        tuple(stride for part in parts for stride in part.strides),
    )


def _patterns(source: Integers, destination: Integers) -> list[StridePattern]:
    """Return lists of positions at both ends as nested loops: runs, then runs of equal runs."""
    level = [*_runs(source, destination)]
    while True:
        folded = list(_folded(level))
        if len(folded) == len(level):
            return folded
        level = folded


def _runs(source: Integers, destination: Integers) -> Iterator[StridePattern]:
    """Cut positions into runs of equal steps at both ends, and yield each as one loop."""
    steps = np.stack([np.diff(source), np.diff(destination)])
    changes = np.flatnonzero(np.any(np.diff(steps, axis=1), axis=0)) + 1
    start = 0
    last = len(source) - 1
    for change in (*changes.tolist(), last):
        if change <= start and change < last:
            continue  # the step to a run's first position belongs to no run
        count = change - start + 1
        step = (int(steps[0, start]), int(steps[1, start])) if count > 1 else (0, 0)
        loops = (Stride(count, *step),) if count > 1 else ()
        yield StridePattern(int(source[start]), int(destination[start]), loops)
        start = change + 1


def _folded(level: Sequence[StridePattern]) -> Iterator[StridePattern]:
    """Yield the patterns, each run of them with equal loops and equal distances joined to one.

    The joined pattern has one more loop, outermost, over the members of the run.
    """
    start = 0
    while start < len(level):
        end = _end_of_fold(level, start)
        first = level[start]
        if end - start > 1:
            second = level[start + 1]
            steps = (second.source - first.source, second.destination - first.destination)
            outer = Stride(end - start, *steps)
            yield StridePattern(first.source, first.destination, (outer, *first.strides))
        else:
            yield first
        start = end


def _end_of_fold(level: Sequence[StridePattern], start: int) -> int:
    """Return the end of the run of patterns from `start` with equal loops and equal distances."""
    end, step = start + 1, None
    while end < len(level) and level[end].strides == level[start].strides:
        here, before = level[end], level[end - 1]
        distance = (here.source - before.source, here.destination - before.destination)
        if step is not None and distance != step:
            break
        end, step = end + 1, distance
    return end
