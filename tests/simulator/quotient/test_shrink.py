"""A small program on the lines that a cut keeps."""

import numpy as np

from tilewright.simulator.examples.gemv import gemv_like
from tilewright.simulator.program.routes import Area
from tilewright.simulator.quotient.line_blocks import LineCut
from tilewright.simulator.quotient.shrink import GridCut, canonical_lines, cut_grid, shrink


def lines(*numbers: int) -> LineCut:
    return LineCut(np.array(numbers, dtype=np.int64), ())


def test_all_lines_give_the_program_again() -> None:
    program = gemv_like(5, 6, 8, 1)
    assert shrink(program, GridCut(lines(*range(5)), lines(*range(6)))) == program


def test_a_smaller_program_of_the_pattern_is_the_program_of_that_size() -> None:
    """Routes may be cut otherwise: what counts is which elements they cover."""
    small = shrink(gemv_like(24, 31, 8, 1), cut_grid(gemv_like(24, 31, 8, 1), 1))
    same = gemv_like(small.height, small.width, 8, 1)
    assert (small.height, small.width) == (12, 13)
    assert np.array_equal(small.placement, same.placement)
    assert covered(small.routes) == covered(same.routes)
    assert small.edge_inputs == same.edge_inputs
    assert small.edge_outputs == same.edge_outputs


def covered(routes: tuple) -> set:
    return {
        (r.color, r.rx, r.tx, row, column)
        for r in routes
        for row in r.area.rows
        for column in r.area.columns
    }


def test_routes_and_ports_elsewhere_go() -> None:
    small = shrink(gemv_like(5, 6, 8, 1), GridCut(lines(4), lines(2, 3)))
    assert small.placement.shape == (1, 2)
    assert {route.area for route in small.routes} <= {Area(0, 0, 1, w) for w in (1, 2)} | {
        Area(0, 1, 1, 1)
    }
    assert [(port.first, port.positions) for port in small.edge_inputs] == [(0, 2)]
    assert small.edge_outputs == ()


def test_equal_lines_of_a_block_have_one_canonical_line() -> None:
    cut = cut_grid(gemv_like(6, 40, 8, 1), 1).columns
    canonical = canonical_lines(cut)
    (block,) = cut.blocks
    inside = canonical[block.start : block.start + 6]
    assert list(inside - block.start) == [0, 1, 0, 1, 0, 1]
    assert list(canonical[: block.start]) == list(range(block.start))
