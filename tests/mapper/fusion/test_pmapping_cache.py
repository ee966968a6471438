"""What searches of one workload share, and what they do without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.fusion.pmappings import pmapping_cache as shelf
from tilewright.mapper.workload.workload_loading import load_workload

if TYPE_CHECKING:
    from tilewright.mapper.searches.exact.label_metrics import Objective


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


@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
def test_nothing_depends_on_what_is_kept(
    objective: Objective, monkeypatch: pytest.MonkeyPatch
) -> None:
    arch, workload = load_arch(ARCH), load_workload(WORKLOAD)
    kept = fused_search(arch, workload, objective=objective)
    monkeypatch.setattr(shelf, "MAX_BYTES", 0)
    made_again = fused_search(arch, workload, objective=objective)
    assert made_again.best.mapping == kept.best.mapping
    assert made_again.certificate == kept.certificate
    assert kept.certificate.kind == "optimal"
