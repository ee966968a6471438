"""Energy and latency of many labels at once, against those of each."""

from __future__ import annotations

import numpy as np
import pytest
from search_cases import space_of

from tilewright.mapper.searches.exact.label_fields import label_fields
from tilewright.mapper.searches.exact.label_metrics import LabelMetrics
from tilewright.mapper.searches.exact.metric_terms import leaks_of


@pytest.mark.random
@pytest.mark.parametrize("seed", range(12))
def test_many_labels_cost_what_each_costs(seed: int) -> None:
    space, numbers = space_of(seed), np.random.default_rng(seed)
    leaks = leaks_of(space.flat, space.conventions)
    layout = label_fields(space.problem, leaks)
    metrics = LabelMetrics(space.problem, layout, leaks)
    labels = numbers.integers(1, 100, (20, layout.width)).astype(float)
    labels[:, layout.lanes] *= -1
    latencies = metrics.all_latencies(labels)
    assert latencies.tolist() == [metrics.latency(label) for label in labels]
    pairs = zip(labels, latencies.tolist(), strict=True)
    energies = [metrics.energy(label, latency) for label, latency in pairs]
    assert metrics.all_energies(labels, latencies) == pytest.approx(energies, rel=1e-12)
