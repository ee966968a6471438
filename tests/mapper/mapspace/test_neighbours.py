"""Draws, neighbours and suggestions stay inside a mapspace and reach all of it."""

from __future__ import annotations

import random

import pytest
from buffer_spaces import random_space, space, workload
from explore import at_night

from tilewright.mapper.mapping.mapping import Mapping, Storage
from tilewright.mapper.workload.errors import InfeasibleMapping


def test_samples_are_uniform_members() -> None:
    room = space("keep: weight", work=workload(2, 2, 2))
    listed = [repr(mapping) for mapping in room]
    rng = random.Random(1)
    draws = [room.sample(rng) for _ in range(200 * len(listed))]
    assert all(room.contains(mapping) is None for mapping in draws[:50])
    counts = [sum(repr(draw) == one for draw in draws) for one in listed]
    assert sum(counts) == len(draws)
    chi_squared = sum((count - 200) ** 2 / 200 for count in counts)
    assert chi_squared < 2.5 * len(listed)
    again = random.Random(1)
    assert [room.sample(again) for _ in range(5)] == draws[:5]


def test_neighbours_are_members_and_go_both_ways() -> None:
    room = space(size=96)
    some = list(room)[::17]
    assert some
    for mapping in some:
        near = list(room.neighbours(mapping))
        assert near
        for other in near[:5]:
            assert room.contains(other) is None
            assert other != mapping
            if holders(other) == holders(mapping):
                assert mapping in list(room.neighbours(other))


def holders(mapping: Mapping) -> list[tuple[str, str]]:
    return [(t, n.component) for n in mapping.nodes if isinstance(n, Storage) for t in n.tensors]


def reached(steps: dict[str, set[str]]) -> set[str]:
    first = next(iter(steps))
    seen, left = {first}, [first]
    while left:
        fresh = steps[left.pop()] - seen
        seen |= fresh
        left += fresh
    return seen


@pytest.mark.parametrize("seed", [0, 1, *at_night(2, 7, 12, 13, 21)])
def test_neighbours_reach_every_mapping(seed: int) -> None:
    room = random_space(seed)
    members = {repr(mapping): mapping for mapping in room}
    steps = {name: {repr(n) for n in room.neighbours(m)} for name, m in members.items()}
    assert all(near <= set(members) for near in steps.values())
    back: dict[str, set[str]] = {name: set() for name in members}
    for name, near in steps.items():
        for other in near:
            back[other].add(name)
    assert reached(steps) == reached(back) == set(members)


class Shares:
    """A sampler that proposes given shares; `wanted` counts what it was asked for."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.names: list[str] = []

    def suggest_int(self, name: str, low: int, high: int) -> int:
        self.names.append(name)
        return self.rng.randint(low, high)

    def suggest_float(self, name: str, low: float, high: float) -> float:
        self.names.append(name)
        return self.rng.choice((low, high, self.rng.uniform(low, high)))


@pytest.mark.parametrize("seed", [0, 3, 7, *at_night(2, 12)])
def test_suggestions_are_members_and_reach_all(seed: int) -> None:
    room = random_space(seed)
    rng = random.Random(seed)
    found = set()
    for _ in range(12 * room.size.points):
        trial = Shares(rng)
        try:
            mapping = room.suggest(trial)
        except InfeasibleMapping:
            continue
        assert len(trial.names) == len(set(trial.names))
        found.add(repr(mapping))
        if len(found) % 10 == 0:
            assert room.contains(mapping) is None
    members = {repr(mapping) for mapping in room}
    assert found <= members
    assert len(found) > 0.5 * len(members)
