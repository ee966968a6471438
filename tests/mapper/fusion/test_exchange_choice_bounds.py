"""Bounds that an earlier search left change no answer."""

from __future__ import annotations

import pytest
from two_matmuls import ARCH, WORKLOAD

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.fusion.join.exchange_choice_bounds import EinsumBounds
from tilewright.mapper.fusion.pmappings.pmapping_cache import CachedBound
from tilewright.mapper.workload.workload_loading import load_workload


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
