"""Explanations of random small problems beside brute force: feasibility, smallest conflicts."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import combinations, islice

import pytest
from explore import enough
from search_cases import EINSUMS, best_by_brute_force, random_arch, random_workload

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.explain.constraint import MappingConstraint
from tilewright.mapper.explain.existence import Existence, even_tiles_decide
from tilewright.mapper.explain.infeasible import explain_infeasible, why_infeasible
from tilewright.mapper.explain.reach import first_mapping
from tilewright.mapper.explain.subject import ConstrainedEinsum
from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.templates.slot_sequence import slot_sequence
from tilewright.mapper.workload.workload_loading import load_workload


def random_subject(seed: int) -> ConstrainedEinsum:
    """Return a small problem with small memories, so that many have no mapping."""
    rng = random.Random(seed)
    text = rng.choice(EINSUMS)
    lines = []
    for line in random_arch(rng).splitlines():
        shrink = "size: " in line and "inf" not in line and rng.random() < 0.7
        lines.append(f"    size: {rng.choice((4, 8, 12, 20, 40))}" if shrink else line)
    workload = load_workload(random_workload(rng, text))
    conventions = rng.choice(("default", "accelforge"))
    if any("tensor_order" in line for line in lines):
        conventions = "accelforge"  # by default the order of neighbouring holders means nothing
    return ConstrainedEinsum(
        load_arch("\n".join(lines)), workload, workload.einsums[0], conventions
    )


def fits_by_brute_force(subject: ConstrainedEinsum, limit: int) -> bool | None:
    (space,) = subject.spaces(frozenset(subject.constraints))
    found = best_by_brute_force(space, limit)
    return None if found is None else bool(found)


def check_feasibility(seeds: Iterable[int], limit: int) -> set[bool]:
    seen = set()
    for seed in seeds:
        subject = random_subject(seed)
        listed = fits_by_brute_force(subject, limit)
        if listed is not None:
            assert subject.feasible(frozenset(subject.constraints)) is listed, seed
            seen.add(listed)
    return seen


def test_feasibility_equals_brute_force() -> None:
    assert check_feasibility((41, 51), 300) == {True, False}


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10))
def test_feasibility_equals_brute_force_on_many(block: int) -> None:
    ends = check_feasibility(range(1000 + 60 * block, 1060 + 60 * block), 4000)
    assert enough(len(ends), 2)


def check_explained(seed: int) -> bool:
    """Check a conflict and the relaxations against feasibility alone; False: there is a mapping."""
    subject = random_subject(seed)
    found = explain_infeasible(subject)
    if found is None:
        return False
    for number, conflict in enumerate(found.conflicts):
        blamed = conflict.constraints
        assert not subject.feasible(frozenset(blamed))
        assert conflict.kind == "smallest"
        earlier = {c for one in found.conflicts[:number] for c in one.constraints}
        others = [c for c in subject.constraints if c not in earlier]
        for fewer in range(1, len(blamed)):
            for some in combinations(others, fewer):
                assert subject.feasible(frozenset(some)), seed
    for relaxation in found.relaxations:
        check_relaxed(subject, relaxation.constraint, relaxation.value)
    alone = {r.constraint for r in found.relaxations}
    for constraint in subject.constraints:
        rest = frozenset(subject.constraints) - {constraint}
        assert subject.feasible(rest) is (constraint in alone), seed
    if not found.relaxations:
        assert found.together
    return True


def check_relaxed(
    subject: ConstrainedEinsum, constraint: MappingConstraint, value: float | None
) -> None:
    if value is None:
        return
    path = constraint.path + ("" if constraint.kind in ("size", "fanout") else ".value")
    number = int(value) if value == int(value) else value

    def explained(number: float) -> object:
        machine = subject.arch.with_values({path: number})
        return why_infeasible(machine, subject.workload, subject.einsum, subject.conventions)

    assert explained(number) is None
    if constraint.kind == "size":
        assert explained(number - 1) is not None


@pytest.mark.parametrize("seed", [5, 11, 13, 44, 46, 53, 59])
def test_explanations_are_minimal(seed: int) -> None:
    assert check_explained(seed)


@pytest.mark.nightly
def test_explanations_are_minimal_on_many(shift: int) -> None:
    seeds = range(shift + 100, shift + 400)
    assert enough(sum(check_explained(seed) for seed in seeds), 60)


@pytest.mark.parametrize("seed", range(6))
def test_witness_is_a_mapping(seed: int) -> None:
    subject = random_subject(seed)
    for space in subject.spaces(frozenset(subject.constraints)):
        few = Existence().find(space)
        likely = None if few is None else (few.template, few.tiles)
        for found in (first_mapping(space), likely):
            if found is not None:
                mapping = assemble(space.problem, slot_sequence(space.problem, found[0]), found[1])
                assert space.contains(mapping) is None
                assert MappingScorer(space).score(mapping).energy >= 0


def check_existence(seed: int, limit: int) -> list[bool]:
    """Compare the likely placements with all templates, with some of the constraints lifted."""
    subject, rng = random_subject(seed), random.Random(seed)
    found = []
    for share in (0.0, 0.2, 0.5, 0.9):
        active = frozenset(c for c in subject.constraints if rng.random() >= share)
        for space in subject.spaces(active):
            few = subject.mapping_of(space)
            if len(list(islice(space.each_template(), limit + 1))) > limit:
                continue
            assert (few is None) is (first_mapping(space) is None), (seed, share)
            found.append(few is None)
    return found


def check_uneven(seeds: range, most: int) -> list[bool]:
    """Compare where even tiles decide with all templates of uneven ones; tell which have none."""
    found = []
    for seed in seeds:
        subject = random_subject(seed)
        (plain,) = subject.spaces(frozenset(subject.constraints))
        uneven = frozenset(sorted(plain.einsum.bounds)[: 1 + seed % 2])
        space = Mapspace(plain.einsum, plain.flat, uneven=uneven)
        if not even_tiles_decide(space) or len(list(islice(space.each_template(), most))) == most:
            continue
        few = Existence().find(space)
        assert (few is None) is (first_mapping(space) is None), seed
        found.append(few is None)
    return found


def test_even_tiles_decide_without_lanes() -> None:
    found = check_uneven(range(40), 40)
    assert min(found.count(True), found.count(False)) >= 1


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(5))
def test_even_tiles_decide_without_lanes_on_many(block: int) -> None:
    found = check_uneven(range(1000 + 100 * block, 1100 + 100 * block), 200)
    assert enough(min(found.count(True), found.count(False)), 1)


def test_likely_placements_decide() -> None:
    found = [one for seed in (5, 11, 300, 301, 302) for one in check_existence(seed, 200)]
    assert {True, False} <= set(found)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10))
def test_likely_placements_decide_on_many(block: int) -> None:
    for seed in range(2000 + 60 * block, 2060 + 60 * block):
        check_existence(seed, 2000)
