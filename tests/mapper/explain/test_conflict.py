"""The smallest conflict among constraints, compared with brute force on random monotone rules."""

from __future__ import annotations

import random
from itertools import combinations

from tilewright.mapper.explain.conflict import find_conflict, smallest_correction
from tilewright.mapper.explain.constraint import MappingConstraint
from tilewright.mapper.explain.subject import Active, TooLarge

CONSTRAINTS = tuple(MappingConstraint("keep", "M", ("tensors", "keep"), t) for t in "ABCDEF")


def random_conflicts(seed: int) -> list[Active]:
    rng = random.Random(seed)
    return [frozenset(rng.sample(CONSTRAINTS, rng.randint(1, 4))) for _ in range(rng.randint(1, 4))]


def test_the_smallest_conflict_equals_brute_force() -> None:
    for seed in range(60):
        minimal = random_conflicts(seed)

        def feasible(active: Active, minimal: list[Active] = minimal) -> bool:
            return not any(conflict <= active for conflict in minimal)

        conflict = find_conflict(CONSTRAINTS, feasible)
        assert conflict is not None
        assert conflict.kind == "smallest"
        assert len(conflict.constraints) == min(map(len, minimal))
        assert not feasible(frozenset(conflict.constraints))
        assert list(conflict.constraints) == [c for c in CONSTRAINTS if c in conflict.constraints]

        correction = smallest_correction(conflict, CONSTRAINTS, feasible)
        sizes = [
            n
            for n in range(len(CONSTRAINTS) + 1)
            for lifted in combinations(CONSTRAINTS, n)
            if feasible(frozenset(CONSTRAINTS) - set(lifted))
        ]
        assert feasible(frozenset(CONSTRAINTS) - set(correction))
        if sizes[0] <= 2:
            assert len(correction) == sizes[0]


def test_no_conflict_where_lifting_everything_does_not_help() -> None:
    assert find_conflict(CONSTRAINTS, lambda _: False) is None


def test_a_question_that_takes_too_long_leaves_an_unreduced_conflict() -> None:
    def feasible(active: Active) -> bool:
        if active:
            raise TooLarge
        return True

    conflict = find_conflict(CONSTRAINTS, feasible)
    assert conflict is not None
    assert conflict.kind == "unreduced"
    assert conflict.constraints == CONSTRAINTS
