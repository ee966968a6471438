"""Units by formula are those of a table of all cells."""

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.affine_map import AffineMap, constant, dim
from tilewright.mapper.layout.unit_lookup import (
    CoordinateLookup,
    NumberedLookup,
    TableLookup,
    UnitLookup,
    lookup_of,
    numbered_map,
    table_lookup,
)

SIDES = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


def check(found: UnitLookup, table: TableLookup, units: tuple[int, ...]) -> None:
    for cell in product(*map(range, table.grid)):
        assert found.unit(cell) == table.unit(cell)
    for unit in product(*(range(-1, extent + 1) for extent in units)):
        assert found.cell(unit) == table.cell(unit)


@given(grid=SIDES, units=SIDES, by_column=st.booleans())
def test_numbered_cells_against_a_table(
    grid: tuple[int, ...], units: tuple[int, ...], by_column: bool
) -> None:
    affine = numbered_map(grid, units, by_column)
    if prod(grid) > prod(units):
        with pytest.raises(SpecError, match="are both unit"):
            lookup_of(grid, units, affine)
        return
    found = lookup_of(grid, units, affine)
    check(found, table_lookup(grid, units, affine), units)


@given(grid=SIDES, units=SIDES, data=st.data())
def test_coordinates_against_a_table(
    grid: tuple[int, ...], units: tuple[int, ...], data: st.DataObject
) -> None:
    choices = [constant(0), *map(dim, range(len(grid)))]
    results = tuple(data.draw(st.sampled_from(choices)) for _ in units)
    affine = AffineMap(len(grid), results)
    try:
        table = table_lookup(grid, units, affine)
    except SpecError:
        with pytest.raises(SpecError):
            lookup_of(grid, units, affine)
        return
    check(lookup_of(grid, units, affine), table, units)


def test_large_grids_need_no_table() -> None:
    wide = lookup_of((1, 700_000), (1000, 700), numbered_map((1, 700_000), (1000, 700)))
    assert isinstance(wide, NumberedLookup)
    assert wide.unit((0, 699_999)) == (999, 699)
    same = lookup_of((900, 700), (1000, 700), AffineMap(2, (dim(0), dim(1))))
    assert isinstance(same, CoordinateLookup)
    assert same.cell((900, 0)) is None
