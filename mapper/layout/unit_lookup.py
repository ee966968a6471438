"""Which unit each cell of a virtual grid is, and back: by formula, or by a table (layouts.md §5).

Maps that number cells and units, and maps whose coordinates are those of the grid, have a formula
for both directions; any other map is evaluated for every cell once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import Protocol

import numpy as np

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.affine_map import (
    AffineMap,
    QuasiAffine,
    constant,
    dim,
    floordiv,
    mod,
    plus,
    times,
)

Cell = tuple[int, ...]
Unit = tuple[int, ...]


class UnitLookup(Protocol):
    """Unit of each cell, and the cell of each unit."""

    def unit(self, cell: Sequence[int]) -> Unit:
        """Return the unit of a cell of the grid."""
        ...

    def cell(self, unit: Unit) -> Cell | None:
        """Return the cell of a unit, None if no cell is that unit."""
        ...


@dataclass(frozen=True, slots=True)
class NumberedLookup:
    """Lookup by number: cell n, counted row-major in `grid`, is unit n.

    `units`: their extents. `axes`: dimensions of the units in the order in which they count, the
    fastest first.
    """

    grid: tuple[int, ...]
    units: tuple[int, ...]
    axes: tuple[int, ...]

    def unit(self, cell: Sequence[int]) -> Unit:
        """Return the unit of a cell; SpecError for a cell outside the grid."""
        number, result = number_in(self.grid, cell), [0] * len(self.units)
        for axis in self.axes:
            number, result[axis] = divmod(number, self.units[axis])
        return tuple(result)

    def cell(self, unit: Unit) -> Cell | None:
        """Return the cell of a unit, None if no cell is that unit."""
        if not _inside(unit, self.units):
            return None
        number = 0
        for axis in reversed(self.axes):
            number = number * self.units[axis] + unit[axis]
        return digits(self.grid, number) if number < prod(self.grid) else None


@dataclass(frozen=True, slots=True)
class CoordinateLookup:
    """Coordinates of a unit are coordinates of its cell, or 0.

    `sources`: for each coordinate of a unit, the dimension of the grid; None where it is 0. Every
    dimension of more than one cell stands in it once.
    """

    grid: tuple[int, ...]
    units: tuple[int, ...]
    sources: tuple[int | None, ...]

    def unit(self, cell: Sequence[int]) -> Unit:
        """Return the unit of a cell."""
        return tuple(0 if source is None else cell[source] for source in self.sources)

    def cell(self, unit: Unit) -> Cell | None:
        """Return the cell of a unit, None if no cell is that unit."""
        if not _inside(unit, self.units):
            return None
        result = [0] * len(self.grid)
        for at, source in zip(unit, self.sources, strict=True):
            if source is None and at:
                return None
            if source is not None:
                result[source] = at
        return tuple(result) if _inside(result, self.grid) else None


@dataclass(frozen=True, slots=True)
class TableLookup:
    """Lookup by table: the unit of each cell, and the cell of each unit.

    `units_by_number`: by the row-major number of the cell in `grid`.
    """

    grid: tuple[int, ...]
    units_by_number: tuple[Unit, ...]
    cells: dict[Unit, Cell]

    def unit(self, cell: Sequence[int]) -> Unit:
        """Return the unit of a cell."""
        return self.units_by_number[number_in(self.grid, cell)]

    def cell(self, unit: Unit) -> Cell | None:
        """Return the cell of a unit, None if no cell is that unit."""
        return self.cells.get(unit)


@lru_cache(maxsize=4096)
def lookup_of(grid: tuple[int, ...], units: tuple[int, ...], affine: AffineMap) -> UnitLookup:
    """Return the lookup of a map of cells to units.

    Raises SpecError for a cell outside the units and for two cells on one unit, with these cells.
    """
    if prod(grid) <= prod(units):
        for by_column in (False, True):
            if affine == numbered_map(grid, units, by_column):
                return NumberedLookup(grid, units, _axes(units, by_column))
    sources = _sources(grid, units, affine)
    return table_lookup(grid, units, affine) if sources is None else sources


def table_lookup(grid: tuple[int, ...], units: tuple[int, ...], affine: AffineMap) -> TableLookup:
    """Evaluate a map for every cell; raises SpecError like `lookup_of`."""
    index = [axis.ravel() for axis in np.indices(grid, dtype=np.int64)]
    columns = np.array(affine.values(index), dtype=np.int64).reshape(len(units), prod(grid))
    inside = np.all((columns >= 0) & (units > columns.T).T, axis=0)
    if not inside.all():
        number = int(np.argmin(inside))
        outside = tuple(int(axis[number]) for axis in index)
        raise SpecError(
            f"cell {outside} of a grid of {grid} maps to unit "
            f"{tuple(columns[:, number].tolist())}, outside the units {units}",
            value=str(affine),
        )
    cells: dict[Unit, Cell] = {}
    by_number = tuple(map(tuple, columns.T.tolist()))
    for cell, unit in zip(product(*map(range, grid)), by_number, strict=True):
        if unit in cells:
            raise SpecError(
                f"cells {cells[unit]} and {cell} are both unit {unit}",
                value=str(affine),
                instead="a map with one unit per cell, or round_robin for several shards per unit",
            )
        cells[unit] = cell
    return TableLookup(grid, by_number, cells)


@lru_cache(maxsize=4096)
def numbered_map(
    grid: tuple[int, ...], units: tuple[int, ...], by_column: bool = False
) -> AffineMap:
    """Return the map of cell n, row-major, to unit n modulo the units.

    `by_column`: units are numbered column-major (else row-major).
    """
    number = number_of([(dim(axis), cells) for axis, cells in enumerate(grid)])
    return AffineMap(len(grid), _unit_of(number, units, _axes(units, by_column)))


def number_of(positions: Sequence[tuple[QuasiAffine, int]]) -> QuasiAffine:
    """Return the expression for the row-major number of digits given as (value, radix)."""
    total, behind = constant(0), 1
    for value, radix in reversed(positions):
        if radix > 1:
            total = plus(times(value, behind), total)
        behind *= radix
    return total


def number_in(shape: Sequence[int], index: Sequence[int]) -> int:
    """Return the row-major number of an index; raise SpecError outside the shape."""
    if not _inside(index, shape):
        raise SpecError(f"cell or unit outside a grid of {tuple(shape)}", value=tuple(index))
    number = 0
    for at, extent in zip(index, shape, strict=True):
        number = number * extent + at
    return number


def digits(shape: Sequence[int], number: int) -> tuple[int, ...]:
    """Return the index at row-major number `number` in `shape`: the inverse of `number_in`."""
    result = []
    for extent in reversed(shape):
        number, at = divmod(number, extent)
        result.append(at)
    return tuple(reversed(result))


def _inside(index: Sequence[int], shape: Sequence[int]) -> bool:
    return len(index) == len(shape) and all(
        0 <= at < extent for at, extent in zip(index, shape, strict=True)
    )


def _axes(units: Sequence[int], by_column: bool) -> tuple[int, ...]:
    axes = range(len(units))
    return tuple(axes if by_column else reversed(axes))


def _unit_of(
    number: QuasiAffine, units: tuple[int, ...], axes: Iterable[int]
) -> tuple[QuasiAffine, ...]:
    """Return the coordinates of the unit with a number; `axes`: dimensions, the fastest first."""
    results = [constant(0)] * len(units)
    behind = 1
    for axis in axes:
        results[axis] = mod(floordiv(number, behind), units[axis])
        behind *= units[axis]
    return tuple(results)


def _sources(
    grid: tuple[int, ...], units: tuple[int, ...], affine: AffineMap
) -> CoordinateLookup | None:
    """Return a lookup if each coordinate of a unit is one of its cell's or 0; else None."""
    sources: list[int | None] = []
    for result, extent in zip(affine.results, units, strict=True):
        if result.operator == "dim":
            if grid[result.number] > extent:
                return None
            sources.append(result.number)
        elif result == constant(0):
            sources.append(None)
        else:
            return None
    if not _names_wide_axes_once(grid, sources):
        return None
    return CoordinateLookup(grid, units, tuple(sources))


def _names_wide_axes_once(grid: Sequence[int], sources: Sequence[int | None]) -> bool:
    """Tell whether each axis of the grid with several cells stands in `sources` just once.

    No axis may stand there twice.
    """
    named = [source for source in sources if source is not None]
    wide = {axis for axis, cells in enumerate(grid) if cells > 1}
    return len(named) == len(set(named)) and wide <= set(named)
