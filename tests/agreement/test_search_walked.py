"""The search against every mapping, each scored by the slow walk: more than 300 random cases.

Single Einsums (matmul-, convolution- and elementwise-like) on two to four levels under random
constraints, some with uneven tiles; workloads of two to four Einsums, fused and not, are walked in
test_fused_walked.py. A few run by default, all of them nightly.
"""

from __future__ import annotations

import random

import pytest
from search_cases import EINSUMS, random_arch
from walked import all_walked

from tilewright.arch.components.components import Toll
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.label_metrics import Goal, Objective
from tilewright.mapper.searches.methods.default_search import DefaultSearch
from tilewright.mapper.searches.methods.relaxed_min_usage import search_with_lowered_min_usage
from tilewright.mapper.workload.workload_loading import load_workload

SECOND: dict[Objective, Objective] = {"energy": "latency", "latency": "energy", "edp": "energy"}
UNEVEN = ("Z[m] = A[m, k] * B[k]", "Z[m, n] = A[m, n] * B[n]", "Z[m] = A[m] * B[m]")


def workload_text(rng: random.Random, text: str, sizes: tuple[int, ...]) -> str:
    """Write a workload of one Einsum; few variables get the larger sizes."""
    names = sorted({c for c in text if c.islower()})
    size = {name: rng.choice(sizes if len(names) < 4 else (2,)) for name in names}
    ranks = {name.upper(): n for name, n in size.items()}
    if "W: 2 * m" in text:
        ranks["W"] = 2 * (size["m"] - 1) + 1
    elif "W:" in text:
        ranks["W"] = (2 if "2 * p" in text else 1) * (size["p"] - 1) + size["r"]
    listed = ", ".join(f"{rank}: {n}" for rank, n in sorted(ranks.items()))
    return (
        f"workload:\n  bits_per_value: {{All: {rng.choice((4, 8))}}}\n"
        f"  rank_sizes: {{{listed}}}\n  einsums:\n"
        f'  - {{einsum: "{text}", renames: {{input: A, weight: B, output: Z}}}}\n'
    )


def space_of(seed: int, uneven: bool) -> Mapspace:
    """Return a random small mapspace under random constraints."""
    rng = random.Random(seed)
    arch = random_arch(rng)
    conventions = "default"
    if "tensor_order" in arch:
        conventions = "accelforge"  # by default the order of neighbouring holders means nothing
        arch = arch.replace("leak_power: 3", "leak_power: 0")  # gated there in another way
        uneven = False
    text = rng.choice(UNEVEN if uneven else EINSUMS)
    sizes = (2, 3, 5) if uneven else (1, 2, 2, 3)
    workload = load_workload(workload_text(rng, text, sizes))
    (einsum,) = workload.einsums
    (flat,) = flatten(load_arch(arch), workload.scope(einsum))
    variables = frozenset(v for v in einsum.bounds if uneven)
    return Mapspace(einsum, flat, conventions, uneven=variables)


def check(seed: int, limit: int, uneven: bool = False) -> bool:
    """Compare the search with the walk on one case; False if it is too large to walk."""
    space = space_of(seed, uneven)
    if uneven and any(isinstance(component, Toll) for component in space.flat.components):
        return False  # the walk's own list of uneven mappings has no Tolls
    listed = all_walked(space, limit)
    if listed is None:
        return False
    for objective, second in SECOND.items():
        goal = Goal(objective)
        result = DefaultSearch().find(space, goal, None)
        if result.best is None:
            result = search_with_lowered_min_usage(DefaultSearch(), space, goal, None) or result
        if not listed:
            assert result.best is None, seed
            continue
        assert result.best is not None, seed
        least = min(one.value(goal) for one in listed)
        assert result.best.value(goal) == pytest.approx(least, rel=1e-9), seed
        assert result.proven, seed
        assert result.lower_bound == pytest.approx(least, rel=1e-9), seed
        ties = [o.value(second) for o in listed if o.value(objective) <= least * (1 + 1e-9)]
        assert result.best.value(second) <= min(ties) * (1 + 1e-9), seed
    return True


@pytest.mark.parametrize("seed", [2, 3, 5, 8, 9, 13, 17, 21])
def test_search_equals_the_walk(seed: int) -> None:
    assert check(seed, limit=1000)


@pytest.mark.parametrize("seed", [8, 9, 11])
def test_search_with_uneven_tiles_equals_the_walk(seed: int) -> None:
    assert check(seed, limit=1000, uneven=True)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(40))
def test_search_equals_the_walk_on_many(block: int) -> None:
    seeds = range(1000 + 20 * block, 1020 + 20 * block)
    assert sum(check(seed, limit=3000) for seed in seeds) >= 8


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(15))
def test_search_with_uneven_tiles_equals_the_walk_on_many(block: int) -> None:
    seeds = range(1000 + 20 * block, 1020 + 20 * block)
    assert sum(check(seed, limit=3000, uneven=True) for seed in seeds) >= 3
