"""Mapspaces with Networks, and with memories spread over an Array: draws, neighbours, counts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import islice

import pytest
from array_cases import array_space_of
from network_cases import network_space_of

from tilewright.arch.components.components import Network
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.mapping_scorer import MappingScorer

Maker = Callable[[int], Mapspace]
MAKERS = {"network": network_space_of, "array": array_space_of}
SMALL = 60
SEEDS = range(6)


@cache
def small_spaces(maker: Maker) -> list[Mapspace]:
    found = (space for space in map(maker, SEEDS) if 1 < space.size.points <= SMALL)
    return list(islice((space for space in found if next(iter(space), None) is not None), 2))


def test_the_cases_are_what_they_are_called() -> None:
    assert any(
        isinstance(component, Network)
        for space in small_spaces(network_space_of)
        for component in space.problem.components
    )
    assert any(
        component.physical_fanout > 1
        for space in small_spaces(array_space_of)
        for component in space.problem.components
    )


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_draws_are_members_and_reach_all_of_them(maker: Maker) -> None:
    for space in small_spaces(maker):
        members = list(space)
        assert space.count_fitting() == len(members)
        rng = random.Random(7)
        drawn = Counter(str(space.sample(rng)) for _ in range(60))
        assert set(drawn) <= {str(mapping) for mapping in members}
        if len(members) <= 8:
            assert len(drawn) == len({str(mapping) for mapping in members})
        for mapping in members[:20]:
            assert space.contains(mapping) is None
            MappingScorer(space).score(mapping)


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_neighbours_are_members_and_lead_everywhere(maker: Maker) -> None:
    for space in small_spaces(maker):
        members = {str(mapping): mapping for mapping in space}
        steps = {
            name: {str(other) for other in space.neighbours(mapping)}
            for name, mapping in members.items()
        }
        assert set[str]().union(*steps.values()) <= set(members)
        reached, todo = set[str](), [next(iter(members))]
        while todo:
            name = todo.pop()
            if name not in reached:
                reached.add(name)
                todo += steps[name]
        assert reached == set(members)
