"""Uneven tiles under the accelforge conventions: the search beside the list of all mappings."""

from __future__ import annotations

import random

import pytest
from search_cases import EINSUMS, random_arch, random_workload

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.model.view import simple_variables
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.label_metrics import Goal, Objective
from tilewright.mapper.searches.verify import Verifier
from tilewright.mapper.workload.workload_loading import load_workload

OBJECTIVES: tuple[Objective, ...] = ("energy", "latency", "edp")


def space_of(seed: int) -> Mapspace | None:
    """Return a random mapspace, None if every variable stands in a sum."""
    rng = random.Random(seed)
    text, arch = rng.choice(EINSUMS), random_arch(rng)
    while "force_memory" in arch:  # uneven tiles above lanes out of order are refused
        arch = random_arch(rng)
    variables = {c for c in text if c.islower()}
    sizes = (2, 3, 5) if len(variables) > 2 else (3, 5, 7, 11)
    workload = load_workload(random_workload(rng, text, sizes))
    (einsum,) = workload.einsums
    (flat,) = flatten(load_arch(arch), workload.scope(einsum))
    names = sorted(simple_variables(einsum))
    uneven = frozenset(v for v in names if rng.random() < 0.7) or frozenset(names[:1])
    return Mapspace(einsum, flat, "accelforge", uneven=uneven) if uneven else None


def check(seeds: range, limit: int) -> tuple[int, int]:
    """Compare; return how many cases were small enough, and in how many odd tiles gain."""
    done = gains = 0
    for seed in seeds:
        space = space_of(seed)
        if space is None or space.size.points > limit:
            continue
        done += 1
        judge, mappings = Verifier(space), list(space)
        listed = [judge.costed(mapping) for mapping in mappings]
        even = Mapspace(space.einsum, space.flat, "accelforge")
        for objective in OBJECTIVES:
            result = ExactSearch().find(space, Goal(objective), None)
            assert result.proven, seed
            if not listed:
                assert result.best is None, seed
                continue
            assert result.best is not None, seed
            least = min(one.value(objective) for one in listed)
            assert judge.verified(result.best).value(objective) == pytest.approx(least, rel=1e-9)
            assert result.lower_bound == pytest.approx(least, rel=1e-9), seed
            plain = ExactSearch().find(even, Goal(objective), None).best
            gains += plain is not None and least < plain.value(objective) * (1 - 1e-9)
        for mapping in mappings[:: max(1, len(mappings) // 5)]:
            assert space.contains(mapping) is None, seed
    return done, gains


def test_search_equals_the_best_of_all_mappings() -> None:
    done, gains = check(range(16), 200)
    assert done >= 4
    assert gains >= 2


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10))
def test_search_equals_the_best_of_all_mappings_on_many(block: int) -> None:
    assert check(range(1000 + 30 * block, 1030 + 30 * block), 3000)[0] >= 10
