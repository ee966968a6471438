"""The models that a study may name."""

from __future__ import annotations

from tilewright.dse.models import evaluators


def test_metrics_of_the_models_are_distinct():
    for names in evaluators.METRICS.values():
        assert len(set(names)) == len(names)
