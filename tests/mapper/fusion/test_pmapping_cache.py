"""What searches of one workload share, and what they do without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from explore import at_night
from two_matmuls import ARCH, WORKLOAD

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.fusion.pmappings import pmapping_cache as shelf
from tilewright.mapper.workload.workload_loading import load_workload

if TYPE_CHECKING:
    from tilewright.mapper.searches.exact.label_metrics import Objective


@pytest.mark.parametrize("objective", ["edp", *at_night("energy", "latency")])
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
