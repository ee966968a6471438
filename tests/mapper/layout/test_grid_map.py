"""Virtual grids to physical units and back."""

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import AffineMap, GridMap
from tilewright.mapper.layout.grid_map import (
    column_major,
    device_mesh,
    identity,
    round_robin,
    row_major,
    staircase,
)


@pytest.mark.row("004.18")
def test_a_wide_grid_wraps_over_the_units() -> None:
    """1 × 64 cells on 8 × 8 units (layouts.md §5)."""
    wide = row_major((1, 64), (1, 8, 8))
    assert wide.unit((0, 10)) == (0, 1, 2)
    assert wide.cells((0, 7, 7)) == ((0, 63),)
    assert column_major((1, 64), (8, 8)).unit((0, 10)) == (2, 1)


@pytest.mark.row("004.29")
def test_devices_side_by_side() -> None:
    mesh = device_mesh((1, 2), (8, 8))
    assert mesh.grid == (8, 16)
    assert mesh.unit((2, 10)) == (1, 2, 2)
    batch = device_mesh((2, 1, 1), (8, 8))
    assert batch.grid == (2, 8, 8)
    assert batch.unit((1, 5, 1)) == (1, 5, 1)


# Worker grids of tenstorrent/tt-mlir, test/python/device_attr.py: grid, devices, map.
WORKER_GRIDS = [
    ((8, 8), 1, "(d0, d1) -> (0, d0, d1)"),
    ((2, 8, 8), 2, "(d0, d1, d2) -> (d0, d1, d2)"),
    ((4, 8, 8), 4, "(d0, d1, d2) -> (d0, d1, d2)"),
    ((8, 16), 2, "(d0, d1) -> (d1 floordiv 8, d0, d1 mod 8)"),
    ((16, 8), 2, "(d0, d1) -> (d0 floordiv 8, d0 mod 8, d1)"),
    ((16, 32), 8, "(d0, d1) -> (d1 floordiv 8 + (d0 floordiv 8) * 4, d0 mod 8, d1 mod 8)"),
    ((32, 16), 8, "(d0, d1) -> (d1 floordiv 8 + (d0 floordiv 8) * 2, d0 mod 8, d1 mod 8)"),
    ((2, 8, 16), 4, "(d0, d1, d2) -> (d0 * 2 + d2 floordiv 8, d1, d2 mod 8)"),
    ((3, 24, 8), 9, "(d0, d1, d2) -> (d0 * 3 + d1 floordiv 8, d1 mod 8, d2)"),
    ((3, 2, 8, 8), 6, "(d0, d1, d2, d3) -> (d0 * 2 + d1, d2, d3)"),
    ((2, 4, 8), 1, "(d0, d1, d2) -> (0, d0 * 4 + d1, d2)"),
    ((16, 16), 4, "(d0, d1) -> (d1 floordiv 8 + (d0 floordiv 8) * 2, d0 mod 8, d1 mod 8)"),
    ((8, 8), 1, "(d0, d1) -> (0, d1, d0)"),
    ((1, 64), 1, "(d0, d1) -> (0, d0 * 8 + d1 floordiv 8, d1 mod 8)"),
    ((64, 1), 1, "(d0, d1) -> (0, d1 * 8 + d0 floordiv 8, d0 mod 8)"),
    ((8, 8), 1, "(d0, d1) -> (0, d0, (d0 + d1) mod 8)"),
]


@pytest.mark.row("004.17")
@pytest.mark.parametrize(("grid", "devices", "text"), WORKER_GRIDS)
def test_documented_worker_grids_cover_all_units_once(
    grid: tuple[int, ...], devices: int, text: str
) -> None:
    mapped = GridMap(grid, (devices, 8, 8), AffineMap.parse(text))
    assert mapped.used_units == mapped.unit_count == prod(grid)
    for cell in product(*map(range, grid)):
        assert mapped.cells(mapped.unit(cell)) == (cell,)
    assert AffineMap.parse(str(AffineMap.parse(text))) == AffineMap.parse(text)


@pytest.mark.parametrize(
    ("mesh", "text"),
    [((1, 2), WORKER_GRIDS[3][2]), ((2, 4), WORKER_GRIDS[5][2]), ((2, 1, 2), WORKER_GRIDS[7][2])],
)
def test_a_device_mesh_is_the_documented_worker_grid(mesh: tuple[int, ...], text: str) -> None:
    made, documented = device_mesh(mesh, (8, 8)), AffineMap.parse(text)
    for cell in product(*map(range, made.grid)):
        assert made.unit(cell) == documented.value(cell)


def test_a_staircase_is_skewed_by_one_per_row() -> None:
    assert [staircase(8, 8).unit((row, 6)) for row in range(3)] == [(0, 0, 6), (0, 1, 7), (0, 2, 0)]


def test_several_shards_per_unit_have_slots() -> None:
    """4 × 4 × 3 by shards of 2 × 2 × 3 on 3 banks: 2, 1, 1 shards."""
    banks = round_robin((2, 2, 1), (3,))
    assert [len(banks.cells((bank,))) for bank in range(3)] == [2, 1, 1]
    assert banks.most_slots == 2
    assert banks.slot((1, 1, 0)) == 1


def test_maps_that_lose_cells_are_refused() -> None:
    skew = AffineMap.parse("(d0, d1) -> (d0, (d0 * 2 + d1 * 2) mod 4)")
    with pytest.raises(SpecError, match=r"cells \(0, 0\) and \(0, 2\) are both unit \(0, 0\)"):
        GridMap((4, 4), (4, 4), skew)
    with pytest.raises(SpecError, match=r"cell \(2, 0\) .* maps to unit \(2, 0\), outside"):
        GridMap((3, 2), (2, 2), AffineMap.parse("(d0, d1) -> (d0, d1)"))
    with pytest.raises(SpecError, match="a grid of 65 cells needs as many units, there are 64"):
        row_major((1, 65), (8, 8))
    with pytest.raises(SpecError, match="outside a grid"):
        identity((2, 2)).unit((2, 0))


grids = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


@given(grids, st.integers(1, 5), st.booleans())
def test_units_and_cells_are_inverse(grid: tuple[int, ...], columns: int, turned: bool) -> None:
    """Number cells and units one after the other, as the definition says."""
    rows = -(-prod(grid) // columns)
    mapped = (column_major if turned else row_major)(grid, (rows, columns))
    units = list(product(range(rows), range(columns)))
    if turned:
        units.sort(key=lambda unit: (unit[1], unit[0]))
    for cell, unit in zip(product(*map(range, grid)), units, strict=False):
        assert mapped.unit(cell) == unit
        assert mapped.cells(unit) == (cell,)
    assert not any(map(mapped.cells, units[prod(grid) :]))


@given(grids, st.integers(1, 6))
def test_round_robin_deals_in_turn(grid: tuple[int, ...], banks: int) -> None:
    hands: list[list[tuple[int, ...]]] = [[] for _ in range(banks)]
    for number, cell in enumerate(product(*map(range, grid))):
        hands[number % banks].append(cell)
    dealt = round_robin(grid, (banks,))
    assert [list(dealt.cells((bank,))) for bank in range(banks)] == hands
    for hand in hands:
        assert [dealt.slot(cell) for cell in hand] == list(range(len(hand)))
