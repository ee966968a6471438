"""Whether a template has a mapping, decided per template and compared with its points."""

from __future__ import annotations

import pytest
from buffer_spaces import random_space, space
from network_cases import network_space_of
from tight_cases import tight_space_of

from tilewright.mapper.explain.reach import binding, first_mapping, reach
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.templates.slot_sequence import slot_sequence


def check_templates(room: Mapspace) -> set[bool]:
    answers = set()
    lattice = Lattice(room.einsum.bounds)
    for points in room.points_within(lambda: None)[:40]:
        tiles = reach(room.problem, points.template, lattice)
        listed = next(iter(points), None)
        assert (tiles is None) is (listed is None)
        if tiles is not None and points.count < 2000:
            assert tiles in set(points)
        answers.add(tiles is not None)
    return answers


@pytest.mark.parametrize("space_of", [random_space, tight_space_of, network_space_of])
def test_each_template_reaches_a_point_if_it_has_one(space_of: object) -> None:
    assert callable(space_of)
    assert True in set().union(*(check_templates(space_of(seed)) for seed in range(6)))


def test_bits_left_free_by_whole_tensors() -> None:
    room = space("keep: weight", size=90)  # B has 6 * 2 values of 8 bits
    (template,) = room.templates
    assert binding(room.problem, slot_sequence(room.problem, template)) == {"BUF": 90}
    large = space("keep: weight", size=96)
    assert binding(large.problem, slot_sequence(large.problem, large.templates[0])) == {}


def test_the_first_mapping_has_few_holders() -> None:
    mapping = first_mapping(space("keep: Nothing, may_keep: All", size=8))
    assert mapping is not None
    template, tiles = mapping
    assert all(holder.component == "DRAM" for holder in template.holders)
    assert tiles[-1] == (1, 1, 1)
    assert first_mapping(space("keep: All", size=8)) is None
