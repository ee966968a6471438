"""Limits of what the pmappings of an Einsum may cost."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import pytest
from explore import at_night
from two_matmuls import ARCH, WORKLOAD

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fusion.bounds.cost_limit import CostLimit
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.workload.workload_loading import load_workload

if TYPE_CHECKING:
    from tilewright.mapper.searches.exact.label_metrics import Objective


@pytest.mark.parametrize("objective", ["edp", *at_night("energy", "latency")])
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
