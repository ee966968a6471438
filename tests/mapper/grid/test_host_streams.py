"""How inputs enter the grid: lines, periods, and that every element finds its tile."""

import numpy as np
import pytest
from grid_mappings import (
    END,
    HOST,
    LOOP,
    OVER_K,
    OVER_N,
    TILES,
    WHOLE,
    WORK,
    random_space_time,
    read,
)
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tilewright.mapper.grid.host_streams import element_starts, host_streams, place_in_period
from tilewright.mapper.mapping.mapping import Spatial, Storage
from tilewright.mapper.workload.errors import InfeasibleMapping


def test_the_example_of_the_theory() -> None:
    """theory/grid.md §2: A by columns, 4 periods of one tile of 6 values, one link."""
    (stream,) = host_streams(read([HOST, OVER_K, OVER_N, WHOLE, LOOP, TILES, *WORK, END]))
    assert (stream.tensor.name, stream.lines, stream.number) == ("A", "columns", 4)
    assert (stream.periods, stream.tiles, stream.values, stream.hops) == (4, 1, 6, 1)


@pytest.mark.parametrize(
    ("x", "y", "lines", "number", "tiles"),
    [
        (("m", 2), ("m", 1), "columns", 4, 2),  # each element another tile of A
        (("n", 2), ("n", 1), "whole", 1, 1),  # all elements the same
        (("k", 3), ("n", 3), "columns", 4, 1),
        (("n", 2), ("k", 6), "rows", 2, 1),
    ],
)
def test_lines_are_those_that_need_different_tiles(
    x: tuple[str, int], y: tuple[str, int], lines: str, number: int, tiles: int
) -> None:
    """Each share is (rank variable, values of it in an element)."""
    shares = [Spatial(*x, "X", "Grid"), Spatial(*y, "Y", "Grid")]
    nodes = [HOST, *shares, WHOLE, Storage(("A", "Z"), "SRAM"), *WORK, END]
    (stream,) = host_streams(read(nodes))
    assert (stream.lines, stream.number, stream.tiles) == (lines, number, tiles)


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_elements_of_one_place_and_line_need_one_tile(seed: int) -> None:
    try:
        found = random_space_time(seed)[1]
    except InfeasibleMapping:
        reject()
    starts = element_starts(found)
    for stream in host_streams(found):
        used = [starts[name] for name in sorted(stream.tensor.access.rank_variables)]
        places = place_in_period(found, stream)
        tiles: dict[tuple[int, int], tuple[int, ...]] = {}
        for row, column in np.ndindex(places.shape):
            line = {"rows": row, "columns": column, "whole": 0}[stream.lines]
            tile = tuple(int(start[row, column]) for start in used)
            assert tiles.setdefault((line, int(places[row, column])), tile) == tile
        assert len(tiles) == stream.number * stream.tiles
