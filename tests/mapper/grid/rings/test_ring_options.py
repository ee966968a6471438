"""Which inputs of a mapspace may shift, and that each way is a mapping of the grid."""

import pytest
from grid_mappings import einsum_workload, grid_arch

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time


def families(form: str, columns: int, rows: int, **constraints: str) -> list[GridFamily]:
    grid = grid_of(grid_arch(form, 32, columns, rows))
    wanted = GridConstraints.of({"movement": "shift", **constraints})
    return list(GridMapspace(grid, einsum_workload(form).einsums[0], wanted).families())


def test_a_product_on_a_square_shifts_along_both_axes() -> None:
    found = {f.shifts for f in families("matrix product", 2, 2, x="n", y="m", tile="k")}
    assert found == {(("A", "X"), ("B", "Y")), (("A", "X"),)}  # B is persistent and may stay


def test_rings_are_as_long_as_the_loop() -> None:
    for family in families("matrix product", 4, 2):
        assert family.tile is not None
        for _, axis in family.shifts:
            assert 12 % family.tile.size == 0
            counts = [share.count for share in family.shares if share.axis == axis]
            assert counts


def test_without_rings_nothing_shifts() -> None:
    assert not families("elementwise sum", 4, 4)
    assert not families("matrix product", 1, 1)


@pytest.mark.parametrize("form", ["matrix product", "vector times matrix", "linear layer"])
def test_every_way_is_a_mapping_of_the_grid(form: str) -> None:
    flat = grid_arch(form, 32, 2, 2)
    space = GridMapspace(grid_of(flat), einsum_workload(form).einsums[0])
    shifting = [family for family in space.families() if family.shifts]
    assert shifting
    for family in shifting:
        read = space_time(flat, space.einsum, space.mapping_of(space.members(family)[0]))
        assert {(t.name, t.shift) for t in read.shifted} == set(family.shifts)
