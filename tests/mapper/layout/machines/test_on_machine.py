"""Cells of a virtual grid on the units of a machine."""

import pytest

from tilewright.mapper.layout import number_format
from tilewright.mapper.layout.machines.layout_machine import load_machine
from tilewright.mapper.layout.machines.on_machine import on_machine
from tilewright.mapper.layout.schemes.linear_map import linear_map_layout
from tilewright.mapper.layout.tiling import Tiling

TILES = Tiling((32, 32), number_format("bf16"))


@pytest.mark.row("004.18", "004.30")
@pytest.mark.parametrize(
    ("grid", "cell", "unit"),
    [
        ((2, 4), (1, 3), (0, 1, 3)),
        ((1, 64), (0, 10), (0, 1, 2)),
        ((2, 2, 4), (1, 0, 3), (0, 1, 3)),
    ],
)
def test_where_a_cell_lies(
    grid: tuple[int, ...], cell: tuple[int, ...], unit: tuple[int, ...]
) -> None:
    """Grids that fit stay as they are; 2 × 2 × 4 has 16 cells, the twelfth in row 1."""
    shape = (*grid[:-2], 64, 2048)
    layout = linear_map_layout(shape, grid, [], TILES)
    placed = on_machine(layout, load_machine("wormhole"))
    assert placed.grid_map.unit(cell) == unit
    assert placed.grid_map.cells(unit) == (cell,)
    assert placed.split == layout.split


def test_what_has_no_room_stays_as_it_is() -> None:
    layout = linear_map_layout((64, 2400), (1, 65), [], TILES)
    assert on_machine(layout, load_machine("wormhole")) == layout
    assert on_machine(layout, load_machine("trainium1")) == layout
