"""Random small workloads that may exchange tensors in any of two memories on chip."""

from __future__ import annotations

import random

from fused_cases import CHAINS, DAGS, network, workload_of

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.workload.workload import Workload

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


SHORT = (
    ("Y[m, n] = A[m] * B[n]", "Z[m] = Y[m, n] * C[n]"),
    ("Y[m] = A[m] * B[m]", "X[m, n] = Y[m] * C[n]", "Z[n] = X[m, n] * D[m]"),
    ("Y[m] = A[m, k] * B[k]", "Z[m, n] = Y[m] * C[n]"),
    DAGS[5],
)


def random_dealt_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return the same with lanes between memories, some behind a network; the upper one on chip may
    hold nothing, or nothing that Einsums exchange."""
    rng = random.Random(f"dealt {seed}")
    texts = rng.choice(SHORT)
    names = sorted({c for text in texts for c in text if c.islower()})
    sizes = {name: rng.choice((2, 2, 2, 3, 4) if len(names) < 3 else (2, 2, 3)) for name in names}
    upper = rng.choice(
        (
            "keep: Nothing, may_keep: Nothing",
            "keep: Nothing, may_keep: ~Intermediates",
            "keep: weight - Intermediates, may_keep: Nothing",
            "keep: Nothing, may_keep: Intermediates",
            "keep: Nothing, may_keep: weight | output",
        )
    )
    lower = rng.choice(
        (
            "keep: Nothing, may_keep: All",
            "keep: Nothing, may_keep: Intermediates",
            "keep: Intermediates, may_keep: Nothing",
            "keep: Nothing, may_keep: output | weight",
        )
    )
    reuse = rng.choice(("", "", ", may_reuse: Nothing", ", may_reuse: weight"))
    lanes = f"    spatial: [{{name: x, fanout: {rng.choice((2, 2, 3))}{reuse}}}]\n"
    above, between = rng.choice(((0, 1), (0, 1), (0, 1), (1, 0), (1, 1)))
    tile, row = (f"  - !Container\n    name: {name}\n{lanes}" for name in ("TILE", "ROW"))
    if seed % 4 == 3:
        hop = f"energy: {rng.randrange(1, 9)}, throughput: {rng.choice((0.05, 1, 4))}"
        net = network("NET", rng.choice(("mesh", "all_to_all")), f"{hop}, latency: 1")
        tile, row = (net + tile, row) if above and rng.random() < 0.5 else (tile, net + row)
    arch = (
        "arch:\n  nodes:\n"
        + memory("DRAM", "inf", 'keep: "~Intermediates", may_keep: All')
        + tile * above
        + memory("BUF", rng.choice((2, 3, 4, 6, 8, "inf")), upper)
        + row * between
        + memory("REG", rng.choice((1, 2, 3, 4, 6)), lower)
        + f"  - !Compute\n    name: MAC\n    leak_power: {rng.choice((0, 0, 2))}\n    area: 0\n"
        "    actions: [{name: compute, energy: 1, throughput: 1}]\n"
    )
    return load_arch(arch), workload_of(texts, sizes), rng.choice(("default", "accelforge"))
