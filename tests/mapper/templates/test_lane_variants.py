"""One variant of a template for each choice of the lanes on which its slots depend."""

from __future__ import annotations

import pytest
from array_cases import array_space_of, loose_space_of
from buffer_spaces import space

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.templates.lane_variants import (
    early_holders,
    remaining_choices,
    some_lanes,
    with_lanes,
)


def test_lanes_below_all_memories_make_no_variant() -> None:
    room = space()
    for placement in room.placements:
        template = room.first_template(placement)
        assert template is not None
        assert list(with_lanes(room.problem, template)) == [template]
        assert not early_holders(room.problem, template, room.problem.level("PE"))


def check_variants(room: Mapspace) -> int:
    """Check that the variants of a template share out its choices; return the most variants."""
    most = 0
    for placement in room.placements[:20]:
        template = room.first_template(placement)
        if template is None:
            continue
        variants = list(with_lanes(room.problem, template))
        dims = room.problem.spatial_loops(template)
        for number, loops in enumerate(dims):
            groups = {remaining_choices(v, dims)[number].choices for v in variants}
            choices = [choice for group in groups for choice in group]
            assert sorted(choices) == sorted(loops.choices)
        assert set(some_lanes(room.problem, template)) <= set(variants)
        most = max(most, len(variants))
    return most


@pytest.mark.parametrize("space_of", [loose_space_of, array_space_of])
def test_variants_have_each_choice_of_lanes_once(space_of: object) -> None:
    assert callable(space_of)
    assert max(check_variants(space_of(seed)) for seed in range(12)) > 1
