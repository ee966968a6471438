"""Lanes of a copy Einsum: the fewest, the most, and all that divide its bounds."""

from itertools import product
from math import prod

from tilewright.mapper.searches.copies.copy_tiles import (
    FEW,
    fewest_and_most_lanes,
    has_fewest_lanes,
    lane_choices,
    subsets,
)
from tilewright.mapper.templates.spatial_choices import SpatialLoops

BOUNDS = {"m": 4, "n": 6}
CHOICES = tuple(product((1, 2, 3, 4), repeat=2))
OUTER = SpatialLoops("Grid", "x", ("m", "n"), CHOICES)
INNER = SpatialLoops("PE", "y", ("m", "n"), CHOICES[1:])  # without (1, 1)


def test_subsets_come_largest_first_and_are_few_for_many_names() -> None:
    assert list(map(len, subsets(frozenset("ab")))) == [2, 1, 1, 0]
    many = frozenset("abcde")
    assert len(many) > FEW
    assert list(subsets(many)) == [many, frozenset()]


def test_all_lanes_divide_what_the_dimensions_above_leave() -> None:
    expected = {
        (outer, inner)
        for outer, inner in product(OUTER.choices, INNER.choices)
        if not any(BOUNDS[v] % (outer[i] * inner[i]) for i, v in enumerate(BOUNDS))
    }
    found = [
        tuple(tuple(lanes[loops].values()) for loops in (OUTER, INNER))
        for lanes in lane_choices([OUTER, INNER], BOUNDS)
    ]
    assert len(found) == len(expected)
    assert set(found) == expected


def test_the_fewest_and_the_most_lanes_are_those_of_all_choices() -> None:
    fewest, most = fewest_and_most_lanes([OUTER], BOUNDS)
    numbers = [prod(lanes[OUTER].values()) for lanes in lane_choices([OUTER], BOUNDS)]
    assert prod(fewest[OUTER].values()) == min(numbers) == 1
    assert prod(most[OUTER].values()) == max(numbers) == 12
    assert has_fewest_lanes(OUTER, fewest[OUTER])
    assert not has_fewest_lanes(OUTER, most[OUTER])
    assert list(fewest_and_most_lanes([OUTER], {"m": 5, "n": 7})) == [
        {OUTER: {"m": 1, "n": 1}},
        {OUTER: {"m": 1, "n": 1}},
    ]
    assert list(fewest_and_most_lanes([INNER], {"m": 5, "n": 7})) == []
