"""Small mapspaces: of one matmul on a design with one buffer, and at random."""

from __future__ import annotations

import random

from search_cases import EINSUMS, random_arch, random_workload

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = """
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    tensors: {{keep: "~Intermediates", may_keep: All}}
    actions:
    - {{name: read, energy: 100, throughput: 64}}
    - {{name: write, energy: 110, throughput: 32}}
  - !Memory
    name: BUF
    size: {size}
    tensors: {{{rules}}}
    actions:
    - {{name: read, energy: 5, throughput: 256}}
    - {{name: write, energy: 6, throughput: 128}}
  - !Container
    name: PE
    spatial: [{{name: x, {dim}}}]
  - !Compute
    name: MAC
    actions: [{{name: compute, energy: 0.5, throughput: 1}}]
"""


def workload(m: int = 4, k: int = 6, n: int = 2) -> Workload:
    return load_workload(
        f"workload:\n  rank_sizes: {{M: {m}, K: {k}, N: {n}}}\n  bits_per_value: {{All: 8}}\n"
        '  einsums:\n  - einsum: "Z[m, n] = A[m, k] * B[k, n]"\n'
        "    renames: {input: A, weight: B, output: Z}\n"
    )


def space(
    rules: str = "keep: All",
    dim: str = "fanout: 2",
    size: object = 4096,
    conventions: str = "default",
    work: Workload | None = None,
) -> Mapspace:
    work = work or workload()
    arch = load_arch(ARCH.format(rules=rules, dim=dim, size=size))
    (flat,) = flatten(arch, work.scope(work.einsums[0]))
    return Mapspace(work.einsums[0], flat, conventions)


def random_space(seed: int) -> Mapspace:
    """Return a small mapspace; every rule of the files turns up in some of them."""
    rng = random.Random(seed)
    text = rng.choice(EINSUMS)
    arch = load_arch(random_arch(rng))
    work = load_workload(random_workload(rng, text))
    (flat,) = flatten(arch, work.scope(work.einsums[0]))
    return Mapspace(work.einsums[0], flat, rng.choice(("default", "accelforge")))
