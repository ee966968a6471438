"""The layout of a tensor: collapse, split, tile, map and place, composed (layouts.md §6).

Example: 53 × 63 scalars of bf16 on a grid of 3 × 2 units with tiles of 32 × 32: each unit has one
tile of 2048 bytes, with data in 18 × 32 scalars of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Literal, get_args

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.collapse import Collapse
from tilewright.mapper.layout.grid_map import GridMap, identity
from tilewright.mapper.layout.grid_split import GridSplit
from tilewright.mapper.layout.tile_placement import TilePlacement, whole_shard
from tilewright.mapper.layout.tiling import Tiling
from tilewright.mapper.layout.unit_lookup import Cell, Unit

Index = tuple[int, ...]
MemorySpace = Literal["system", "mmio", "dram", "l1", "psum", "sbuf"]
Padding = Literal["undef", "zero", "one", "inf", "neginf"]


@dataclass(frozen=True, slots=True)
class Location:
    """Where a scalar lies: physical unit, place of its tile in the unit's memory, and in the tile.

    `bank`, `partition`, `address`: of the tile, the last in bytes; `scalar`: position in the tile
    (row-major; 0 without tiles); `block`: index of the block, which tells apart what takes turns in
    one place.
    """

    unit: Unit
    bank: int
    partition: int
    address: int
    scalar: int
    block: Index


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Say where every scalar of a tensor lies: on which unit, in which tile, at which address.

    Five parts, each with an exact inverse (theory/layouts.md §6): `collapse` joins dimensions to
    groups; `split` deals each group over the cells of a virtual grid; `tiling` stores a shard in
    tiles; `grid_map` says which physical unit a cell is; `place` gives the blocks of a shard their
    bank, partition and address. `memory`: the memory space of all units; a tensor is in one only.
    `padding_value`: what stands in allocated scalars without data. Raises SpecError if the parts do
    not fit each other.
    """

    collapse: Collapse
    split: GridSplit
    tiling: Tiling
    grid_map: GridMap
    place: TilePlacement
    memory: MemorySpace = "l1"
    padding_value: Padding = "undef"

    def __post_init__(self) -> None:
        if self.memory not in get_args(MemorySpace):
            raise SpecError(f"no memory space {self.memory!r}", instead=str(get_args(MemorySpace)))
        if self.padding_value not in get_args(Padding):
            raise SpecError(
                f"no value of padding {self.padding_value!r}", instead=", ".join(get_args(Padding))
            )
        if self.split.extents != self.collapse.extents:
            raise SpecError(
                "the split divides other extents than the collapse has",
                value=self.split.extents,
                instead=str(self.collapse.extents),
            )
        if self.grid_map.grid != self.split.grid:
            raise SpecError(
                "the map is of another grid than the split",
                value=self.grid_map.grid,
                instead=str(self.split.grid),
            )
        self._check_place()

    @classmethod
    def on_grid(
        cls,
        collapse: Collapse,
        split: GridSplit,
        tiling: Tiling | None = None,
        grid_map: GridMap | None = None,
        memory: MemorySpace = "l1",
    ) -> Layout:
        """Compose a layout with each shard in one block at address 0.

        Without `tiling`, tiles are single f32 scalars; without `grid_map`, each cell is a unit.
        """
        tiles = tiling or Tiling()
        return cls(
            collapse=collapse,
            split=split,
            tiling=tiles,
            grid_map=grid_map or identity(split.grid),
            place=whole_shard(prod(tiles.tiles(split.shard_shape)) * tiles.tile_bytes),
            memory=memory,
        )

    @property
    def shape(self) -> Index:
        """Extents of the tensor."""
        return self.collapse.shape

    @property
    def grid(self) -> Index:
        """Cells of the virtual grid along each group."""
        return self.split.grid

    @property
    def shard_shape(self) -> Index:
        """Positions of a shard along each group, without the rounding to tiles."""
        return self.split.shard_shape

    @property
    def shard_tiles(self) -> Index:
        """Tiles that each cell allocates along each group, a part of a tile counted as one."""
        return self.tiling.tiles(self.split.shard_shape)

    @property
    def allocated_shape(self) -> Index:
        """Positions that each cell allocates along each group: whole tiles."""
        return self.tiling.allocated(self.split.shard_shape)

    @property
    def shard_bytes(self) -> int:
        """Bytes of one shard with its padding, without blocks that take turns."""
        return prod(self.shard_tiles) * self.tiling.tile_bytes

    @property
    def block_shape(self) -> Index:
        """Positions of one block of a shard along each group."""
        blocks = self.place.blocks or (1,) * len(self.grid)
        pairs = zip(self.allocated_shape, blocks, strict=True)
        return tuple(extent // count for extent, count in pairs)

    @property
    def bytes_per_unit(self) -> int:
        """Bytes that a unit's memory needs: all physical tiles of its shards, in all partitions."""
        place = self.place
        return place.physical_tiles * place.tile_bytes * place.partitions * self.grid_map.most_slots

    @property
    def slot_bytes(self) -> int:
        """Bytes from one shard of a unit to the next."""
        return self.place.footprint - min(self.place.address.base, self.place.address.last)

    @property
    def end_address(self) -> int:
        """Address behind the last byte of a unit's shards, in each partition and bank."""
        first = min(self.place.address.base, self.place.address.last)
        return first + self.slot_bytes * self.grid_map.most_slots

    @property
    def allocated_scalars(self) -> int:
        """Scalars that all cells allocate."""
        return prod(self.allocated_shape) * self.split.cells

    @property
    def padding_total(self) -> int:
        """Allocated scalars without data, of all cells together, empty ones included."""
        return self.allocated_scalars - self.collapse.volume

    @property
    def phantom_cells(self) -> tuple[Cell, ...]:
        """Cells that hold no scalar of the tensor at all, in row-major order."""
        if not self.collapse.holes:
            return self.split.empty_cells()
        if not self.collapse.separable:
            return tuple(cell for cell in self.cells() if not self.valid(cell))
        empty = self._empty_coordinates()
        if not any(empty):
            return ()
        return tuple(
            cell
            for cell in self.cells()
            if any(at in without for at, without in zip(cell, empty, strict=True))
        )

    def _empty_coordinates(self) -> list[set[int]]:
        """Return, per group, the grid coordinates at which no cell holds a scalar."""
        return [{at for at, held in enumerate(row) if not held} for row in self._held()]

    @property
    def phantom_count(self) -> int:
        """Number of cells that hold no scalar of the tensor."""
        if not self.collapse.holes:
            return self.split.empty_count
        if not self.collapse.separable:
            return len(self.phantom_cells)
        used = prod(sum(held > 0 for held in row) for row in self._held())
        return self.split.cells - used

    @property
    def strides(self) -> Index:
        """Elements between neighbours along each dimension of the collapsed tensor, row-major."""
        return self.collapse.strides

    def cells(self) -> Iterator[Cell]:
        """Return the cells of the virtual grid in row-major order."""
        return product(*(range(count) for count in self.grid))

    def owner(self, index: Sequence[int]) -> tuple[Cell, Index]:
        """Return the cell that holds a scalar of the tensor, and its offset in the cell's shard."""
        return self.split.owner(self.collapse.coordinates(index))

    def index(self, cell: Sequence[int], offset: Sequence[int]) -> Index | None:
        """Return which scalar stands at an offset of a cell's shard; None if that is padding.

        The inverse of `owner`.
        """
        coordinates = self.split.coordinates(cell, offset)
        return None if coordinates is None else self.collapse.index(coordinates)

    def locate(self, index: Sequence[int]) -> Location:
        """Return where a scalar of the tensor lies."""
        cell, offset = self.owner(index)
        block, inside = self._in_block(offset)
        place = self.place.at(block if self.place.blocks else ())
        step, inside = self._partition_of(inside)
        tile, scalar = self.tiling.position(inside, self._tile_box())
        slot = self.grid_map.slot(cell)
        return Location(
            unit=self.grid_map.unit(cell),
            bank=place.bank,
            partition=place.partition + step,
            address=place.address + slot * self.slot_bytes + tile * self.tiling.tile_bytes,
            scalar=scalar,
            block=block,
        )

    def index_at(self, location: Location) -> Index | None:
        """Return the scalar at a location; None if padding or nothing of this tensor is there.

        The inverse of `locate`.
        """
        place = self.place.at(location.block if self.place.blocks else ())
        slot, within = divmod(location.address - place.address, self.slot_bytes)
        cells = self.grid_map.cells(location.unit)
        tile, rest = divmod(within, self.tiling.tile_bytes)
        step = location.partition - place.partition
        box = self._tile_box()
        outside = rest or not 0 <= slot < len(cells) or tile >= prod(self.tiling.tiles(box))
        if outside or not 0 <= step < self.place.partitions or location.bank != place.bank:
            return None
        inside = list(self.tiling.offset(tile, location.scalar, box))
        if self.place.partition_axis is not None:
            inside[self.place.partition_axis] = step
        rows = zip(location.block, self.block_shape, inside, strict=True)
        return self.index(cells[slot], [number * side + at for number, side, at in rows])

    def valid(self, cell: Sequence[int]) -> int:
        """Return how many scalars of the tensor a cell holds."""
        if not self.collapse.holes:
            return prod(self.split.valid(cell))
        if not self.collapse.separable:
            return sum(self.index(cell, offset) is not None for offset in self._offsets())
        return prod(self._held_at(group, at) for group, at in enumerate(cell))

    def padding(self, cell: Sequence[int]) -> int:
        """Return the number of scalars that a cell allocates without data of the tensor in them."""
        return prod(self.allocated_shape) - self.valid(cell)

    def with_tiling(self, tiling: Tiling) -> Layout:
        """Return the layout with shards in other tiles, each in one block at address 0.

        Who owns which scalar stays the same, so that to tilize and untilize is a round trip.
        """
        whole = Layout.on_grid(self.collapse, self.split, tiling, self.grid_map, self.memory)
        return replace(whole, padding_value=self.padding_value)

    def _repr_svg_(self) -> str | None:
        """Return the picture that a notebook shows, None where there is too much to draw."""
        from tilewright.mapper.layout.queries.picture import layout_picture

        try:
            return layout_picture(self)
        except SpecError:
            return None

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the picture and the page of text."""
        from html import escape

        from tilewright.mapper.layout.queries.explanation import explain

        return f"{self._repr_svg_() or ''}<pre>{escape(explain(self))}</pre>"

    def with_place(self, place: TilePlacement) -> Layout:
        """Return the same layout with its blocks placed in another way."""
        return replace(self, place=place)

    def _held(self) -> list[list[int]]:
        """Number of positions with data along each group, by grid coordinate of the cells."""
        return [
            [self._held_at(group, at) for at in range(cells)]
            for group, cells in enumerate(self.grid)
        ]

    def _held_at(self, group: int, at: int) -> int:
        """Return how many positions with data along a group are in the cells at coordinate `at`."""
        count = self.collapse.count_below
        return sum(
            count(group, start + length) - count(group, start)
            for _, start, length in self.split.runs(group, at)
        )

    def _offsets(self) -> Iterator[Index]:
        return product(*(range(extent) for extent in self.shard_shape))

    def _in_block(self, offset: Sequence[int]) -> tuple[Index, Index]:
        pairs = [divmod(at, side) for at, side in zip(offset, self.block_shape, strict=True)]
        return tuple(block for block, _ in pairs), tuple(inside for _, inside in pairs)

    def _partition_of(self, inside: Sequence[int]) -> tuple[int, Index]:
        axis = self.place.partition_axis
        if axis is None:
            return 0, tuple(inside)
        return inside[axis], (*inside[:axis], 0, *inside[axis + 1 :])

    def _tile_box(self) -> Index:
        """Return the positions of a block in one partition, along each group."""
        axis, shape = self.place.partition_axis, self.block_shape
        return shape if axis is None else (*shape[:axis], 1, *shape[axis + 1 :])

    def _check_place(self) -> None:
        sides = self.tiling.full_sides(len(self.grid))
        self._check_blocks(sides)
        self._check_partitions(sides)

    def _check_blocks(self, sides: Index) -> None:
        place, rank = self.place, len(self.grid)
        blocks = place.blocks or (1,) * rank
        if len(blocks) != rank or any(
            extent % (count * side)
            for extent, count, side in zip(self.allocated_shape, blocks, sides, strict=True)
        ):
            raise SpecError(
                f"blocks {blocks} do not cut a shard of {self.allocated_shape} into whole tiles",
                value=place.blocks,
                instead="along each group a divisor of the shard's tiles",
            )

    def _check_partitions(self, sides: Index) -> None:
        place = self.place
        axis = place.partition_axis
        if axis is not None and (not 0 <= axis < len(sides) or sides[axis] != 1):
            raise SpecError("partitions run over a group whose tiles have one position", value=axis)
        partitions = 1 if axis is None else self.block_shape[axis]
        needed = prod(self.tiling.tiles(self._tile_box())) * self.tiling.tile_bytes
        if place.partitions != partitions or place.tile_bytes != needed:
            raise SpecError(
                f"blocks take {needed} bytes in each of {partitions} partitions, the placement "
                f"has {place.tile_bytes} in {place.partitions}",
                value=(place.tile_bytes, place.partitions),
                instead=f"tile_bytes={needed}, partitions={partitions}",
            )
