"""Reshards: who sends what to whom, and how often."""

from collections import Counter

import numpy as np
import pytest
from reshards import along_a_line

from tilewright.mapper.grid.distribution import Distribution
from tilewright.mapper.grid.exchanges.reshard import Flow, Piece, reshard
from tilewright.mapper.layout.queries.transfers import transfers
from tilewright.mapper.layout.schemes.linear_map import linear_map_layout


@pytest.mark.parametrize(("size", "elements"), [(8, 4), (9, 4), (6, 3)])
def test_a_transpose_moves_what_the_algebra_of_layouts_says(size: int, elements: int) -> None:
    case = reshard("T", along_a_line(elements, 0, size), along_a_line(elements, 1, size))
    assert case is not None
    moved = Counter[tuple[int, int]]()
    for (_, column), piece in case.copies.items():
        moved[column, column] += piece.values
    for flow in case.flows:
        for target in flow.targets:
            moved[flow.source[1], target[1]] += flow.piece.values
    layouts = (linear_map_layout((size, size), grid) for grid in ((elements, 1), (1, elements)))
    wanted = {(m.source[0], m.destination[1]): m.scalars for m in transfers(*layouts)}
    assert moved == wanted


def test_a_gather_is_a_flow_of_each_element_to_all_others() -> None:
    case = reshard("T", along_a_line(4, 0, 8), along_a_line(4, None, 8))
    assert case is not None
    assert [(f.source[1], len(f.targets), f.links) for f in case.flows] == [
        (0, 3, 3), (1, 3, 3), (2, 3, 3), (3, 3, 3)
    ]  # fmt: skip
    assert (case.reads, case.writes, case.hops("f32")) == (4 * 16 + 4 * 16, 4 * 64, 4 * 3 * 16)
    assert case.hops("f16") == 4 * 3 * 8


def test_a_value_in_several_elements_comes_from_the_nearest() -> None:
    held = along_a_line(5, None, 2)
    held = Distribution(held.first, (2, 2), np.array([[True, False, False, False, True]]))
    case = reshard("T", held, along_a_line(5, None, 2))
    assert case is not None
    whole = Piece((0, 0), (2, 2))
    west, east = Flow(whole, (0, 0), ((0, 1), (0, 2))), Flow(whole, (0, 4), ((0, 3),))
    assert case.flows == (west, east)
    assert set(case.copies) == {(0, 0), (0, 4)}


def test_there_is_none_if_a_value_is_nowhere() -> None:
    held = along_a_line(4, 0, 8)
    some = Distribution(
        held.first, held.extents, np.array([[True, True, True, False]]), shape=(8, 8)
    )
    assert reshard("T", some, along_a_line(4, 1, 8)) is None


def test_links_are_those_of_a_row_and_of_columns() -> None:
    flow = Flow(Piece((0,), (1,)), (2, 1), ((0, 3), (3, 3), (2, 0)))
    assert flow.links == 3 + 3  # columns 0 to 3 of row 2, rows 0 to 3 of column 3
