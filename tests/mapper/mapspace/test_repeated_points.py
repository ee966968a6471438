"""Points that share a mapping are counted once."""

from __future__ import annotations

import pytest
from buffer_spaces import random_space, space
from tight_cases import tight_space_of

from tilewright.mapper.mapspace.space import Mapspace


def check_distinct(room: Mapspace) -> bool:
    """Compare the count with a list of all points; tell whether points share mappings."""
    every = room.points_within(lambda: None)
    if sum(points.count for points in every) > 3000:
        return False
    listed = [str(mapping) for mapping in room]
    assert len(set(listed)) == len(listed)
    counted = room.count_fitting()
    if counted is not None:
        assert counted == len(listed)
    return room.size.points < room.point_count_bound


@pytest.mark.parametrize("seed", range(10))
def test_enumeration_yields_each_mapping_once(seed: int) -> None:
    check_distinct(random_space(seed))


def test_small_memories_make_points_that_share_mappings() -> None:
    shared = [check_distinct(tight_space_of(seed)) for seed in range(12)]
    assert any(shared)


def test_without_small_memories_each_point_is_a_mapping() -> None:
    room = space("keep: weight")
    assert room.size.points == room.point_count_bound == len(list(room))
