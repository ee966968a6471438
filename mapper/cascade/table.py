"""The table of one Einsum: all its rows, under the names of the workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tilewright.mapper.cascade.layout import memories_of
from tilewright.mapper.cascade.rows import Block, Shape, Source, without
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.kernels import Floats, Ints
from tilewright.mapper.searches.tables import Engine

Loop = tuple[str, int]  # rank variable, tile shape
Point = tuple[float, ...]  # energy, latency, bits above loop 1 … n, bits in all


@dataclass(frozen=True, slots=True)
class Row:
    """A choice of fused loops. `depths[i]`: loops above boundary tensor i, -1 if not on chip.

    `sizes[i]`: its bits there; `held`: (contested tensor, loops above) where it is held above the
    innermost loop; `points`: the labels; `origins`: where each comes from; `table`: number of the
    table, where several computes can do the Einsum.
    """

    loops: tuple[Loop, ...]
    depths: tuple[int, ...]
    sizes: tuple[float, ...]
    held: tuple[tuple[str, int], ...]
    points: tuple[Point, ...]
    origins: tuple[tuple[int, int], ...]  # (number of the source, label)
    table: int = 0

    @property
    def least(self) -> tuple[float, float]:
        """Least energy and least latency among the points."""
        if len(self.points) == 1:
            return self.points[0][0], self.points[0][1]
        return min(p[0] for p in self.points), min(p[1] for p in self.points)


@dataclass(frozen=True)
class Solution:
    """The rows of one space in numbers instead of names, and what leads to them."""

    space: Mapspace
    engine: Engine
    blocks: Mapping[Shape, Block]
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class Table:
    """The rows of one Einsum. `boundary`: its tensors that may stay on chip; `widths`: the bits
    of a value of each of its tensors there."""

    einsum: Einsum
    boundary: tuple[str, ...]
    widths: Mapping[str, float]
    rows: tuple[Row, ...]
    solution: Solution
    space: Mapspace


def named(solution: Solution, space: Mapspace, boundary: tuple[str, ...], capacity: float) -> Table:
    """Give the rows of a solution the names of `space`, a problem with the same signature."""
    tensors = dict(zip(solution.space.einsum.tensors, space.einsum.tensors, strict=True))
    widths = {t: _width(space, t) for t in space.einsum.tensors}
    rows: list[Row] = []
    for shape, block in solution.blocks.items():
        if len(block.states):
            depth = {tensors[t]: d for t, d in shape.depths}
            depths = tuple(depth.get(t, -1) for t in boundary)
            held = tuple((tensors[t], d) for t, d in shape.held)
            bits = {old: widths[new] for old, new in tensors.items() if new in boundary}
            blank = Row((), depths, (), held, (), ())
            found = _rows(solution, shape, block, (blank, tuple(space.einsum.bounds), bits))
            rows += [row for row in found if max(row.sizes, default=0.0) <= capacity]
    return Table(space.einsum, boundary, widths, tuple(rows), solution, space)


def _rows(
    solution: Solution,
    shape: Shape,
    block: Block,
    known: tuple[Row, tuple[str, ...], Mapping[str, float]],
) -> Iterator[Row]:
    """Yield the rows of one shape: one per tile below the fused loops."""
    blank, variables, bits = known
    states, starts = np.unique(block.states, return_index=True)
    names = [variables[v] for v in shape.order]
    tiles = solution.engine.lattice.tiles[states][:, list(shape.order)].tolist()
    sizes = _sizes(solution, shape, states, bits).tolist()
    points, origins = block.values.tolist(), block.origin.tolist()
    first = starts.tolist()
    for place, last in enumerate([*first[1:], len(points)]):
        span = slice(first[place], last)
        yield Row(
            tuple(zip(names, tiles[place], strict=True)),
            blank.depths,
            tuple(sizes[place]),
            blank.held,
            tuple(map(tuple, points[span])),
            tuple(map(tuple, origins[span])),
        )


def _sizes(solution: Solution, shape: Shape, states: Ints, bits: Mapping[str, float]) -> Floats:
    """Return the bits of each boundary tensor below the loops above it, per state; 0 if it is not
    on chip. `bits`: width of its values, in the order of the boundary."""
    lattice = solution.engine.lattice
    depth = dict(shape.depths)
    found = np.zeros((len(states), len(bits)))
    for column, (name, width) in enumerate(bits.items()):
        if name in depth:
            above = without(lattice, states, shape.order[depth[name] :])
            access = solution.space.einsum.access(name)
            found[:, column] = lattice.occupancy(access)[above] * width
    return found


def _width(space: Mapspace, tensor: str) -> float:
    inner = memories_of(space.flat)[1]
    access = space.einsum.access(tensor)
    if inner is None:
        return 0.0
    return float(inner.bits_per_value.get(tensor, access.bits_per_value))
