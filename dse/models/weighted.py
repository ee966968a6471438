"""Several workloads as one: each is evaluated, and their metrics are joined by weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from tilewright.arch.errors import TilewrightError
from tilewright.dse.models.evaluator import Evaluator, Outcome, Proof
from tilewright.dse.study.design_space import Point
from tilewright.dse.study.study import StudyInput

_SUMS = ("energy", "latency", "cycles", "hops", "dram_traffic", "reshard_cycles")
_MEANS = ("utilization",)  # by latency


@dataclass(frozen=True, slots=True)
class WeightedEvaluator:
    """The model of a study with several workloads, which run one after the other.

    `models`: one per workload; `workloads`: their names and weights. Energy, latency, cycles, hops
    and traffic are sums by weight; edp is the product of these sums; utilization is the mean by
    weight and latency; of any other metric (area, memory in use) the largest counts. The metrics of
    one workload stand behind its name: `bert.energy`.
    """

    models: tuple[Evaluator, ...]
    workloads: tuple[StudyInput, ...]

    @property
    def leaves_out_details(self) -> bool:
        """Whether details are made only when asked for, as by the models."""
        return any(getattr(model, "leaves_out_details", False) for model in self.models)

    def evaluate(self, point: Point) -> Outcome:
        """Evaluate one design with every workload; raises what the first that fails raises."""
        outcomes: list[Outcome] = []
        for model, workload in zip(self.models, self.workloads, strict=True):
            outcome = _evaluated(model, workload, point)
            if outcome.reason is not None:
                return outcome
            outcomes.append(outcome)
        return self._together(outcomes)

    def _together(self, outcomes: Sequence[Outcome]) -> Outcome:
        gaps = [outcome.gap for outcome in outcomes]
        verified = [outcome.verified for outcome in outcomes]
        return Outcome(
            self._joined([outcome.metrics for outcome in outcomes]),
            details=self._details(outcomes),
            verified=None if None in verified else all(verified),
            proof=_weakest([outcome.proof for outcome in outcomes]),
            gap=None if None in gaps else max(gap or 0.0 for gap in gaps),
            breakdown=self._breakdown(outcomes),
        )

    def _joined(self, metrics: Sequence[Mapping[str, float]]) -> dict[str, float]:
        totals = {name: self._total(name, metrics) for name in metrics[0] if name != "edp"}
        if "edp" in metrics[0]:
            totals["edp"] = totals["energy"] * totals["latency"]
        for workload, own in zip(self.workloads, metrics, strict=True):
            totals |= {f"{workload.name}.{name}": value for name, value in own.items()}
        return totals

    def _total(self, name: str, metrics: Sequence[Mapping[str, float]]) -> float:
        """Return a metric of all workloads together: a sum, a mean, or the largest."""
        values = [each.get(name, 0.0) for each in metrics]
        weights = [workload.weight for workload in self.workloads]
        if name in _SUMS:
            return _weighted_sum(weights, values)
        if name in _MEANS:
            times = [w * each["latency"] for w, each in zip(weights, metrics, strict=True)]
            return _weighted_sum(times, values) / (sum(times) or inf)
        return max(values)

    def _details(self, outcomes: Sequence[Outcome]) -> dict[str, object]:
        """Return the sections of all workloads, and the machine under each of them by its name."""
        if not all(outcome.details for outcome in outcomes):
            return {}
        pairs = [(w.name, dict(o.details)) for w, o in zip(self.workloads, outcomes, strict=True)]
        sections: list[object] = []
        for name, details in pairs:
            listed = details.pop("sections", [])
            assert isinstance(listed, list)
            sections += [
                {**each, "einsum": f"{name}: {each['einsum']}", "workload": name} for each in listed
            ]
        return {"sections": sections, "machines": dict(pairs)}

    def _breakdown(self, outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]]:
        joined: dict[str, dict[str, float]] = {}
        for workload, outcome in zip(self.workloads, outcomes, strict=True):
            for metric, shares in outcome.breakdown.items():
                into = joined.setdefault(metric, {})
                for name, value in shares.items():
                    if metric in _SUMS:
                        into[name] = into.get(name, 0.0) + workload.weight * value
                    else:
                        into[name] = max(into.get(name, value), value)
        return joined


def _evaluated(model: Evaluator, workload: StudyInput, point: Point) -> Outcome:
    """Evaluate one design with one workload; an error says with which."""
    try:
        return model.evaluate(point)
    except TilewrightError as error:
        error.args = (f"{workload.name}: {error.args[0]}",)
        error.what = f"{workload.name}: {error.what}"
        raise


def _weakest(proofs: Sequence[Proof | None]) -> Proof | None:
    """Return what is proven of all together; None if nothing is known of one of them."""
    if None in proofs:
        return None
    return "bounded" if "bounded" in proofs else "optimal"


def _weighted_sum(weights: Sequence[float], values: Sequence[float]) -> float:
    return sum(weight * value for weight, value in zip(weights, values, strict=True))
