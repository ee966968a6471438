"""Placements that hold no more than they must."""

from __future__ import annotations

import pytest
from buffer_spaces import random_space, space


def test_a_buffer_that_may_keep_everything_keeps_nothing() -> None:
    room = space("keep: Nothing, may_keep: All")
    assert len(room.placements) == 8  # each subset of three tensors
    (minimal,) = room.sparse_placements()
    assert dict(minimal.kept_tensors)["BUF"] == ()


def test_a_buffer_keeps_what_it_must() -> None:
    (minimal,) = space("keep: weight, may_keep: All").sparse_placements()
    assert dict(minimal.kept_tensors)["BUF"] == ("B",)


@pytest.mark.parametrize("seed", range(12))
def test_minimal_placements_are_placements_and_fit_if_any_does(seed: int) -> None:
    room = random_space(seed)
    minimal = list(room.sparse_placements())
    assert {p.kept_tensors for p in minimal} <= {p.kept_tensors for p in room.placements}
    has_mapping = next(iter(room), None) is not None
    templates = list(room.each_template(minimal))
    narrowed = room.narrowed(templates)
    assert (next(iter(narrowed), None) is not None) is has_mapping


@pytest.mark.parametrize("seed", range(6))
def test_each_placement_is_like_itself(seed: int) -> None:
    room = random_space(seed)
    for placement in room.placements:
        assert room.placement_like(placement) == placement
