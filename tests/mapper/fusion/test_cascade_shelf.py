"""What searches of one workload share, and what they do without it."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import pytest

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.fusion.join.cost_limit import CostLimit
from tilewright.mapper.fusion.join.einsum_bounds import EinsumBounds
from tilewright.mapper.fusion.pmappings import inner_search as lower
from tilewright.mapper.fusion.pmappings import pmapping_cache as shelf
from tilewright.mapper.fusion.pmappings.pmapping_cache import CachedBound
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


@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
def test_einsums_alike_are_solved_once_though_rounding_tells_their_limits_apart(
    objective: Objective, monkeypatch: pytest.MonkeyPatch
) -> None:
    arch, workload = load_arch(ARCH), load_workload(WORKLOAD)
    shared = fused_search(arch, workload, objective=objective)
    monkeypatch.setattr(CostLimit, "covers", lambda self, other: self == other)
    monkeypatch.setattr(CostLimit, "rounded", property(lambda self: self))
    apart = fused_search(arch, workload, objective=objective)
    assert apart.best.score.energy == shared.best.score.energy
    assert apart.certificate == shared.certificate


def test_a_limit_covers_what_is_a_little_less() -> None:
    limit = CostLimit(1.0000001, inf)
    assert limit.rounded.covers(limit)
    assert limit.covers(CostLimit(1.0, inf))
    assert not limit.covers(CostLimit(1.1, inf))
    assert not limit.covers(CostLimit(0.9, inf))
    assert not limit.covers(CostLimit(1.0, 5.0))
    assert CostLimit(-1.0, 0.0).rounded == CostLimit(-1.0, 0.0)
    assert CostLimit(0.1 + 0.2, 3.0).rounded == CostLimit(0.3, 3.0).rounded


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
