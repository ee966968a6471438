"""Spatial loops behind a mesh: in which order they stand decides how far values travel. AccelForge
1.0.467 tries one order only, the last letter and the last dimension outermost; its optima."""

from __future__ import annotations

import pytest
from nodes import arch_text, mac, memory

from tilewright.mapper.searches.api import search

NETWORK = """\
  - !Network
    name: NOC
    topology: mesh
    area: 0
    leak_power: 0
    bits_per_action: 8
    actions: [{name: hop, energy: 3, throughput: 8, latency: 1}]
"""
ARCH = arch_text(
    memory("DRAM", 1000000, "keep: All", (100, 64), (101, 32)),
    memory("BUF", 256, "keep: Nothing, may_keep: All", (5, 256), (6, 256), leak_power=2),
    NETWORK,
    "  - !Container {name: PE, spatial: [DIMS]}\n",
    mac(0.5),
)
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
