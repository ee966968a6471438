"""Whether a mapspace has a mapping, compared with enumeration."""

from __future__ import annotations

import pytest
from buffer_spaces import random_space, space
from tight_cases import tight_space_of
from uneven_cases import uneven_space

from tilewright.mapper.explain.existence import Existence
from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.templates.slot_sequence import slot_sequence


def check(existence: Existence, room: Mapspace) -> bool:
    mapping = existence.find(room)
    listed = next(iter(room), None)
    assert (mapping is None) is (listed is None)
    if mapping is None:
        return False
    slots = slot_sequence(mapping.problem, mapping.template)
    assert room.contains(assemble(mapping.problem, slots, mapping.tiles)) is None
    return True


@pytest.mark.parametrize("size", [8, 23, 24, 40, 96])
def test_existence_equals_enumeration_whatever_the_size(size: int) -> None:
    assert check(Existence(), space("keep: All", size=size)) is (size >= 24)


def test_existence_equals_enumeration_at_random() -> None:
    answers = {check(Existence(), random_space(seed)) for seed in range(10)}
    answers |= {check(Existence(), tight_space_of(seed)) for seed in range(6)}
    assert True in answers


def test_earlier_answers_do_not_change_later_ones() -> None:
    existence = Existence()
    for size in (96, 8, 40, 23, 24, 96):
        assert check(existence, space("keep: All", size=size)) is (size >= 24)


def test_uneven_tiles() -> None:
    for seed in range(4):
        check(Existence(), uneven_space(seed, small=True))


def test_bits_of_a_mapping() -> None:
    mapping = Existence().find(space("keep: All", size=24))
    assert mapping is not None
    assert mapping.bits("BUF") == {"A": 8, "B": 8, "Z": 8}
