"""The parts of a mapspace: classes of lanes, bounds of steps."""

from __future__ import annotations

import random
from itertools import islice, product
from math import prod
from operator import ge

from uneven_cases import uneven_space

from tilewright.mapper.searches.uneven.search_parts import classes_of, whole_parts, widest
from tilewright.mapper.templates.slots import Slot
from tilewright.mapper.templates.spatial_choices import SpatialLoops


def test_classes_of_lanes_have_every_choice_once() -> None:
    split = 0
    for seed in range(12):
        problem = uneven_space(seed).problem
        for part in whole_parts(problem, islice(uneven_space(seed).templates, 5)):
            classes = [part]
            for number in range(3):
                classes = [one for few in classes for one in classes_of(few, number)]
            chosen = [list(product(*map(choices_of, one.slots))) for one in classes]
            every = list(product(*map(choices_of, part.slots)))
            assert sorted(one for few in chosen for one in few) == sorted(every)
            split += len(classes) > 1
    assert split > 10


def test_steps_are_bounded_by_the_choices_with_the_most_lanes() -> None:
    """A choice is left out only if some that stays has no fewer lanes over any variable."""
    rng = random.Random(3)
    for _ in range(50):
        every = list(product(range(1, 5), range(1, 4), (1, 2, 6)))
        some = rng.sample(every, rng.randrange(1, len(every)))
        for choices in (some, [c for c in every if prod(c) <= rng.randrange(1, 12)] or some):
            kept = widest(choices)
            assert set(kept) <= set(choices)
            for choice in choices:
                assert any(all(map(ge, one, choice)) for one in kept), (choice, kept)


def choices_of(slot: Slot) -> tuple[object, ...]:
    return slot.choices if isinstance(slot, SpatialLoops) else (None,)
