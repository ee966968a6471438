"""Tiles below uneven loops, one variable at a time, and the points that they make up."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from buffer_spaces import space, workload

from tilewright.arch.errors import TilewrightError
from tilewright.mapper.mapspace.uneven_points import check_uneven, is_chain, lane_tiles, loop_tiles
from tilewright.mapper.workload.errors import UnsupportedFeature
from tilewright.mapper.workload.workload_loading import load_workload


def test_tiles_below_a_temporal_loop() -> None:
    assert loop_tiles((6, False), ()) == [(1, False), (2, False), (3, False), (6, False)]
    assert loop_tiles((6, True), (6,)) == [
        (1, False), (2, False), (3, False), (6, True), (4, False), (5, False),
    ]  # fmt: skip


def test_tiles_below_lanes() -> None:
    assert lane_tiles((6, False), 4, ()) == []
    assert lane_tiles((6, True), 3, (2,)) == [(2, True)]
    assert lane_tiles((7, True), 3, ()) == [(3, False)]  # 3 + 3 + 1
    assert lane_tiles((7, True), 4, ()) == [(2, False)]  # 2 + 2 + 2 + 1
    assert lane_tiles((5, True), 7, ()) == []


@pytest.mark.parametrize("extent", [5, 6, 12])
def test_lanes_and_tiles_belong_together(extent: int) -> None:
    """`lanes` tiles cover the extent, and one tile less does not."""
    for lanes in range(1, extent + 1):
        tiles = [tile for tile, _ in lane_tiles((extent, True), lanes, ())]
        expected = [t for t in range(1, extent + 1) if (lanes - 1) * t < extent <= lanes * t]
        assert sorted(tiles) == expected


def test_one_cut_of_a_cuttable_tile_makes_a_chain() -> None:
    assert is_chain([6, 3, 1], ())
    assert is_chain([6, 4, 2], (6,))
    assert not is_chain([6, 4, 2], (3,))
    assert not is_chain([7, 4, 3], (7, 4))  # two cuts
    assert not is_chain([2, 4], (2,))


def test_variables_that_cannot_be_uneven_are_refused() -> None:
    window = load_workload(
        "workload:\n  rank_sizes: {P: 4, R: 3}\n  bits_per_value: {All: 8}\n"
        '  einsums:\n  - "Z[p] = A[H: p + r] * B[r]"\n'
    ).einsums[0]
    with pytest.raises(TilewrightError, match="no such rank variable"):
        check_uneven(window, frozenset("q"), exact=True)
    with pytest.raises(UnsupportedFeature, match="accelforge conventions"):
        check_uneven(window, frozenset("p"), exact=False)
    check_uneven(window, frozenset("p"), exact=True)


def test_points_are_those_of_a_list() -> None:
    room = replace(space("keep: weight", work=workload(3, 2, 2)), uneven=frozenset("m"))
    for points in room.points_within(lambda: None):
        listed = list(points.without_capacity())
        assert len(set(listed)) == len(listed) == points.count
        assert points.sample(random.Random(1)) in listed
        assert any(3 not in {tile[0], 1} for tiles in listed for tile in tiles)  # tiles of 2
