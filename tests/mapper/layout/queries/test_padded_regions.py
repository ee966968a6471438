"""Padded regions against a walk over every position."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import AffineMap, Collapse, GridSplit, Layout, Tiling
from tilewright.mapper.layout.queries.padded_regions import Box, padding_boxes, valid_spans
from tilewright.mapper.layout.schemes.linear_map import linear_map_layout


def test_the_documented_example_has_two_boxes() -> None:
    layout = linear_map_layout((53, 63), (3, 2), tiling=Tiling((32, 32)))
    assert padding_boxes(layout, (2, 1)) == (Box((17, 0), (32, 32)), Box((0, 31), (17, 32)))


def test_holes_are_padding() -> None:
    collapse = Collapse.linear((2, 8, 32), AffineMap.parse("(d0 * 32 + d1, d2)", 3))
    layout = Layout.on_grid(collapse, GridSplit.ceil(collapse.extents, (1, 2)))
    assert valid_spans(layout, 0, 0) == ((0, 8), (32, 40))
    assert padding_boxes(layout, (0, 0)) == (Box((8, 0), (32, 16)),)


def test_a_dimension_in_two_groups_has_no_boxes() -> None:
    layout = linear_map_layout((8, 96, 32), (2, 1, 2), rule="tt-mlir-2024")
    with pytest.raises(SpecError, match="no set of boxes"):
        padding_boxes(layout, (0, 0, 0))


@pytest.mark.row("004.05")
@given(st.data())
def test_boxes_are_the_positions_without_data(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 4), min_size=2, max_size=3).map(tuple))
    alignments = [data.draw(st.integers(1, 3)) for _ in shape]
    collapse = Collapse.of(shape, alignments=alignments)
    grid, block = (data.draw(st.tuples(*[st.integers(1, 3)] * 2)) for _ in range(2))
    split = GridSplit(collapse.extents, grid, block)
    layout = Layout.on_grid(collapse, split, Tiling(data.draw(st.sampled_from([(), (2, 2)]))))
    for cell in layout.cells():
        boxes = padding_boxes(layout, cell)
        walked = {
            offset
            for offset in product(*map(range, layout.allocated_shape))
            if layout.index(cell, offset) is None
        }
        covered = [place for box in boxes for place in product(*map(range, box.start, box.end))]
        assert len(covered) == len(set(covered)) == sum(box.volume for box in boxes)
        assert set(covered) == walked
        assert len(covered) == layout.padding(cell)
