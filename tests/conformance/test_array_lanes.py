"""Constraints on the lanes of an Array: the mapper of AccelForge 1.0.467 skips them
(docs/validation/accelforge.md); its optima."""

from __future__ import annotations

import pytest
from nodes import arch_text, mac, memory

from tilewright.mapper.searches.api import search

GRID = """\
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
"""
ARCH = arch_text(
    memory("DRAM", "inf", "keep: All", (100, 64), (101, 32)),
    memory("BUF", 256, "keep: weight, may_keep: All", (5, 256), (6, 256)),
    GRID,
    mac(0.5),
)
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
        pytest.param("reuse: ~output", 15692, 6, 24, marks=pytest.mark.nightly),
        ("reuse: All", 15692, 6, 24),
        pytest.param(NOT_N, 15692, 6, 8, marks=pytest.mark.nightly),
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
