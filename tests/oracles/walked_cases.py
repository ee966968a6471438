"""Random small mapspaces of one Einsum for the slow walk."""

from __future__ import annotations

import random

from search_cases import EINSUMS, random_arch

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.workload.workload_loading import load_workload

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


def _space_of(seed: int, uneven: bool) -> Mapspace:
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


def even_space_of(seed: int) -> Mapspace:
    """Return one whose tiles divide each other."""
    return _space_of(seed, uneven=False)


def uneven_space_of(seed: int) -> Mapspace:
    """Return one whose variables may all be uneven."""
    return _space_of(seed, uneven=True)
