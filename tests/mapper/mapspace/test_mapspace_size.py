"""The size of mapspaces under many rules."""

from __future__ import annotations

import pytest
from buffer_spaces import random_space, space
from explore import at_night

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.explain.subject import ConstrainedEinsum
from tilewright.mapper.mapspace.counting import mapspace_size
from tilewright.mapper.mapspace.counting.mapspace_size import (
    LARGEST_OF_ONE,
    CountedSizes,
    MapspaceSizes,
)
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.studies import path_of

DEPTHWISE = """
workload:
  bits_per_value: {All: 8}
  rank_sizes: {P: 56, Q: 56, C: 64, R: 3, S: 3}
  pad: {P: 1, Q: 1}
  einsums:
  - einsum: "D[p, q, c] = I[P: p + r - 1, Q: q + s - 1, c] * W[r, s, c]"
    renames: {input: I, weight: W, output: D}
"""


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
        (both.templates, both.points, both.fitting),
    )
    assert both.templates == 7


@pytest.mark.parametrize("seed", [*range(4), *at_night(*range(4, 8))])
def test_what_is_not_counted_is_bounded(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    room = random_space(seed)
    if room.point_count_bound > 3000:
        return
    true = len(room.templates), len({str(mapping) for mapping in room}), len(list(room))
    for most in (1, mapspace_size.MOST_PLACEMENTS):
        monkeypatch.setattr(mapspace_size, "MOST_PLACEMENTS", most)
        size = MapspaceSizes().of([room])
        for number in (0, 2):
            assert size.at_least[number] <= true[number]
            assert (size.at_most[number] or true[number]) >= true[number]
        if size.at_most[1] is not None:
            assert size.at_most[1] >= true[1]


def test_one_size_of_a_convolution_is_bounded_where_its_points_are_too_many_to_list() -> None:
    """A window lets a mapping be several points: their number is an upper bound."""
    arch, work = load_arch(path_of("hardware", "simba_like")), load_workload(DEPTHWISE)
    subject = ConstrainedEinsum(arch, work, work.einsums[0], "default", frozenset())
    spaces = subject.spaces(frozenset(subject.constraints_with_min_usage), min_usage=True)
    size = MapspaceSizes().of(spaces, LARGEST_OF_ONE)
    assert size.templates == size.at_most[0] == sum(len(space.templates) for space in spaces)
    assert size.points is None
    assert size.at_most[1] == sum(space.point_count_bound for space in spaces)
    assert size.at_most[2] == size.at_most[1]
