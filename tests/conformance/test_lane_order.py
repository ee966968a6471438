"""Spatial loops behind a mesh: in which order they stand decides how far values travel. AccelForge
1.0.467 tries one order only, the last letter and the last dimension outermost; its optima."""

from __future__ import annotations

import pytest

from tilewright.mapper.searches.api import search

ARCH = """
arch:
  nodes:
  - !Memory
    name: DRAM
    size: 1000000
    area: 0
    leak_power: 0
    tensors: {keep: All}
    actions:
    - {name: read, energy: 100, throughput: 64}
    - {name: write, energy: 101, throughput: 32}
  - !Memory
    name: BUF
    size: 256
    area: 0
    leak_power: 2
    tensors: {keep: Nothing, may_keep: All}
    actions: [{name: read, energy: 5, throughput: 256}, {name: write, energy: 6, throughput: 256}]
  - !Network
    name: NOC
    topology: mesh
    area: 0
    leak_power: 0
    bits_per_action: 8
    actions: [{name: hop, energy: 3, throughput: 8, latency: 1}]
  - !Container
    name: PE
    spatial: [DIMS]
  - !Compute
    name: MAC
    area: 0
    leak_power: 0
    actions: [{name: compute, energy: 0.5, throughput: 1}]
"""
ONE = "{name: x, fanout: 8}"
TWO = "{name: x, fanout: 3}, {name: y, fanout: 8}"
OUTER = '"Z[m, n] = A[m] * B[n]"'
MATMUL = '"Z[m, n] = A[m, k] * B[k, n]"'


@pytest.mark.parametrize(
    ("dims", "einsum", "joule"),
    [(ONE, OUTER, 16584), (ONE, MATMUL, 55056), (TWO, OUTER, 16324), (TWO, MATMUL, 52198)],
)
def test_the_lanes_stand_as_there(dims: str, einsum: str, joule: float) -> None:
    arch = ARCH.replace("DIMS", dims)
    sizes = "M: 2, N: 6" + (", K: 6" if einsum == MATMUL else "")
    workload = f"workload: {{rank_sizes: {{{sizes}}}, bits_per_value: {{All: 8}}, einsums: ["
    found = search(arch, f"{workload}{einsum}]}}\n", conventions="accelforge").certificate
    assert (found.kind, found.value) == ("optimal", joule)
