"""The grid that a public compiler gives a tensor: largest divisors, or a virtual grid (§7.4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, prod
from typing import Final, Literal

from tilewright.arch.errors import SpecError
from tilewright.mapper.mapspace.factors import divisors

LEAST_BLOCK_USE: Final = Fraction(1, 2)
LEAST_VIRTUAL_USE: Final = Fraction(1, 4)


@dataclass(frozen=True, slots=True)
class SelectedGrid:
    """Hold a selected grid: `grid` of cells, the `physical` rectangle of units, and its kind."""

    grid: tuple[int, ...]
    physical: tuple[int, int]
    kind: Literal["block", "virtual-1d", "virtual-nd"]

    @property
    def cores(self) -> int:
        """Number of units that are used."""
        return prod(self.grid)


def select_grid(extents: Sequence[int], device: tuple[int, int]) -> SelectedGrid:
    """Return the grid that tt-mlir's D2M grid selection gives a physical shape in tiles.

    Per dimension the largest divisor that the device has; if that uses less than half of the units,
    or the rank is not 2, a virtual grid: all factors along the most elongated dimension (rank 2) or
    along all, with the greatest product that forms a rectangle on the device. A virtual grid of
    rank 2 with a quarter of the units or less is not taken (layouts.md §7.4). Raises SpecError for
    numbers below 1 and for a rank below 2.
    """
    if len(extents) < 2 or any(extent < 1 for extent in (*extents, *device)):
        raise SpecError("a grid is selected for two or more extents", value=tuple(extents))
    block = _block_grid(extents, device)
    if len(extents) > 2:
        grid = _largest_virtual_grid(extents, device)
        return SelectedGrid(grid, rectangle(prod(grid), device) or (1, 1), "virtual-nd")
    if prod(block) < LEAST_BLOCK_USE * prod(device):
        elongated = _elongated_grid(extents, device)
        if elongated and prod(elongated) > LEAST_VIRTUAL_USE * prod(device):
            physical = rectangle(prod(elongated), device) or (1, 1)
            return SelectedGrid(elongated, physical, "virtual-1d")
    return SelectedGrid(block, (block[-2], block[-1]), "block")


def rectangle(cells: int, device: tuple[int, int]) -> tuple[int, int] | None:
    """Return the rectangle of `cells` units nearest to a square that fits a device, or None."""
    for side in range(isqrt(cells), 0, -1):
        if cells % side == 0:
            for rows, columns in ((side, cells // side), (cells // side, side)):
                if rows <= device[0] and columns <= device[1]:
                    return rows, columns
    return None


def _block_grid(extents: Sequence[int], device: tuple[int, int]) -> tuple[int, ...]:
    lead = (1,) * (len(extents) - 2)
    pairs = zip(extents[-2:], device, strict=True)
    return lead + tuple(max(d for d in divisors(x) if d <= most) for x, most in pairs)


def _elongated_grid(extents: Sequence[int], device: tuple[int, int]) -> tuple[int, ...] | None:
    axis = 1 if extents[1] > extents[0] else 0
    for cells in reversed(divisors(extents[axis])):
        if cells <= prod(device) and rectangle(cells, device):
            return (1, cells) if axis else (cells, 1)
    return None


def _largest_virtual_grid(extents: Sequence[int], device: tuple[int, int]) -> tuple[int, ...]:
    best = (1,) * len(extents)
    for grid in _grids([divisors(x) for x in extents], prod(device)):
        if prod(grid) > prod(best) and rectangle(prod(grid), device):
            best = grid
    return best


def _grids(factors: Sequence[Sequence[int]], most: int) -> Iterator[tuple[int, ...]]:
    """Yield the products of factors with at most `most` cells, in lexicographic order."""
    if not factors:
        yield ()
        return
    for factor in factors[0]:
        if factor <= most:
            yield from ((factor, *rest) for rest in _grids(factors[1:], most // factor))
