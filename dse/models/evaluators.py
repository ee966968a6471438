"""The models that a study may name, and the metrics that they give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.dse.models.evaluator import Evaluator
    from tilewright.dse.study.study import StudyInput, StudySpec

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
    "grid_matmul": (
        "cycles",
        "latency",
        "core_bits",
        "dram_traffic",
        "utilization",
        "cores",
        "reshard_cycles",
    ),
    "blocked_matmul": ("latency", "sbuf_bits", "psum_banks", "dram_traffic", "utilization"),
}
BOUNDED: Mapping[str, tuple[str, ...]] = {
    "simulated": ("cycles", "latency", "energy", "edp", "elements"),
}
"""Metrics of which a model has lower bounds without an execution."""
LAYOUT_MODELS = ("grid_matmul", "blocked_matmul")
"""Models of a machine for layouts: `arch.file` is a machine description."""


def choices_type(model: str) -> type | None:
    """Return the dataclass whose fields are a model's `mapping.` knobs; None if it has none."""
    if model == "simulated":
        from tilewright.mapper.grid.grid_constraints import GridConstraints

        return GridConstraints
    if model in LAYOUT_MODELS:
        from tilewright.dse.study.kernel_choices import BlockedMatmulChoices, GridMatmulChoices

        return GridMatmulChoices if model == "grid_matmul" else BlockedMatmulChoices
    return None


def make_evaluator(spec: StudySpec) -> Evaluator:
    """Return the model that a study names: of the mapper, the simulator, or a layout's time."""
    models = tuple(_evaluator(spec, workload) for workload in spec.workloads)
    if len(models) == 1 and not spec.workload.name:
        return models[0]
    from tilewright.dse.models.weighted import WeightedEvaluator

    return WeightedEvaluator(models, spec.workloads, tuple(spec.mapper.get("front", ())))


def _evaluator(spec: StudySpec, workload: StudyInput) -> Evaluator:
    if spec.model == "simulated":
        from tilewright.dse.models.simulated import SimulatedEvaluator

        return SimulatedEvaluator(spec.arch, workload, spec.machine)
    if spec.model == "grid_matmul":
        from tilewright.dse.models.grid_matmul import GridMatmulEvaluator

        return GridMatmulEvaluator(spec.arch, workload)
    if spec.model == "blocked_matmul":
        from tilewright.dse.models.blocked_matmul import BlockedMatmulEvaluator

        return BlockedMatmulEvaluator(spec.arch, workload)
    from tilewright.dse.models.analytical import AnalyticalEvaluator
    from tilewright.dse.models.design_families import DesignFiles, knob_family

    options = {name: value for name, value in spec.mapper.items() if name != "objective"}
    if len(spec.workloads) > 1 and "front" in options:
        from tilewright.dse.models.weighted import metrics_of_each

        options["front"] = metrics_of_each(options["front"])
    objective = spec.mapper_objective
    files = DesignFiles(spec.arch, workload, {"objective": objective, **options})
    family = knob_family(spec, files)
    return AnalyticalEvaluator(spec.arch, workload, objective, tuple(options.items()), family)
