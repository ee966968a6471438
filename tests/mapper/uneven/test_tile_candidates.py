"""The tiles of a rank variable that need to be searched."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.mapper.searches.uneven.costs.tile_candidates import (
    TailSlot,
    can_finish_open,
    candidates,
    quotient_steps,
)


@pytest.mark.parametrize("count", [1, 2, 7, 63, 64, 65, 197, 1000, 4097])
def test_quotient_steps_are_the_smallest_of_each_quotient(count: int) -> None:
    least: dict[int, int] = {}
    for step in range(1, count + 1):
        least.setdefault(-(-count // step), step)
    assert quotient_steps(count) == sorted(least.values())


def test_candidates_of_lanes_are_their_multiples() -> None:
    tail = (TailSlot("lanes", 3), TailSlot("lanes", 2))
    assert np.flatnonzero(candidates(11, tail)).tolist() == [1, 2, 3, 4, 6]
    assert np.flatnonzero(candidates(5, ())).tolist() == [1]
    assert candidates(9, (TailSlot("all"),)).sum() == 9


def test_thin_candidates_keep_every_number_of_tiles() -> None:
    for whole in (7, 12, 30, 197):
        kept = np.flatnonzero(candidates(whole, (TailSlot("thin"), TailSlot("thin"))))
        every = {-(-whole // tile) for tile in range(1, whole + 1)}
        assert {-(-whole // tile) for tile in kept.tolist()} == every


def test_what_an_open_tile_can_finish() -> None:
    lanes = (TailSlot("lanes", 4),)
    assert not can_finish_open(7, lanes)  # 7 tiles of 1 need 7 lanes
    assert can_finish_open(4, lanes)
    two = (TailSlot("lanes", 4), TailSlot("lanes", 2))
    assert can_finish_open(7, two)  # 4 lanes of 2, of 2 lanes each
    assert not can_finish_open(9, two)
    full = (TailSlot("all"), TailSlot("lanes", 4, 4))
    assert can_finish_open(7, full)  # tiles of 4
    assert not can_finish_open(3, full)
    assert np.flatnonzero(candidates(9, full)).tolist() == [4, 8]
