"""The proof that a mapping computes its workload accepts what an execution on numbers accepts."""

from __future__ import annotations

import random
from typing import Any

import pytest
from executed_mapping import computes
from explore import enough

from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Sequential,
    Spatial,
    Storage,
    Temporal,
)
from tilewright.mapper.verification.verification import violations
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

CHAINS = (
    ("T[m, a] = A[m, k] * B[k, a]", "Z[m, b] = T[m, a] * C[a, b]"),
    ("X[m, n] = A[m, k] * B[k, n]", "D[m] = X[m, n]", "Y[m, n] = X[m, n] * D[m]"),
    ("T[m, n] = A[m, n] * S[n]", "Z[m, n] = T[m, n] * R[m]"),
    ("T[p] = I[H: p + r] * F[r]", "Z[q] = T[P: q + s] * G[s]"),
    ("T[p] = I[p, k]", "Z[q, n] = T[P: 2*q] * G[n]"),
    ("Y[m] = A[m, k] * B[k]", "Z[m] = Y[m] * C[k]"),
    ("T[m, n] = A[m, n]", "Z[n, m] = T[N: n, M: m]", "W[m] = Z[n, m] * T[m, n]"),
)
SIZES = {"P": 5, "H": 6, "S": 2, "R": 2, "Q": 4}


def workload_of(rng: random.Random) -> Workload:
    """Return a small random cascade."""
    texts = rng.choice(CHAINS)
    sizes = {name: rng.choice((2, 3, 4)) for name in "MNKAB"}
    if "2*q" in texts[1]:
        sizes |= {"P": 5, "Q": 3}
    elif "q + s" in texts[1]:
        sizes |= {"P": 4, "Q": 3, "S": 2, "R": 2, "H": 5}
    ranks = ", ".join(f"{name}: {size}" for name, size in sizes.items())
    lines = "".join(f'  - "{text}"\n' for text in texts)
    return load_workload(
        f"workload:\n  rank_sizes: {{{ranks}}}\n  bits_per_value: {{All: 8}}\n  einsums:\n{lines}"
    )


def random_mapping(workload: Workload, rng: random.Random) -> Mapping:
    """Return a mapping with shared loops, most of which compute something else."""
    tiles = {e.name: dict(e.bounds) for e in workload.einsums}
    variables = sorted({v for e in workload.einsums for v in e.bounds})
    shared: list[Any] = [Storage(workload.tensors, "DRAM")]
    count = rng.choice((0, 1, 1, 2, 3))
    shared += [loop(rng, rng.choice(variables), tiles, list(tiles)) for _ in range(count)]
    for tensor in workload.tensors:
        if rng.random() < 0.4:
            place = rng.randrange(len(shared) + 1)
            shared.insert(place, Storage((tensor,), "BUF"))
            if rng.random() < 0.6:  # no copy in the outermost memory
                shared = [without(node, tensor) for node in shared]
    shared = [node for node in shared if not isinstance(node, Storage) or node.tensors]
    branches = []
    for einsum in workload.einsums:
        branch: list[Any] = []
        names = list(einsum.bounds)
        rng.shuffle(names)
        for name in names:
            if rng.random() < 0.3:
                branch.append(loop(rng, name, tiles, [einsum.name]))
            branch.append(Temporal(name, 1))
        branches.append((*branch, ComputeNode(einsum.name, "MAC")))
    return Mapping((*shared, Sequential(tuple(branches))))


def loop(rng: random.Random, name: str, tiles: dict[str, dict[str, int]], below: list[str]) -> Any:
    """Return a loop over a variable and shrink the tiles of the Einsums below it."""
    names: tuple[tuple[str, str], ...] = ()
    outer = max(tiles[e].get(name, 1) for e in below)
    tile = rng.randint(1, outer)
    if name in {"p", "q"} and len(below) > 1 and rng.random() < 0.8:
        names = tuple((e, v) for e in below for v in ("p", "q") if v != name and v in tiles[e])
    for einsum in below:
        variable = dict(names).get(einsum, name)
        if variable in tiles[einsum]:
            tiles[einsum][variable] = min(tile, tiles[einsum][variable])
    if rng.random() < 0.25:
        return Spatial(name, tile, "x", "ARRAY", names)
    return Temporal(name, tile, None, names)


def without(node: Any, tensor: str) -> Any:
    if isinstance(node, Storage) and node.component == "DRAM":
        return Storage(tuple(t for t in node.tensors if t != tensor), "DRAM")
    return node


def compare(first: int, count: int) -> dict[bool, int]:
    verdicts = {True: 0, False: 0}
    for seed in range(first, first + count):
        rng = random.Random(seed)
        workload = workload_of(rng)
        mapping = random_mapping(workload, rng)
        broken = violations(workload, mapping)
        right = computes(workload, mapping, seed)
        assert (not broken) == right, (seed, str(mapping), broken)
        verdicts[right] += 1
    return verdicts


def test_as_executed(shift: int) -> None:
    verdicts = compare(shift, 250)
    assert enough(min(verdicts.values()), 35)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(25))
def test_as_executed_many(block: int) -> None:
    compare(2_000 * block, 2_000)
