"""Tiles of one variable as intervals, against cutting a list of positions."""

from __future__ import annotations

from itertools import product

import pytest

from tilewright.mapper.verification.einsum_schedule import ScheduledLoop
from tilewright.mapper.verification.tile_intervals import cut, cut_by, whole_range


def loop(tile: int, first: int = 0) -> ScheduledLoop:
    return ScheduledLoop(0, "m", tile, first, False)


def slow(positions: list[int], tile: int, first: int) -> list[list[int]]:
    """Cut a list: the first part of `first` positions, the others of `tile`."""
    parts, size = [], first or tile
    while positions:
        parts.append(positions[:size])
        positions, size = positions[size:], tile
    return parts


def test_the_example_of_the_module() -> None:
    threes, twos = cut_by(7, [loop(3), loop(2)])
    assert list(zip(threes.starts, threes.ends, strict=True)) == [(0, 3), (3, 6), (6, 7)]
    assert list(twos.starts) == [0, 2, 3, 5, 6]
    assert list(twos.outer) == [0, 0, 1, 1, 2]
    assert list(twos.turns) == [0, 1, 0, 1, 0]


@pytest.mark.parametrize(("bound", "tile", "first"), [*product((1, 5, 12), (1, 2, 5), (0, 1, 3))])
def test_cuts_equal_those_of_lists(bound: int, tile: int, first: int) -> None:
    outer = slow(list(range(bound)), 4, 0)
    inner = [
        (number, part) for number, tiles in enumerate(outer) for part in slow(tiles, tile, first)
    ]
    tiles = cut(cut(whole_range(bound), loop(4)), loop(tile, first))
    assert list(tiles.starts) == [part[0] for _, part in inner]
    assert list(tiles.ends) == [part[-1] + 1 for _, part in inner]
    assert list(tiles.outer) == [number for number, _ in inner]
    for number, (_, part) in enumerate(inner):
        assert list(tiles.tile_at(tiles.starts[number : number + 1])) == [number]
        assert tiles.tile_at(tiles.ends[number : number + 1] - 1)[0] == number
        assert len(part) == tiles.ends[number] - tiles.starts[number]
