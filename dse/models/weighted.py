"""Several workloads as one: each is evaluated, and their metrics are combined by weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from tilewright.arch.errors import TilewrightError
from tilewright.dse.models.evaluator import (
    Evaluator,
    Outcome,
    Proof,
    has_check,
    is_check,
    kernels_of,
)
from tilewright.dse.run.pareto import non_dominated
from tilewright.dse.study.design_space import Point, Space
from tilewright.dse.study.study import StudyInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tilewright.arch.compiled import Kernel

_SUMS = ("energy", "latency", "cycles", "hops", "dram_traffic", "reshard_cycles")
_MEANS = ("utilization",)  # by latency
MOST_CHOICES = 500  # that are joined with mappings of the next workload, and recorded


@dataclass(frozen=True, slots=True)
class WeightedEvaluator:
    """The model of a study with several workloads, which run one after the other.

    `models`: one per workload; `workloads`: their names and weights. Energy, latency, cycles, hops
    and traffic are sums by weight; edp is the product of these sums; utilization is the mean by
    weight and latency; of any other metric (area, memory in use) the largest counts. The metrics of
    one workload have its name in front: `bert.energy`. `front`: metrics of the Pareto set that each
    design records; a point of it is one mapping for each workload.
    """

    models: tuple[Evaluator, ...]
    workloads: tuple[StudyInput, ...]
    front: tuple[str, ...] = ()

    @property
    def leaves_out_details(self) -> bool:
        """Whether details are made only when asked for, as by the models."""
        return any(getattr(model, "leaves_out_details", False) for model in self.models)

    @property
    def has_check(self) -> bool:
        """Whether the models say of some designs that they cannot be built, before a search."""
        return all(has_check(model) for model in self.models)

    def kernels(self) -> Sequence[Kernel]:
        """Return the compiled functions that a design may call: those of the models' kind."""
        return kernels_of(self.models[0])

    def evaluate(self, point: Point) -> Outcome:
        """Evaluate one design with every workload; raises what the first that fails raises."""
        outcomes: list[Outcome] = []
        for model, workload in zip(self.models, self.workloads, strict=True):
            outcome = _evaluated(model, workload, point)
            if outcome.reason is not None:
                return outcome
            outcomes.append(outcome)
        return Outcome() if is_check(point) else self._together(outcomes)

    def searches(self, space: Space) -> int:
        """Return how many searches answer all designs of a space, of the workload with the most.

        0 if each design has searches of its own.
        """
        counts = (getattr(model, "searches", lambda _: 0)(space) for model in self.models)
        return max(counts, default=0)

    def _together(self, outcomes: Sequence[Outcome]) -> Outcome:
        gaps = [outcome.gap for outcome in outcomes]
        verified = [outcome.verified for outcome in outcomes]
        return Outcome(
            self._joined([outcome.metrics for outcome in outcomes]),
            details=self._details(outcomes),
            verified=None if None in verified else all(verified),
            proof=_weakest([outcome.proof for outcome in outcomes]),
            gap=None if None in gaps else max(gap or 0.0 for gap in gaps),
            mappings=tuple(self._front(outcomes)),
            breakdown=self._breakdown(outcomes),
        )

    def _front(self, outcomes: Sequence[Outcome]) -> Iterator[Mapping[str, float]]:
        """Yield the metrics of the choices of a mapping of each workload that none beats."""
        fronts = [outcome.mappings for outcome in outcomes]
        if not self.front or not all(fronts):
            return
        usages = [name for name in outcomes[0].front_metrics if name.startswith("usage.")]
        metrics = dict.fromkeys(
            each for name in self.front for each in (usages if name == "usage" else [name])
        )
        weights = [workload.weight for workload in self.workloads]
        for choice in chosen_together(fronts, weights, tuple(metrics)):
            yield self._joined([front[i] for front, i in zip(fronts, choice, strict=True)])

    def _joined(self, metrics: Sequence[Mapping[str, float]]) -> dict[str, float]:
        totals = {name: self._total(name, metrics) for name in metrics[0] if name != "edp"}
        if "edp" in metrics[0]:
            totals["edp"] = totals["energy"] * totals["latency"]
        for workload, alone in zip(self.workloads, metrics, strict=True):
            totals |= {f"{workload.name}.{name}": value for name, value in alone.items()}
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


def metrics_of_each(front: Sequence[str]) -> list[str]:
    """Return the metrics in which each workload's own front must be known, to get that of all.

    They are those of the front, but energy and latency in the place of edp, which is no sum over
    workloads: a mapping that another one beats in energy and latency is in no combination with the
    least product.
    """
    sums = [name for name in front if name != "edp"]
    return list(dict.fromkeys([*sums, "energy", "latency"] if "edp" in front else sums))


def chosen_together(
    fronts: Sequence[Sequence[Mapping[str, float]]],
    weights: Sequence[float],
    metrics: Sequence[str],
) -> list[tuple[int, ...]]:
    """Return the combinations of one mapping per workload that no other combination beats.

    `fronts`: by workload, the metrics of its mappings; `weights`: one per workload; `metrics`:
    those of the front of all. Energy and latency are sums by weight, edp is their product, of usage
    the largest counts. A combination is the position of a mapping in each front: (0, 2) is the
    first of the first workload with the third of the second one. When more than 500 combinations of
    the first workloads are not beaten, 500 of them are kept, spread evenly over the order of their
    metrics.
    """
    import numpy as np

    names = [*metrics_of_each(metrics)]
    is_sum = np.array([not name.startswith("usage.") for name in names])
    together = np.where(is_sum, 0.0, -np.inf)[None, :]
    choices: list[tuple[int, ...]] = [()]
    for position, (front, weight) in enumerate(zip(fronts, weights, strict=True), 1):
        rows = np.array([[each[name] for name in names] for each in front])
        summed = together[:, None, :] + weight * rows[None, :, :]
        largest = np.maximum(together[:, None, :], rows[None, :, :])
        costs = np.where(is_sum, summed, largest).reshape(-1, len(names))
        asked = _asked(costs, names, metrics) if position == len(fronts) else costs
        selection = _undominated(asked)
        together = costs[selection]
        choices = [(*choices[i // len(front)], i % len(front)) for i in selection.tolist()]
    return choices


def _asked(
    costs: NDArray[np.float64], names: Sequence[str], metrics: Sequence[str]
) -> NDArray[np.float64]:
    """Return the columns of the metrics asked for, of which edp is a product."""
    import numpy as np

    column = dict(zip(names, costs.T, strict=True))
    if "edp" in metrics:
        column["edp"] = column["energy"] * column["latency"]
    return np.stack([column[name] for name in metrics], axis=1)


def _undominated(costs: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the positions of rows that none beats, the first of equal ones, in their order."""
    import numpy as np

    _, first = np.unique(costs, axis=0, return_index=True)
    selection = first[non_dominated(costs[first])]
    if len(selection) > MOST_CHOICES:
        selection = selection[
            np.linspace(0, len(selection) - 1, MOST_CHOICES).round().astype(np.intp)
        ]
    return selection
