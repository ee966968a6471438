"""Random designs whose memories are too small for what they keep, most of them without lanes."""

from __future__ import annotations

import random

from search_cases import EINSUMS, buffer_rules, container, memory, toll, zero

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.workload.workload_loading import load_workload

WINDOWS = (  # two tensors slide over the same loops; an output with a window
    "Z[p] = A[W: p + r] * B[V: p + r]",
    "Z[p, m] = A[W: p + r, m] * B[V: p + r]",
    "Z[W: p + r] = A[p] * B[r]",
    "Z[W: p + r] = A[V: p + r] * B[p, r]",
)
KEPT = ("output", "weight", "input", "Nothing, may_keep: All", "input | output")


def tight_space_of(seed: int) -> Mapspace:
    """Return a small mapspace with tight memories, mostly without lanes; windows that overlap."""
    rng = random.Random(seed)
    arch, workload = load_arch(tight_arch(rng)), load_workload(tight_workload(rng))
    (einsum,) = workload.einsums
    (flat,) = flatten(arch, workload.scope(einsum))
    return Mapspace(einsum, flat, rng.choice(("default", "default", "accelforge")))


def tight_arch(rng: random.Random) -> str:
    """Write an architecture of 2 to 4 memories, all but the outermost of a few values."""
    lines = ["arch:", "  nodes:"]
    lines += memory("DRAM", "inf", 'keep: "~Intermediates", may_keep: All', rng, 50)
    lines += toll("WIRE", rng) if rng.random() < 0.1 else []
    free = ", force_memory_hierarchy_order: false" if rng.random() < 0.08 else ""
    size = rng.choice((4, 8, 16, 24, 32, 48, 64, 96))
    lines += memory("BUF", str(size), buffer_rules(rng) + free, rng, 5)
    lines += container(rng) if rng.random() < 0.35 and not free else []
    lines += toll("LINK", rng) if rng.random() < 0.15 else []
    if rng.random() < 0.8:
        rules = f"keep: {rng.choice(KEPT)}{free}"
        lines += memory("REG", str(rng.choice((8, 16, 24, 48))), rules, rng, 1)
        if rng.random() < 0.12:
            rules = f"keep: {rng.choice(KEPT[:3])}{free}"
            lines += memory("RF", str(rng.choice((8, 16))), rules, rng, 1)
    lines += ["  - !Compute", "    name: MAC", *zero()]
    lines += [f"    actions: [{{name: compute, energy: 0.5, throughput: {rng.choice((1, 4))}}}]"]
    return "\n".join(lines) + "\n"


def tight_workload(rng: random.Random) -> str:
    """Write a workload of one Einsum with small random sizes."""
    text = rng.choice((*EINSUMS, *WINDOWS))
    names = sorted({c for c in text if c.islower()})
    small = (2, 2, 3, 4) if len(names) > 2 else (2, 3, 4, 6)
    sizes = {name: rng.choice(small) for name in names}
    ranks = {name.upper(): size for name, size in sizes.items()}
    if "W: 2 * m" in text:
        ranks["W"] = 2 * (sizes["m"] - 1) + 1
    elif "W:" in text:
        ranks["W"] = (2 if "2 * p" in text else 1) * (sizes["p"] - 1) + sizes["r"]
        ranks["V"] = ranks["W"]
    listed = ", ".join(f"{rank}: {size}" for rank, size in sorted(ranks.items()))
    return (
        f"workload:\n  bits_per_value: {{All: {rng.choice((4, 8))}}}\n  rank_sizes: {{{listed}}}\n"
        f'  einsums:\n  - einsum: "{text}"\n    renames: {{input: A, weight: B, output: Z}}\n'
    )
