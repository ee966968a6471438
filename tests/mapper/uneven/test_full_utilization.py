"""The part of a mapspace with the most lanes."""

from __future__ import annotations

import random

from uneven_cases import uneven_space

from tilewright.mapper.searches.uneven.full_utilization import with_most_lanes
from tilewright.mapper.workload.errors import InfeasibleMapping


def test_the_part_with_the_most_lanes_is_one() -> None:
    """Some mapping of it is in the mapspace, and no choice of lanes there has more of them."""
    compared = 0
    for seed in range(10):
        space = uneven_space(seed)
        busy = with_most_lanes(space)
        if busy is None:
            continue
        try:
            assert space.contains(busy.sample(random.Random(seed))) is None
        except InfeasibleMapping:
            continue
        compared += 1
        fans = (
            space.problem.spatial_loops(space.templates[0]),
            busy.problem.spatial_loops(busy.templates[0]),
        )
        for free, full in zip(*fans, strict=True):
            assert set(full.choices) <= set(free.choices)
    assert compared >= 3
