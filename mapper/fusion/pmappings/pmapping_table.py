"""The table of one Einsum: all its rows, under the names of the workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import groupby

import numpy as np

from tilewright.arch.components.components import Memory
from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.fusion.pmappings.backpointers import Backpointers
from tilewright.mapper.fusion.pmappings.pmappings import (
    NumberedCompatibility,
    PmappingBlock,
    PmappingSource,
)
from tilewright.mapper.fusion.pmappings.region import with_tiles
from tilewright.mapper.fusion.pmappings.shared_spatial import lane_stride, tiles_below
from tilewright.mapper.fusion.pmappings.tile_reservations import tiles_above
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.workload.einsum import Einsum

HeldTensors = tuple[tuple[TensorPlace, int, int], ...]


@dataclass(frozen=True, eq=False)
class PmappingGroup:
    """Rows of one shape: loops over the same variables, outermost first, with other tiles.

    `depths[i]`: loops above boundary tensor i, -1 if not on chip; `held`: (contested tensor, loops
    above its holder, above its tile) where it is held above the innermost loop; `tiles`: shape
    (rows, loops); `sizes`: bits of the boundary tensors, (rows, boundary); row i has the points
    `start[i]` to `start[i + 1]`; `points`: energy, latency, bits in use of memories
    (Usage.of_points), per memory bits above loop 1 … n, bits in all; `origins`: (number of the
    source, label) of each point; `table`: number of the table among those of the Einsum; `absent`:
    numbers of boundary tensors on chip that have no tile of their own while the Einsum runs
    (copy_pmappings.py).
    """

    loops: tuple[LoopName, ...]
    depths: tuple[int, ...]
    held: HeldTensors
    tiles: Ints
    sizes: Floats
    start: Ints
    values: Floats
    origins: Ints
    table: int = 0
    absent: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.tiles)

    @cached_property
    def least_costs(self) -> Floats:
        """Least energy and least latency of each row, shape (rows, 2)."""
        return np.minimum.reduceat(self.values[:, :2], self.start[:-1], axis=0)

    @property
    def on_chip_mask(self) -> int:
        """The boundary tensors on chip, as bits."""
        return sum(1 << place for place, depth in enumerate(self.depths) if depth >= 0)


@dataclass(frozen=True, slots=True)
class ChosenPmapping:
    """A row of a mapping, and how many of its loops it shares with the next Einsum."""

    group: PmappingGroup
    tiling: int
    pmapping: int
    shared_loops: int

    @property
    def loops(self) -> tuple[tuple[LoopName, int], ...]:
        """Name and tile of its loops."""
        return tuple(zip(self.group.loops, self.group.tiles[self.tiling].tolist(), strict=True))


@dataclass(frozen=True)
class PmappingSolution:
    """The rows of one space in numbers instead of names, and what leads to them."""

    space: Mapspace
    engine: LabelEngine
    blocks: Mapping[NumberedCompatibility, PmappingBlock]
    sources: tuple[PmappingSource, ...]
    backpointers: tuple[Backpointers, ...]


@dataclass(frozen=True)
class PmappingTable:
    """The rows of one Einsum. `boundary`: where its tensors may stay on chip; `widths`: the bits
    of a value of each of its tensors there; `names`: those of the loops over its variables."""

    einsum: Einsum
    boundary: tuple[TensorPlace, ...]
    widths: Mapping[TensorPlace, float]
    groups: tuple[PmappingGroup, ...]
    solution: PmappingSolution
    space: Mapspace
    loop_names: Mapping[str, str]

    def numbered(self, number: int) -> PmappingTable:
        """Return the table as one of several of its Einsum."""
        return replace(self, groups=tuple(replace(rows, table=number) for rows in self.groups))


def named_table(
    solution: PmappingSolution,
    space: Mapspace,
    where: tuple[tuple[TensorPlace, ...], Sequence[str]],
    names: Mapping[str, str],
) -> PmappingTable:
    """Give the rows of a solution the names of `space`, a problem with the same signature.

    `where`: the places of its tensors on chip, and the memories; `names`: those of the loops over
    its rank variables.
    """
    boundary, memories = where
    tensors = dict(zip(solution.space.einsum.tensors, space.einsum.tensors, strict=True))
    widths = value_widths(space, memories)
    old = {new: tensor for tensor, new in tensors.items()}
    bits = {TensorPlace(old[place.tensor], place.memory): widths[place] for place in boundary}
    variables = tuple(names[v] for v in space.einsum.bounds)
    rows: list[PmappingGroup] = []
    for shape, block in solution.blocks.items():
        if len(block.states):
            depth = {TensorPlace(tensors[p.tensor], p.memory): d for p, d in shape.depths}
            made = _unnamed_group(solution, shape, block, bits)
            order = _column_order(shape, variables)
            loops = tuple(_loop_name(shape, variables, column) for column in order)
            depths = tuple(depth.get(place, -1) for place in boundary)
            held = tuple(
                (TensorPlace(tensors[p.tensor], p.memory), d, low) for p, d, low in shape.held
            )
            tiles = made.tiles[:, order]
            rows.append(replace(made, loops=loops, tiles=tiles, depths=depths, held=held))
    return PmappingTable(space.einsum, boundary, widths, tuple(rows), solution, space, names)


def _column_order(shape: NumberedCompatibility, variables: Sequence[str]) -> list[int]:
    """Return the loops in an order that all Einsums agree about: lanes of one dimension, between
    which nothing stands, by the names of their variables."""

    def place(column: int) -> tuple[tuple[int, ...], str]:
        one = shape.spatial_loops[-1 - shape.order[column][0]]
        return one.position, variables[one.variable]

    order: list[int] = []
    numbers = range(len(shape.order))
    for dealt, run in groupby(numbers, lambda column: shape.order[column][0] < 0):
        columns = list(run)
        order += sorted(columns, key=place) if dealt else columns
    return order


def _loop_name(shape: NumberedCompatibility, variables: Sequence[str], column: int) -> LoopName:
    number = shape.order[column][0]
    if number >= 0:
        return LoopName(variables[number])
    one = shape.spatial_loops[-1 - number]
    return LoopName(variables[one.variable], one.dim)


def _unnamed_group(
    solution: PmappingSolution,
    shape: NumberedCompatibility,
    block: PmappingBlock,
    bits: Mapping[TensorPlace, float],
) -> PmappingGroup:
    """Return the rows of one shape without names: one per tile below the fused loops."""
    states, starts = np.unique(block.states, return_index=True)
    lattice = solution.engine.lattice
    tiles = tiles_below(shape.order, shape.spatial_loops, lattice.bounds, lattice.tiles[states])
    sizes = _tensor_bits(solution, shape, states, bits)
    start = np.append(starts, len(block.states)).astype(np.int64)
    return PmappingGroup((), (), (), tiles, sizes, start, block.values, block.origins)


def _tensor_bits(
    solution: PmappingSolution,
    shape: NumberedCompatibility,
    states: Ints,
    bits: Mapping[TensorPlace, float],
) -> Floats:
    """Return the bits of each boundary tensor below the loops above it, per state; 0 if it is not
    on chip. `bits`: width of its values, in the order of the boundary."""
    lattice = solution.engine.lattice
    depth = dict(shape.depths)
    found = np.zeros((len(states), len(bits)))
    for column, (place, width) in enumerate(bits.items()):
        if place in depth:
            upper, deeper = shape.order[: depth[place]], shape.order[depth[place] :]
            lanes = [shape.spatial_loops[-1 - number] for number, _ in upper if number < 0]
            above = with_tiles(lattice, states, tiles_above(upper, deeper)) - lane_stride(
                lattice, lanes
            )
            access = solution.space.einsum.access(place.tensor)
            found[:, column] = lattice.occupancy(access)[above] * width
    return found


def value_widths(space: Mapspace, memories: Sequence[str]) -> dict[TensorPlace, float]:
    """Return the bits per value of each tensor in some memories, as this Einsum sees it; 0 where
    it does not see the memory, and in Tolls."""
    found: dict[TensorPlace, float] = {}
    known = {c.name: c for c in space.flat.components if isinstance(c, Memory)}
    for access in space.einsum.accesses:
        for memory in memories:
            width = Fraction(0)
            if memory in known:
                held = known[memory].bits_per_value
                width = Fraction(held.get(access.tensor, access.bits_per_value))
            found[TensorPlace(access.tensor, memory)] = float(width)
    return found
