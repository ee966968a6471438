"""Random small workloads that may exchange tensors in any of two memories on chip."""

from __future__ import annotations

import random

from fused_cases import CHAINS, DAGS, workload_of

from tilewright.arch.load import load_arch
from tilewright.arch.tree import Arch
from tilewright.mapper.workload import Workload

FORMS = (
    ("Y[m, n] = A[m] * B[n]", "Z[m] = Y[m, n] * C[n]"),
    ("Y[m] = A[m] * B[m]", "X[m, n] = Y[m] * C[n]", "Z[n] = X[m, n] * D[m]"),
    ("Y[m] = A[m, k] * B[k]", "Z[m, n] = Y[m] * C[n]"),
    CHAINS[2],
    DAGS[1],
    DAGS[5],
)
COSTS = {"DRAM": (50, 16), "BUF": (6, 64), "REG": (1, 128)}


def memory(name: str, size: object, kept: str) -> str:
    """Write a memory that keeps some tensors."""
    energy, throughput = COSTS[name]
    each = f"energy: {energy}, throughput: {throughput}"
    return (
        f"  - !Memory\n    name: {name}\n    size: {size}\n    leak_power: 0\n    area: 0\n"
        f"    tensors: {{{kept}}}\n"
        f"    actions: [{{name: read, {each}}}, {{name: write, {each}}}]\n"
    )


def random_exchanged_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return a design of three memories, each of which may back intermediates."""
    rng = random.Random(f"exchanged {seed}")
    texts = rng.choice(FORMS)
    names = sorted({c for text in texts for c in text if c.islower()})
    sizes = {name: rng.choice((2, 2, 2, 3)) for name in names}
    upper = rng.choice(
        (
            "keep: Nothing, may_keep: Intermediates",
            "keep: weight - Intermediates, may_keep: Intermediates",
            "keep: Nothing, may_keep: weight | output",
            "keep: input, may_keep: Nothing",
        )
    )
    lower = rng.choice(
        (
            "keep: Nothing, may_keep: Intermediates",
            "keep: Intermediates, may_keep: Nothing",
            "keep: Nothing, may_keep: output | weight",
        )
    )
    arch = (
        "arch:\n  nodes:\n"
        + memory("DRAM", "inf", 'keep: "~Intermediates", may_keep: All')
        + memory("BUF", rng.choice((2, 3, 4, 6, 8, "inf")), upper)
        + memory("REG", rng.choice((1, 2, 3, 4, 6)), lower)
        + "  - !Compute\n    name: MAC\n    leak_power: 0\n    area: 0\n"
        "    actions: [{name: compute, energy: 1, throughput: 1}]\n"
    )
    return load_arch(arch), workload_of(texts, sizes), rng.choice(("default", "accelforge"))
