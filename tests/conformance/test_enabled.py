"""Memories and Networks that are `enabled` for some Einsums: optima of AccelForge 1.0.467, for
which only False disables, and what is disabled keeps its lanes (docs/conventions.md §13)."""

from __future__ import annotations

import pytest
from nodes import arch_text, mac, memory

from tilewright.mapper.searches.api import search

MAC = mac(0.5)
DRAM = memory("DRAM", "inf", "keep: ~Intermediates, may_keep: All", (100, 64), (101, 32))
BUF = memory(
    "BUF",
    256,
    "keep: ~DRAM, may_keep: All",
    (5, 256),
    (6, 256),
    leak_power=3,
    enabled="ENABLED",
    spatial="[{name: z, fanout: LANES}]",
)
NOC = """\
  - !Network
    name: NOC
    topology: mesh
    area: 0
    leak_power: 0
    enabled: ENABLED
    actions: [{name: hop, energy: 3, throughput: 8, latency: 0}]
  - !Container {name: PE, spatial: [{name: z, fanout: 4}]}
"""
MATMUL = """
workload:
  rank_sizes: {M: 8, N: 8, K: 8}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "Z[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: Z}}
"""
CHAIN = """
workload:
  rank_sizes: {M: 6}
  bits_per_value: {All: 16}
  einsums:
  - {einsum: "Y[m] = A[m] * B[m]", renames: {input: A, weight: B, output: Y}}
  - {einsum: "X[m] = Y[m] * C[m]", renames: {input: Y, weight: C, output: X}}
  - {einsum: "V[m] = Y[m] * D[m]", renames: {input: Y, weight: D, output: V}}
  - {einsum: "Z[m] = X[m] * V[m]", renames: {input: X, weight: V, output: Z}}
"""


def least(arch: str, workload: str, objective: str, conventions: str = "accelforge") -> float:
    found = search(arch, workload, objective=objective, conventions=conventions)
    assert found.certificate.kind == "optimal"
    assert not found.notes
    return found.certificate.value


@pytest.mark.parametrize(
    ("enabled", "joule", "second"),
    [
        ("len(All) == 2", 974584, 168),
        ("0", 974584, 168),
        ("len(All) == 3", 246912, 128),
        ("len(Nothing)", 246912, 128),
        ("Nothing", 246912, 128),
    ],
)
def test_a_disabled_buffer_keeps_nothing_but_its_lanes(
    enabled: str, joule: float, second: float
) -> None:
    arch = arch_text(DRAM, BUF.replace("ENABLED", enabled).replace("LANES", "4"), MAC)
    assert least(arch, MATMUL, "energy") == joule
    assert least(arch, MATMUL, "latency") == second


@pytest.mark.parametrize("enabled", ["len(All) == 2", "true"])
def test_a_network_is_always_there(enabled: str) -> None:
    assert least(arch_text(DRAM, NOC.replace("ENABLED", enabled), MAC), MATMUL, "energy") == 1020160


@pytest.mark.parametrize(
    ("enabled", "kept", "product"),
    [
        ("V", "~Intermediates", 1243872),
        ("len(X) == 1", "~X", 2338272),
        ("len(Y) == 1 or len(Z) == 0", "~Y", 2119392),
    ],
)
def test_einsums_exchange_where_their_buffer_is_enabled(
    enabled: str, kept: str, product: float
) -> None:
    buffer = BUF.replace("ENABLED", enabled).replace("LANES", "1")
    arch = arch_text(DRAM.replace("~Intermediates", kept), buffer, MAC)
    assert least(arch, CHAIN, "edp") == product
    if enabled != "V":
        assert least(arch, CHAIN, "edp", "default") == product
