"""The models that a study may name, and the metrics that they give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.dse.models.evaluator import Evaluator
    from tilewright.dse.study.study import StudySpec

METRICS: Mapping[str, tuple[str, ...]] = {
    "analytical": ("energy", "latency", "edp", "area", "leak_power"),
    "simulated": (
        "cycles",
        "latency",
        "energy",
        "edp",
        "sram_bits",
        "utilization",
        "hops",
        "elements",
    ),
}


def make_evaluator(spec: StudySpec) -> Evaluator:
    """Return the model that a study names: `analytical` (mapper) or `simulated` (simulator)."""
    if spec.model == "simulated":
        from tilewright.dse.models.simulated import SimulatedEvaluator

        return SimulatedEvaluator(spec.arch, spec.workload, spec.machine)
    from tilewright.dse.models.analytical import AnalyticalEvaluator

    return AnalyticalEvaluator(spec.arch, spec.workload, spec.mapper_objective)
