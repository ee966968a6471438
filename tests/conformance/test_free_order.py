"""Holders out of the order of the hierarchy: optima of AccelForge 1.0.467, for which it is enough
that one of two memories is free to leave it."""

from __future__ import annotations

import pytest
from nodes import arch_text, mac, memory

from tilewright.mapper.searches.api import search

ARCH = arch_text(
    memory("DRAM", "inf", "keep: ~Intermediates, may_keep: All", (100, 64), (101, 32)),
    memory(
        "BUF",
        64,
        "keep: ~DRAM, may_keep: All, force_memory_hierarchy_order: UPPER",
        (5, 256),
        (6, 256),
        leak_power=2,
    ),
    memory(
        "REG",
        16,
        "keep: Nothing, may_keep: output, force_memory_hierarchy_order: LOWER",
        (1, "inf"),
        (2, "inf"),
    ),
    mac(0.5, leak_power=1),
)
MATMUL = """
workload:
  rank_sizes: {M: 6, N: 3, K: 4}
  bits_per_value: {All: 4}
  einsums:
  - {einsum: "Z[m, n] = A[m, k] * B[k, n] * C[m]", renames: {input: A, weight: B, output: Z}}
"""


LANES = """  - !Container
    name: PE
    spatial: [{name: x, fanout: 4}]
  - !Memory
    name: REG
"""


@pytest.mark.parametrize(
    ("upper", "lower", "product"),
    [
        ("true", "true", 2729376),
        ("true", "false", 2197152),
        ("false", "true", 2197152),
        ("false", "false", 2197152),
    ],
)
def test_one_free_memory_is_enough(upper: str, lower: str, product: float) -> None:
    arch = ARCH.replace("UPPER", upper).replace("LOWER", lower)
    found = search(arch, MATMUL, objective="edp", conventions="accelforge").certificate
    assert (found.kind, found.value) == ("optimal", product)


@pytest.mark.nightly
def test_uneven_tiles_over_lanes_keep_to_the_order_and_say_so() -> None:
    """With uneven tiles 3 over 2 lanes; lanes above holders of outer memories are not searched."""
    small = MATMUL.replace("M: 6, N: 3, K: 4", "M: 3, N: 2, K: 2")
    arch = ARCH.replace("UPPER", "true").replace("LOWER", "false")
    arch = arch.replace("  - !Memory\n    name: REG\n", LANES.replace("4", "2"))
    found = search(arch, small, objective="edp", conventions="accelforge", uneven="all")
    ordered = search(
        arch.replace("false", "true"), small, objective="edp", conventions="accelforge",
        uneven="all",
    )  # fmt: skip
    assert (found.certificate.kind, ordered.certificate.kind) == ("bounded", "optimal")
    assert found.certificate.value == ordered.certificate.value


SIDED = """
arch:
  nodes:
  - !Memory
    name: DRAM
    skip_initial_output_write: false
    size: inf
    area: 0
    leak_power: 0
    tensors: {keep: All}
    actions:
    - {name: read, energy: 100, throughput: 64}
    - {name: write, energy: 101, throughput: 32}
  - !Memory
    name: SIDE
    size: 64
    area: 0
    leak_power: 0
    tensors: {keep: weight - Intermediates, may_keep: weight - Intermediates}
    actions: [{name: read, energy: 12, throughput: 64}, {name: write, energy: 9, throughput: 64}]
  - !Memory
    name: BUF
    skip_initial_output_write: false
    size: 128
    area: 0
    leak_power: 0
    tensors:
      keep: ~(DRAM | SIDE)
      may_keep: ~(weight - Intermediates)
      force_memory_hierarchy_order: false
    actions: [{name: read, energy: 5, throughput: 256}, {name: write, energy: 6, throughput: 256}]
  - !Compute
    name: MAC
    area: 0
    leak_power: 1
    actions: [{name: compute, energy: 0.5, throughput: 1}]
"""
CHAIN = """
workload:
  rank_sizes: {M: 4, N: 4, P: 6}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "Y[m, n] = A[m, n] * B[n]", renames: {input: A, weight: B, output: Y}}
  - {einsum: "X[m, n] = Y[m, n] * C[m]", renames: {input: Y, weight: C, output: X}}
  - {einsum: "Z[m, p] = X[m, n] * D[n, p]", renames: {input: X, weight: D, output: Z}}
"""


def test_a_buffer_may_stand_above_the_memory_beside_it_in_a_chain() -> None:
    found = search(SIDED, CHAIN, objective="edp", conventions="accelforge").certificate
    assert (found.value, found.kind) == (25288704, "optimal")
