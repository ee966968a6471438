"""Each point of the iteration space is computed once: mappings that leave out or repeat."""

from __future__ import annotations

import pytest
from mapping_inputs import GOOD, WORKLOAD, mapping

from tilewright.mapper.mapping.mapping import Mapping, Sequential
from tilewright.mapper.verification.coverage import coverage_violations
from tilewright.mapper.verification.einsum_schedule import schedules_of


def texts_of(nest: Mapping) -> list[str]:
    found = list(coverage_violations(schedules_of(nest), WORKLOAD))
    assert all(violation.rule == "computed once" for violation in found)
    return [violation.text for violation in found]


def test_loops_down_to_single_points_compute_all() -> None:
    assert texts_of(mapping(GOOD)) == []


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("k, tile_shape: 1", "k, tile_shape: 2", "reached with a tile of 2 positions of k"),
        ("k, tile_shape: 1", "m, tile_shape: 1", "reached with a tile of 6 positions of k"),
    ],
)
def test_points_that_no_loop_reaches(old: str, new: str, text: str) -> None:
    (found,) = texts_of(mapping(GOOD.replace(old, new)))
    assert text in found


def test_an_einsum_in_two_branches_or_in_none() -> None:
    once = mapping(GOOD)
    twice = Mapping((Sequential((once.nodes, once.nodes)),))
    assert texts_of(twice) == ["the mapping has 2 branches for Einsum Z"]
    assert texts_of(Mapping(())) == ["the mapping has 0 branches for Einsum Z"]
