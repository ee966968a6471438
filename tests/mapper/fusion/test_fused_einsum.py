"""Placements in groups, and bounds raised where they are lowest, change no optimum."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fused_cases import random_case, random_deep_case, random_wide_case

from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload import Workload

Case = tuple[Arch, Workload, str]
CASES = [(random_case, 3), (random_deep_case, 0), (random_wide_case, 0)]


@pytest.mark.parametrize(("make", "seed"), CASES)
def test_groups_of_placements_change_no_optimum(
    make: Callable[[int], Case], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    arch, work, conventions = make(seed)

    def optimum() -> tuple[float, float] | None:
        try:
            result = fused_search(arch, work, conventions=conventions)
        except InfeasibleMapping:
            return None
        assert result.certificate.kind == "optimal"
        return result.best.score.energy, result.best.score.latency

    monkeypatch.setattr("tilewright.mapper.fusion.fused_einsum.FEW_PLACEMENTS", 1000)
    expected = optimum()
    monkeypatch.setattr("tilewright.mapper.fusion.join.join_strategy.LARGE", 0)
    monkeypatch.setattr("tilewright.mapper.fusion.fused_einsum.FEW_PLACEMENTS", 1)
    monkeypatch.setattr("tilewright.mapper.fusion.fused_einsum.GROUP_ENDS", (1.0, 1.1, 1.5))
    assert optimum() == pytest.approx(expected, rel=1e-12)
