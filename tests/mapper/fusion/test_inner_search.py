"""Bounds of a branch at a time give what all bounds give."""

from __future__ import annotations

import pytest
from two_matmuls import ARCH, WORKLOAD

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.fusion.pmappings import inner_search as lower
from tilewright.mapper.workload.workload_loading import load_workload


@pytest.mark.parametrize("branch", [4])
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
