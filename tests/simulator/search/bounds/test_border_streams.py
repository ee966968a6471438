"""The lines of an input: those of the plans, of one division and of many."""

from itertools import product

import numpy as np
from grid_mappings import einsum_workload, grid_arch

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace
from tilewright.mapper.grid.grid_shares import Share
from tilewright.mapper.grid.host_streams import line_streams, links_to_last
from tilewright.simulator.search.bounds.border_streams import InputLines
from tilewright.simulator.search.bounds.family_tiles import Alike, FamilyTiles


def division(counts: tuple[int, int, int, int]) -> tuple[Share, ...]:
    m_x, k_x, m_y, k_y = counts
    return (
        Share("X", "m", m_x), Share("X", "k", k_x), Share("Y", "m", m_y), Share("Y", "k", k_y)
    )  # fmt: skip


def test_lines_are_those_of_plans() -> None:
    """Of a vector that k indexes, on grids of up to 9 x 9 elements, for 81 divisions."""
    form = "matrix times vector"
    space = GridMapspace(grid_of(grid_arch(form, 16, 9, 9)), einsum_workload(form, 16).einsums[0])
    vector = space.einsum.access("B")
    every = list(product((1, 2, 3), repeat=4))
    families = [GridFamily(division(counts), None, frozenset(), None, 1) for counts in every]
    together = FamilyTiles.together(space, Alike.of(families))
    for ring in (None, "X", "Y"):
        many = InputLines.of(together, vector, ring)
        for place, (m_x, k_x, m_y, k_y) in enumerate(every):
            one = InputLines.of(FamilyTiles.of(space, families[place]), vector, ring)
            assert [np.broadcast_to(f, 81)[place] for f in many] == list(one), every[place]
            columns, rows = m_x * k_x, m_y * k_y
            x, y = columns if ring == "X" else k_x, rows if ring == "Y" else k_y
            lines, *numbers = line_streams(x, y, columns, rows)
            assert (one.serves_columns, one.serves_all) == (lines == "columns", lines == "whole")
            assert [one.number, one.parts_of_line, one.links] == numbers
            to_last = links_to_last(lines, columns, rows)
            assert one.links_to_last == to_last
            assert one.links_to_group == to_last - links_to_last(lines, k_x, k_y)
            assert one.parts == x * y
