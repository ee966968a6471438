"""Constraints on the lanes of an Array: the mapper of AccelForge 1.0.467 skips them
(docs/validation/accelforge.md); its optima."""

from __future__ import annotations

import pytest

from tilewright.mapper.searches.api import search

ARCH = """
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
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
    leak_power: 0
    tensors: {keep: weight, may_keep: All}
    actions: [{name: read, energy: 5, throughput: 256}, {name: write, energy: 6, throughput: 256}]
  - !Array
    name: GRID
    spatial:
    - name: x
      fanout: 4
      RULE
    nodes:
    - !Memory
      name: LOCAL
      size: 32
      area: 0
      leak_power: 1
      tensors: {keep: All}
      spatial: [{name: x, fanout: 4}]
      actions: [{name: read, energy: 3, throughput: 128}, {name: write, energy: 4, throughput: 64}]
  - !Compute
    name: MAC
    area: 0
    leak_power: 0
    actions: [{name: compute, energy: 0.5, throughput: 1}]
"""
OUTER = """
workload:
  rank_sizes: {M: 3, N: 8}
  bits_per_value: {All: 4}
  einsums:
  - {einsum: "Z[m, n] = A[m] * B[n]", renames: {input: A, weight: B, output: Z}}
"""
NOT_N = 'loop_bounds: [{expression: n, operator: "==", value: 1}]'


@pytest.mark.parametrize(
    ("rule", "joule", "second", "by_default"),
    [
        ("reuse: ~output", 15692, 6, 24),
        ("reuse: All", 15692, 6, 24),
        (NOT_N, 15692, 6, 8),
        ("reuse: output", 15908, 6, 24),
        ("may_reuse: output", 15908, 6, 6),
    ],
)
def test_only_may_reuse_counts_there(
    rule: str, joule: float, second: float, by_default: float
) -> None:
    arch = ARCH.replace("RULE", rule)
    found = {
        goal: search(arch, OUTER, objective=goal, conventions="accelforge").certificate
        for goal in ("energy", "latency")
    }
    assert (found["energy"].value, found["latency"].value) == (joule, second)
    default = search(arch, OUTER, objective="latency").certificate
    assert (default.kind, default.value) == ("optimal", by_default)
