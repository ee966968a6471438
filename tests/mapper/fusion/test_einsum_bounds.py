"""Bounds that an earlier search left change no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.fusion.join.einsum_bounds import EinsumBounds
from tilewright.mapper.fusion.pmappings.pmapping_cache import CachedBound
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


def test_what_is_known_of_the_least_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Latency and edp begin where the search of energy ended: with or without what it learned."""
    arch, workload = load_arch(ARCH), load_workload(WORKLOAD)
    known = [fused_search(arch, workload, objective=o) for o in ("latency", "edp")]
    nothing = CachedBound(0.0, False)
    monkeypatch.setattr(EinsumBounds, "_cached_least", lambda self, bound, metric: nothing)
    for one, objective in zip(known, ("latency", "edp"), strict=True):
        other = fused_search(arch, workload, objective=objective)
        assert other.certificate == one.certificate
        assert other.best.score.energy == one.best.score.energy
