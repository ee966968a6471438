"""Random small mapspaces of one Einsum whose indices leave their tensors: zeros cost no reads."""

from __future__ import annotations

import random

from array_cases import _array_arch as array_arch
from array_cases import _loose_arch as loose_arch
from fused_cases import two_memories, two_text, workload_of
from network_cases import _arch as network_arch
from search_cases import random_arch

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

EINSUMS = (
    "Z[p] = A[W: p + r - 1] * B[r]",
    "Z[p, m] = A[W: p + r - 1] * B[m, r]",
    "Z[p, m] = A[W: 2*p + r - 2, m] * B[m, r]",
    "Z[p] = A[W: p + 2*r - 3] * B[r]",
    "Z[p, q] = A[W: p + r - 1, H: q - 1] * B[r]",
    "Z[p, m] = A[W: 2 - p, m] * B[p]",
    "Z[p, m] = A[W: 2*p - 3, m] * B[m]",
)


def padded_space_of(seed: int) -> Mapspace:
    """Return a mapspace under random constraints, with a random size of each padded rank."""
    rng = random.Random(seed)
    arch = random_arch(rng)
    while "tensor_order" in arch:
        arch = random_arch(rng)  # by default the order of neighbouring holders means nothing
    return _space(rng, arch)


def padded_uneven_space_of(seed: int) -> Mapspace:
    """Return one with at least one variable that may be uneven."""
    rng = random.Random(seed)
    arch = random_arch(rng)
    while "tensor_order" in arch or "force_memory" in arch:  # lanes out of order are refused
        arch = random_arch(rng)
    return _space(rng, arch, uneven=True)


def padded_grid_space_of(seed: int) -> Mapspace:
    """Return one with a network, a memory spread over a grid, or holders out of order."""
    rng = random.Random(seed)
    return _space(rng, rng.choice((network_arch, array_arch, loose_arch))(rng))


def _space(rng: random.Random, arch: str, uneven: bool = False) -> Mapspace:
    text = rng.choice(EINSUMS)
    names = [name for name in "pqrm" if name in text]
    sizes = (2, 3) if len(names) > 2 else (2, 3, 5) if uneven else (2, 3, 4)
    ranks = {name.upper(): rng.choice(sizes) for name in names}
    ranks |= {rank: rng.randrange(1, 7) for rank in ("W", "H") if f"{rank}:" in text}
    listed = ", ".join(f"{rank}: {size}" for rank, size in sorted(ranks.items()))
    workload = load_workload(
        f"workload:\n  bits_per_value: {{All: {rng.choice((4, 8))}}}\n"
        f"  rank_sizes: {{{listed}}}\n  pad: {{W: 40, H: 40}}\n  einsums:\n"
        f'  - {{einsum: "{text}", renames: {{input: A, weight: B, output: Z}}}}\n'
    )
    (einsum,) = workload.einsums
    (flat,) = flatten(load_arch(arch), workload.scope(einsum))
    variables = sorted(einsum.bounds)
    chosen = frozenset(v for v in variables if rng.random() < 0.6) or frozenset(variables[:1])
    return Mapspace(einsum, flat, uneven=chosen if uneven else frozenset())


CASCADES = (
    # an input is padded; what is exchanged is; both, with strides; in two ranks; a chain of windows
    ("Y[p] = A[W: p + r - 1] * F[r]", "Z[p, n] = Y[p] * C[n]"),
    ("Y[c, w] = A[w] * B[c]", "Z[c, p] = Y[c, W: p + r - 1] * F[r]"),
    ("Y[w] = A[V: w + s - 1] * G[s]", "Z[p] = Y[W: 2*p + r - 1] * F[r]"),
    ("Y[w, v] = A[w] * B[v]", "Z[p, q] = Y[W: p + r - 1, V: q - 1] * F[r]"),
    ("Y[w] = A[V: w + s - 1] * G[s]", "X[v] = Y[W: v + r - 1] * F[r]", "Z[v] = X[v] * C[v]"),
    ("Y[c, w] = A[c] * B[w]", "X[w] = Y[c, w] * G[c]", "Z[p] = X[W: p + 2*r - 2] * F[r]"),
)


def random_padded_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return a design with a small buffer and convolutions over padded tensors; some with lanes."""
    rng = random.Random(f"padded {seed}")
    texts = rng.choice(CASCADES)
    names = sorted({c for text in texts for c in text if c.islower()} | {"w", "v"})
    sizes = {name: rng.choice((2, 3, 4)) for name in names}
    sizes["r"] = sizes["s"] = rng.choice((2, 3))
    size, outer = rng.choice((2, 3, 4, 5, 6, 8, 10, 12, 16)), rng.choice((5, 50))
    rules = rng.choice(("", "", "", ", no_refetch_from_above: input"))
    arch = two_memories(size, outer, 1, rules, rng.choice((0, 0, 0, 2)))
    if rng.random() < 0.3:
        memory = "  - !Memory\n    name: BUF\n"
        lanes = "  - !Container\n    name: TILE\n    spatial: [{name: x, fanout: 2}]\n"
        text = two_text(size, (outer, 1), rng.choice((0, 2)))
        arch = load_arch(text.replace(memory, lanes + memory))
    return arch, workload_of(texts, sizes), "default"
