"""Give the pmappings of one Einsum the names of the workload: its table.

Einsums that differ in names only share one solution, in numbers; each has a table of its own.
"""

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
from tilewright.mapper.fusion.pmappings.pmapping_records import (
    ContestedTensor,
    NumberedCompatibility,
    PmappingBlock,
    PmappingSource,
)
from tilewright.mapper.fusion.pmappings.region.region_states import with_tiles
from tilewright.mapper.fusion.pmappings.region.tile_reservations import tiles_above
from tilewright.mapper.fusion.pmappings.shared.shared_spatial import lane_stride, tiles_below
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.workload.einsum import Einsum


@dataclass(frozen=True, eq=False)
class PmappingGroup:
    """Pmappings of one Einsum whose fused loops and tensors on chip agree but for tile shapes.

    A pmapping is a mapping of one Einsum within the whole; fused loops are those that it may share
    with other Einsums. One choice of tile shapes for these loops is a tiling. The boundary is the
    list of places, (tensor, memory), in which the Einsum's tensors may stay on chip. `loops`: the
    fused loops, outermost first. `depths[i]`: number of them above boundary place i, -1 if the
    tensor is not there. `held_tensors`: tensors that another Einsum in the same loops may hold,
    too, and that are held above the innermost loop. `tiles`: values of each loop's variable below
    the loop, shape (tilings, loops). `sizes`: bits of the tensor at each boundary place, shape
    (tilings, boundary). `start`: tiling i has the pmappings `start[i]` to `start[i + 1] - 1`.
    `values`, shape (pmappings, values): energy in joule, latency in second, bits in use of the
    counted memories, then per exchange memory the bits reserved above loop 1, …, above loop n, and
    in all. `origins`: (number of the source, number of the label) of each pmapping, to rebuild it.
    `table`: number of the table among those of the Einsum. `absent`: boundary places on chip whose
    tensor takes no bits of its own while the Einsum runs, because a copy only passes it on.
    """

    loops: tuple[LoopName, ...]
    depths: tuple[int, ...]
    held_tensors: tuple[ContestedTensor, ...]
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
        """Least energy in joule and least latency in second per tiling, shape (tilings, 2).

        A tiling is one choice of tile shapes for the fused loops. Each of the two is that of its
        own best mapping.
        """
        return np.minimum.reduceat(self.values[:, :2], self.start[:-1], axis=0)

    @property
    def on_chip_mask(self) -> int:
        """Which exchanged tensors are on chip, as bits.

        Bit i is set if the tensor is at place i of the (tensor, memory) pairs in which the Einsum's
        tensors may stay on chip.
        """
        return sum(1 << place for place, depth in enumerate(self.depths) if depth >= 0)


@dataclass(frozen=True, slots=True)
class ChosenPmapping:
    """Name one pmapping (mapping of one Einsum) of the mapping that was found.

    `group`: the pmappings with the same fused loops. `tiling`: number of its tile shapes there.
    `pmapping`: its number there. `shared_loops`: number of its outermost fused loops that the next
    Einsum runs with it.
    """

    group: PmappingGroup
    tiling: int
    pmapping: int
    shared_loops: int

    @property
    def loops(self) -> tuple[tuple[LoopName, int], ...]:
        """(name, tile) of each fused loop, outermost first; the tile in values below the loop."""
        return tuple(zip(self.group.loops, self.group.tiles[self.tiling].tolist(), strict=True))


@dataclass(frozen=True)
class PmappingSolution:
    """Hold the pmappings of one mapspace with variables as numbers, for all equal Einsums.

    `space`: the mapspace. `engine`: its lattice of tile shapes. `blocks`: the pmappings by fused
    loops and tensors on chip. `sources`, `backpointers`: from which program and placement of loops,
    and through which tiles, each of them came.
    """

    space: Mapspace
    engine: LabelEngine
    blocks: Mapping[NumberedCompatibility, PmappingBlock]
    sources: tuple[PmappingSource, ...]
    backpointers: tuple[Backpointers, ...]


@dataclass(frozen=True)
class PmappingTable:
    """Hold the pmappings of one Einsum for one set of exchanged tensors on chip.

    `einsum`: the Einsum. `boundary`: the (tensor, memory) pairs in which its tensors may stay on
    chip. `widths`: bits per value of each of its tensors in each exchange memory. `groups`: the
    pmappings, grouped by fused loops and tensors on chip without tile shapes. `solution`: the same
    in numbers, which equal Einsums share. `space`: the mapspace of this Einsum. `loop_names`: for
    each rank variable its name common to all Einsums.
    """

    einsum: Einsum
    boundary: tuple[TensorPlace, ...]
    widths: Mapping[TensorPlace, float]
    groups: tuple[PmappingGroup, ...]
    solution: PmappingSolution
    space: Mapspace
    loop_names: Mapping[str, str]

    def numbered(self, number: int) -> PmappingTable:
        """Return a copy of the table whose groups note that it has this number.

        One Einsum may have several tables, one per compute and set of tensors on chip.
        """
        return replace(self, groups=tuple(replace(group, table=number) for group in self.groups))


def named_table(
    solution: PmappingSolution,
    space: Mapspace,
    boundary: tuple[TensorPlace, ...],
    memories: Sequence[str],
    loop_names: Mapping[str, str],
) -> PmappingTable:
    """Turn a solution in numbers into the table of one Einsum, under its names.

    `solution`: pmappings of this Einsum or of an equal one under other names. `space`: the mapspace
    of this Einsum. `boundary`: the (tensor, memory) pairs in which its tensors may stay on chip.
    `memories`: names of the exchange memories and of Tolls, for which widths are noted.
    `loop_names`: for each rank variable its name common to all Einsums.
    """
    widths = value_widths(space, memories)
    naming = _Naming(solution, space, boundary, loop_names)
    bits = naming.solved_widths(widths)
    groups = tuple(
        naming.group(compatibility, block, bits)
        for compatibility, block in solution.blocks.items()
        if len(block.states)
    )
    return PmappingTable(space.einsum, boundary, widths, groups, solution, space, loop_names)


