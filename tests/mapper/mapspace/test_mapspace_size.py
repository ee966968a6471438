"""The size of mapspaces under many rules."""

from __future__ import annotations

import pytest
from buffer_spaces import random_space, space
from explore import at_night

from tilewright.mapper.mapspace.counting.mapspace_size import CountedSizes, MapspaceSizes


@pytest.mark.parametrize("seed", [*range(4), *at_night(*range(4, 8))])
def test_sizes_are_those_of_the_mapspace(seed: int) -> None:
    room = random_space(seed)
    size = MapspaceSizes().of([room])
    assert size.templates == len(room.templates)
    if size.points is not None and room.size.exact:
        assert size.points == room.size.points
    if size.fitting is not None and room.point_count_bound < 3000:
        assert size.fitting == len(list(room))


def test_sizes_of_several_mapspaces_add_up_and_are_counted_once() -> None:
    rooms = [space("keep: weight"), space("keep: All")]
    sizes = MapspaceSizes()
    each = [sizes.of([room]) for room in rooms]
    both = sizes.of(rooms)
    assert both == CountedSizes(
        sum(size.templates or 0 for size in each),
        sum(size.points or 0 for size in each),
        sum(size.fitting or 0 for size in each),
        (both.templates or 0, both.points or 0, both.fitting or 0),
    )
    assert both.templates == 7
