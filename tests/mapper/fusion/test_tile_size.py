"""The size of a tile below shared loops."""

from __future__ import annotations

import numpy as np

from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.fusion.boundary.tile_size import ExchangedTensorView, Extent, RankExtent


def test_extents_shrink_with_the_loops_above() -> None:
    ranks = (RankExtent(1, (("m", 8, 1),)), RankExtent(1, (("n", 6, 1),)))
    extent = Extent((ExchangedTensorView(2.0, ranks),))
    assert extent.bits_below((), np.zeros((1, 0), np.int64)).tolist() == [96]
    loops = (LoopName("m"), LoopName("k"))
    assert extent.bits_below(loops, np.array([[2, 1], [4, 3]])).tolist() == [24, 48]
    loops = (LoopName("m"), LoopName("m", ("PE", "x")))
    assert extent.bits_below(loops, np.array([[4, 2]])).tolist() == [24]


def test_the_largest_of_several_windows_counts() -> None:
    whole = ExchangedTensorView(1.0, (RankExtent(1, (("w", 6, 1),)),))
    window = ExchangedTensorView(1.0, (RankExtent(1, (("p", 2, 2), ("r", 3, 1))),))
    extent = Extent((whole,)).merged(Extent((window,)))
    tiles = np.array([[6, 2], [3, 2], [3, 1]])
    assert extent.bits_below((LoopName("w"), LoopName("p")), tiles).tolist() == [6, 5, 3]


def test_positions_of_one_point_count_whatever_the_tile() -> None:
    ranks = (RankExtent(3, (("m", 8, 1),)), RankExtent(4, ()))
    extent = Extent((ExchangedTensorView(1.0, ranks),))
    assert extent.bits_below((), np.zeros((1, 0), np.int64)).tolist() == [40]
    assert extent.bits_below((LoopName("m"),), np.array([[2], [1]])).tolist() == [16, 12]
