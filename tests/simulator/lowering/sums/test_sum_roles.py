"""Roles of elements: a walk of one word per element along the colors adds up every group."""

from __future__ import annotations

import pytest
from grid_mappings import END, HOST, WHOLE, WORK, read

from tilewright.mapper.grid.partial_sums import PartialSums, partial_sums
from tilewright.mapper.mapping.mapping import Spatial, Storage
from tilewright.simulator.lowering.sums.sum_roles import OUT, Role, exit_color, link_color, roles

Grid = list[list[Role]]
ROW, COLUMN = Spatial("k", 3, "X", "Grid"), Spatial("n", 3, "Y", "Grid")
"""Four columns that add up, two rows with tiles of their own."""


def roles_of(*shares: Spatial, scheme: str = "") -> tuple[Grid, PartialSums]:
    stored = [Storage(("A",), "SRAM"), Storage(("Z",), "SRAM", reduction=scheme)]
    found = read([HOST, *shares, WHOLE, *stored, *WORK, END])
    sums = partial_sums(found)
    known, numbers = roles(found.columns, found.rows, sums)
    return [[known[number] for number in row] for row in numbers.tolist()], sums


@pytest.mark.parametrize("scheme", ["chain", "tree", "two_phase"])
def test_every_color_that_is_sent_is_received_once(scheme: str) -> None:
    """Sums go along one row here: each color but the last one joins two elements of the row."""
    grid, sums = roles_of(ROW, COLUMN, scheme=scheme)
    assert sums.exit == "east"
    for row in grid:
        sent = [role.send for role in row]
        received = [color for role in row for color in role.receives]
        assert sent[-1] == OUT
        assert sorted(received) == sorted(color for color in sent if color not in (None, OUT))
        assert len(received) == len(row) - 1


def test_no_element_receives_and_sends_on_one_color() -> None:
    for shares in ((ROW, COLUMN), (Spatial("k", 4, "X", "Grid"), Spatial("k", 2, "Y", "Grid"))):
        for row in roles_of(*shares)[0]:
            assert all(role.send not in role.receives for role in row)
            assert all(role.passes is None or role.passes != role.send for role in row)


def test_gathered_tiles_add_up_on_the_way_down() -> None:
    """Each element of a column sends its tile and those of all above it."""
    grid, sums = roles_of(Spatial("m", 2, "X", "Grid"), COLUMN)
    assert sums.exit == "gather"
    for column in zip(*grid, strict=True):
        assert [role.passed for role in column] == list(range(len(column)))
        assert [role.send for role in column] == [exit_color(n) for n in range(len(column))]
        assert [role.passes for role in column[1:]] == [role.send for role in column[:-1]]


def test_neighbouring_links_have_two_colors() -> None:
    assert link_color(0, 0) == link_color(0, 2) == "sum0a"
    assert link_color(0, 1) == "sum0b"
    assert link_color(1, 0) == "sum1a"


def test_elements_that_do_the_same_share_a_role() -> None:
    """Of a chain of four: one begins, two pass on with colors in turn, one ends."""
    grid, _ = roles_of(ROW, COLUMN, scheme="chain")
    assert grid[0] == grid[1]
    assert len(set(grid[0])) == 4
    assert len({role.name for role in grid[0]}) == 4
