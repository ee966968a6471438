"""Bounds that an earlier search left change no answer."""

from __future__ import annotations

import pytest
from two_matmuls import ARCH, WORKLOAD

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fusion.bounds.choice_search import ChoiceSearch
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.fusion.pmappings.pmapping_cache import CachedBound
from tilewright.mapper.workload.workload_loading import load_workload


def test_what_is_known_of_the_least_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search of edp begins where that of energy ended: with or without what it learned."""
    arch, workload = load_arch(ARCH), load_workload(WORKLOAD)
    known = fused_search(arch, workload, objective="edp")
    nothing = CachedBound(0.0, False)
    monkeypatch.setattr(ChoiceSearch, "_cached_least", lambda self, bound, metric: nothing)
    other = fused_search(arch, workload, objective="edp")
    assert other.certificate == known.certificate
    assert other.best.score.energy == known.best.score.energy