class _Naming:
    """Translates a solution, which equal Einsums share, into the names of one Einsum."""

    def __init__(
        self,
        solution: PmappingSolution,
        space: Mapspace,
        boundary: tuple[TensorPlace, ...],
        loop_names: Mapping[str, str],
    ) -> None:
        self._solution = solution
        self._boundary = boundary
        solved, named = solution.space.einsum.tensors, space.einsum.tensors
        self._new_names = dict(zip(solved, named, strict=True))
        self._solved_names = dict(zip(named, solved, strict=True))
        self._variables = tuple(loop_names[v] for v in space.einsum.bounds)

    def solved_widths(self, widths: Mapping[TensorPlace, float]) -> dict[TensorPlace, float]:
        """Return the bits per value at each boundary place, by the solution's tensor names."""
        return {
            TensorPlace(self._solved_names[place.tensor], place.memory): widths[place]
            for place in self._boundary
        }

    def group(
        self,
        compatibility: NumberedCompatibility,
        block: PmappingBlock,
        widths: Mapping[TensorPlace, float],
    ) -> PmappingGroup:
        """Return one block of pmappings as a group under the Einsum's names.

        `compatibility`: its fused loops and tensors on chip. `widths`: bits per value (see
        solved_widths).
        """
        states, starts = np.unique(block.states, return_index=True)
        lattice = self._solution.engine.lattice
        order = _column_order(compatibility, self._variables)
        loop_order, spatial = compatibility.order, compatibility.spatial_loops
        tiles = tiles_below(loop_order, spatial, lattice.bounds, lattice.tiles[states])
        depths = {self._renamed(place): depth for place, depth in compatibility.depths}
        return PmappingGroup(
            tuple(_loop_name(compatibility, self._variables, column) for column in order),
            tuple(depths.get(place, -1) for place in self._boundary),
            tuple(
                tensor._replace(place=self._renamed(tensor.place))
                for tensor in compatibility.held_tensors
            ),
            tiles[:, order],
            _tensor_bits(self._solution, compatibility, states, widths),
            np.append(starts, len(block.states)).astype(np.int64),
            block.values,
            block.origins,
        )

    def _renamed(self, place: TensorPlace) -> TensorPlace:
        return TensorPlace(self._new_names[place.tensor], place.memory)


def _column_order(compatibility: NumberedCompatibility, variables: Sequence[str]) -> list[int]:
    """Return the positions of the loops in an order that all Einsums agree about.

    Temporal loops stay. Spatial loops right after each other are sorted by component, dimension and
    variable name.
    """

    def position(column: int) -> tuple[tuple[int, ...], str]:
        loop = compatibility.spatial_loops[-1 - compatibility.order[column][0]]
        return loop.position, variables[loop.variable]

    columns: list[int] = []
    numbers = range(len(compatibility.order))
    for is_spatial, run in groupby(numbers, lambda column: compatibility.order[column][0] < 0):
        same_kind = list(run)
        columns += sorted(same_kind, key=position) if is_spatial else same_kind
    return columns


def _loop_name(
    compatibility: NumberedCompatibility, variables: Sequence[str], column: int
) -> LoopName:
    number = compatibility.order[column][0]
    if number >= 0:
        return LoopName(variables[number])
    loop = compatibility.spatial_loops[-1 - number]
    return LoopName(variables[loop.variable], loop.dim)


def _tensor_bits(
    solution: PmappingSolution,
    compatibility: NumberedCompatibility,
    states: Ints,
    widths: Mapping[TensorPlace, float],
) -> Floats:
    """Return the bits of each boundary tensor's tile below its loops; (states, boundary).

    0 where it is not on chip. `widths`: bits per value, in the order of the boundary.
    """
    lattice = solution.engine.lattice
    depths = dict(compatibility.depths)
    bits = np.zeros((len(states), len(widths)))
    for column, (place, width) in enumerate(widths.items()):
        if place in depths:
            upper = compatibility.order[: depths[place]]
            deeper = compatibility.order[depths[place] :]
            lanes = [compatibility.spatial_loops[-1 - number] for number, _ in upper if number < 0]
            tile_states = with_tiles(lattice, states, tiles_above(upper, deeper))
            access = solution.space.einsum.access(place.tensor)
            bits[:, column] = (
                lattice.occupancy(access)[tile_states - lane_stride(lattice, lanes)] * width
            )
    return bits


def value_widths(space: Mapspace, memories: Sequence[str]) -> dict[TensorPlace, float]:
    """Return the bits per value of each tensor of an Einsum in each of some memories.

    Keys are (tensor, memory). 0 for a Toll, and for a memory that is not on the Einsum's path.
    """
    widths: dict[TensorPlace, float] = {}
    seen = {c.name: c for c in space.flat.components if isinstance(c, Memory)}
    for access in space.einsum.accesses:
        for memory in memories:
            width = Fraction(0)
            if memory in seen:
                bits_per_value = seen[memory].bits_per_value
                width = Fraction(bits_per_value.get(access.tensor, access.bits_per_value))
            widths[TensorPlace(access.tensor, memory)] = float(width)
    return widths
