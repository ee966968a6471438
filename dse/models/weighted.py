"""Several workloads as one: each is evaluated, and their metrics are joined by weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from tilewright.arch.errors import TilewrightError
from tilewright.dse.models.evaluator import Evaluator, Outcome
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
            try:
                outcome = model.evaluate(point)
            except TilewrightError as error:
                error.args = (f"{workload.name}: {error.args[0]}",)
                error.what = f"{workload.name}: {error.what}"
                raise
            if outcome.reason is not None:
                return outcome
            outcomes.append(outcome)
        gaps = [outcome.gap for outcome in outcomes]
        proofs = [outcome.proof for outcome in outcomes]
        verified = [outcome.verified for outcome in outcomes]
        known = all(proof is not None for proof in proofs)
        return Outcome(
            self._joined([outcome.metrics for outcome in outcomes]),
            details=self._details(outcomes),
            verified=None if None in verified else all(verified),
            proof=("bounded" if "bounded" in proofs else "optimal") if known else None,
            gap=None if None in gaps else max(gap or 0.0 for gap in gaps),
            breakdown=self._breakdown(outcomes),
        )

    def _joined(self, metrics: Sequence[Mapping[str, float]]) -> dict[str, float]:
        weights = [workload.weight for workload in self.workloads]
        totals: dict[str, float] = {}
        for name in metrics[0]:
            values = [each.get(name, 0.0) for each in metrics]
            if name in _SUMS:
                totals[name] = sum(w * value for w, value in zip(weights, values, strict=True))
            elif name in _MEANS:
                times = [w * each["latency"] for w, each in zip(weights, metrics, strict=True)]
                products = sum(t * value for t, value in zip(times, values, strict=True))
                totals[name] = products / (sum(times) or inf)
            elif name != "edp":
                totals[name] = max(values)
        if "edp" in metrics[0]:
            totals["edp"] = totals["energy"] * totals["latency"]
        for workload, own in zip(self.workloads, metrics, strict=True):
            totals |= {f"{workload.name}.{name}": value for name, value in own.items()}
        return totals

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
