"""Map the cells of a virtual grid to physical units, on one or several devices (layouts.md §5).

Example: a grid of 1 × 64 cells on 8 × 8 units, row-major: cell (0, 10) is unit (0, 1, 2) of device
0, row 1, column 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Final

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.affine_map import AffineMap, constant, dim, floordiv, mod, plus
from tilewright.mapper.layout.unit_lookup import (
    Cell,
    Unit,
    digits,
    lookup_of,
    number_in,
    number_of,
    numbered_map,
)

MOST_CELLS: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class GridMap:
    """Say which physical unit each cell of a virtual grid is.

    `grid`: cells along each dimension. `units`: extents of the physical units, of any rank; with
    devices, the first is the device: (devices, rows, columns). `affine`: unit of a cell. `dealt`:
    cells, numbered row-major, are dealt to the units in turn, so that a unit may hold several
    shards, in slots 0, 1, ... (`round_robin`). Raises SpecError for a cell outside the units, for
    two cells on one unit, with these cells, and for a dealt map whose expression is not that of
    `round_robin`.
    """

    grid: tuple[int, ...]
    units: tuple[int, ...]
    affine: AffineMap
    dealt: bool = False

    def __post_init__(self) -> None:
        if any(extent < 1 for extent in (*self.grid, *self.units)):
            raise SpecError("grids and units have 1 or more along each dimension", value=self.grid)
        if self.dealt:
            if self.affine != numbered_map(self.grid, self.units):
                raise SpecError("a dealt map is made by round_robin", value=str(self.affine))
            return
        if prod(self.grid) > MOST_CELLS or prod(self.units) > MOST_CELLS:
            raise SpecError(f"a grid of more than {MOST_CELLS} cells", value=self.grid)
        if self.affine.rank != len(self.grid) or len(self.affine.results) != len(self.units):
            raise SpecError(
                f"a map of {self.affine.rank} to {len(self.affine.results)} dimensions for a grid "
                f"of {len(self.grid)} and units of {len(self.units)}",
                value=str(self.affine),
            )
        lookup_of(self.grid, self.units, self.affine)

    @property
    def unit_count(self) -> int:
        """Number of physical units, used or not."""
        return prod(self.units)

    @property
    def used_units(self) -> int:
        """Number of units that hold at least one cell."""
        return min(prod(self.grid), self.unit_count)

    @property
    def most_slots(self) -> int:
        """Most cells that one unit holds: slots for shards in its memory."""
        return -(-prod(self.grid) // self.unit_count) if self.dealt else 1

    def unit(self, cell: Sequence[int]) -> Unit:
        """Return the unit of a cell; SpecError for a cell outside the grid."""
        number = number_in(self.grid, cell)
        if self.dealt:
            return digits(self.units, number % self.unit_count)
        return lookup_of(self.grid, self.units, self.affine).unit(cell)

    def slot(self, cell: Sequence[int]) -> int:
        """Return the slot in its unit that a cell's shard has, from 0; always 0 unless `dealt`."""
        number = number_in(self.grid, cell)
        return number // self.unit_count if self.dealt else 0

    def cells(self, unit: Sequence[int]) -> tuple[Cell, ...]:
        """Return the cells of a unit, by slot; empty for a unit that no cell uses.

        The inverse of `unit` and `slot`.
        """
        if not self.dealt:
            cell = lookup_of(self.grid, self.units, self.affine).cell(tuple(unit))
            return () if cell is None else (cell,)
        numbers = range(number_in(self.units, unit), prod(self.grid), self.unit_count)
        return tuple(digits(self.grid, number) for number in numbers)


def identity(grid: Sequence[int]) -> GridMap:
    """Map each cell to the unit of the same coordinates: as many units as cells."""
    return _identity(tuple(grid))


def row_major(grid: Sequence[int], units: Sequence[int]) -> GridMap:
    """Number cells and units row-major; a cell is the unit of its number.

    Example: a grid of 1 × 64 on units (1, 8, 8). Raises SpecError for more cells than units.
    """
    return _linear(tuple(grid), tuple(units), False)


def column_major(grid: Sequence[int], units: Sequence[int]) -> GridMap:
    """Number the cells row-major and the units column-major; a cell is the unit of its number."""
    return _linear(tuple(grid), tuple(units), True)


def round_robin(grid: Sequence[int], units: Sequence[int]) -> GridMap:
    """Deal the cells, row-major, to the units in turn: several shards per unit.

    Example: 4 shards on 3 banks: banks 0, 1, 2, 0.
    """
    affine = numbered_map(tuple(grid), tuple(units))
    return GridMap(tuple(grid), tuple(units), affine, dealt=True)


def staircase(rows: int, columns: int) -> GridMap:
    """Move each row of a grid one unit further to the right, around the edge (systolic skew)."""
    skewed = mod(plus(dim(0), dim(1)), columns)
    affine = AffineMap(2, (constant(0), dim(0), skewed))
    return GridMap((rows, columns), (1, rows, columns), affine)


def device_mesh(mesh: Sequence[int], chip: Sequence[int]) -> GridMap:
    """Cut a virtual grid into one grid of units per device of a mesh.

    `mesh`: devices along each dimension of the virtual grid; `chip`: units of a device, for the
    last dimensions. The virtual grid has mesh[i] * chip[i] cells along dimension i (leading
    dimensions that a chip does not have: mesh[i]). Units are (device, *chip), devices row-major.
    Example: mesh (1, 2), chip (8, 8): cell (2, 10) is unit (1, 2, 2). Raises SpecError for a mesh
    of fewer dimensions than a device.
    """
    lead = len(mesh) - len(chip)
    if lead < 0:
        raise SpecError("a mesh has at least as many dimensions as a device", value=tuple(mesh))
    sides = (1,) * lead + tuple(chip)
    grid = tuple(devices * side for devices, side in zip(mesh, sides, strict=True))
    device = number_of([(floordiv(dim(axis), side), mesh[axis]) for axis, side in enumerate(sides)])
    inner = tuple(
        dim(axis) if mesh[axis] == 1 else mod(dim(axis), sides[axis])
        for axis in range(lead, len(mesh))
    )
    affine = AffineMap(len(mesh), (device, *inner))
    return GridMap(grid, (prod(mesh), *chip), affine)


@lru_cache(maxsize=4096)
def _identity(grid: tuple[int, ...]) -> GridMap:
    return GridMap(grid, grid, AffineMap(len(grid), tuple(map(dim, range(len(grid))))))


@lru_cache(maxsize=4096)
def _linear(grid: tuple[int, ...], units: tuple[int, ...], by_column: bool) -> GridMap:
    if prod(grid) > prod(units):
        raise SpecError(
            f"a grid of {prod(grid)} cells needs as many units, there are {prod(units)}",
            value=grid,
            instead=f"at most {prod(units)} cells, or round_robin for several shards per unit",
        )
    return GridMap(grid, units, numbered_map(grid, units, by_column))
