"""Bounds of a branch at a time give what all bounds give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.fusion.pmappings import inner_search as lower
from tilewright.mapper.workload.workload_loading import load_workload

if TYPE_CHECKING:
    pass


ARCH = """
arch:
  nodes:
  - !Memory
    name: Outer
    size: inf
    area: 0
    leak_power: 0
    tensors: {keep: ~Intermediates, may_keep: All}
    actions: [{name: read, energy: 10, throughput: 4}, {name: write, energy: 10, throughput: 4}]
  - !Memory
    name: Inner
    size: 400
    area: 0
    leak_power: 0
    tensors: {may_keep: All}
    actions: [{name: read, energy: 1, throughput: 8}, {name: write, energy: 1, throughput: 8}]
  - !Compute
    name: MAC
    area: 0
    leak_power: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
"""


WORKLOAD = """
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: 8, A: 4, B: 4, C: 8}
  einsums:
  - "T[m, b] = S[m, a] * V[a, b]"
  - "U[m, c] = T[m, b] * W[b, c]"
"""


@pytest.mark.parametrize("branch", [1, 4, 12])
def test_nothing_depends_on_how_many_bounds_are_kept_at_a_time(
    branch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    arch, workload = load_arch(ARCH), load_workload(WORKLOAD)
    whole = fused_search(arch, workload, objective="edp")
    states = 4 * 3 * 3  # of the lattice of either Einsum
    monkeypatch.setattr(lower, "TREE_BYTES", 0)
    monkeypatch.setattr(lower, "BRANCH_BYTES", branch * 2 * 8 * states)
    in_branches = fused_search(arch, workload, objective="edp")
    assert in_branches.best.mapping == whole.best.mapping
    assert in_branches.certificate == whole.certificate
    assert in_branches.statistics.labels == whole.statistics.labels
    assert whole.certificate.kind == "optimal"
