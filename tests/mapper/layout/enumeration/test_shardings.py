"""Distinct shardings against trying every grid."""

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import Collapse, GridSplit, Tiling, number_format
from tilewright.mapper.layout.enumeration.shardings import (
    distinct_grids,
    distinct_splits,
    grid_shardings,
    most_cells_sharding,
    shardings,
)
from tilewright.mapper.layout.schemes.tensor_shardings import ShardedTensor

TILES = Tiling((32, 32), number_format("bf16"))


@pytest.mark.parametrize(
    ("shape", "counts"),
    [((256, 512, 32), (64, 1, 8)), ((1024, 1024), (11, 11, 64))],
)
def test_numbers_of_distinct_shardings(shape: tuple[int, ...], counts: tuple[int, ...]) -> None:
    """8 × 8 units: height, width and block of the documented sizes (theory/layouts.md §10)."""
    tensor = ShardedTensor(shape, (1, 8, 8), TILES)
    found = tuple(len(list(shardings(tensor, (kind,)))) for kind in ("height", "width", "block"))
    assert found == counts


@pytest.mark.row("004.33")
def test_the_most_cells_are_the_baseline() -> None:
    assert most_cells_sharding(ShardedTensor((1024, 1024), (1, 8, 8), TILES)).split.cells == 64
    primes = most_cells_sharding(ShardedTensor((11 * 32, 13 * 32), (1, 8, 8), TILES))
    assert primes.split.cells == 55  # one core by divisors only (theory/layouts.md §7.4)
    assert primes.phantom_cells == ()


@given(st.integers(1, 80), st.integers(1, 80))
def test_each_shard_has_its_smallest_grid(extent: int, most: int) -> None:
    smallest: dict[int, int] = {}
    for cells in range(1, most + 1):
        smallest.setdefault(-(-extent // cells), cells)
    assert list(distinct_splits(extent, most)) == sorted(smallest.values())
    for cells in distinct_splits(extent, most):
        assert GridSplit.ceil((extent,), (cells,)).empty_count == 0


@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), st.integers(1, 12))
def test_grids_against_trying_all(extents: list[int], most: int) -> None:
    """Dominance: every grid has one of the listed ones with its shard shape and no more cells."""
    listed = {
        GridSplit.ceil(extents, grid).shard_shape: grid for grid in distinct_grids(extents, most)
    }
    tried: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for grid in product(*(range(1, most + 1) for _ in extents)):
        if prod(grid) <= most:
            tried.setdefault(GridSplit.ceil(extents, grid).shard_shape, []).append(grid)
    assert tried.keys() == listed.keys()
    for shard, grids in tried.items():
        assert listed[shard] in grids
        for grid in grids:
            assert all(a <= b for a, b in zip(listed[shard], grid, strict=True))
            smaller, larger = (GridSplit.ceil(extents, g) for g in (listed[shard], grid))
            for cell in product(*map(range, smaller.grid)):
                assert smaller.valid(cell) == larger.valid(cell)
            assert larger.empty_count == larger.cells - smaller.cells


def test_grids_of_three_dimensions_are_maps_onto_the_units() -> None:
    tensor = ShardedTensor((3, 64, 96), (1, 2, 4), TILES)
    found = list(grid_shardings(tensor, Collapse.of((3, 64, 96), ())))
    assert {layout.grid for layout in found} == {
        (a, b, c) for a, b, c in product((1, 2, 3), (1, 2), (1, 2, 3)) if a * b * c <= 8
    }
    assert all(layout.grid_map.units == (1, 2, 4) for layout in found)
    with pytest.raises(SpecError, match="1 or more"):
        distinct_splits(0, 3)
