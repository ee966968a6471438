"""front.json: the designs that answer the question, and how the search came to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tilewright.dse.run.pareto import hypervolume, non_dominated, reference_box
from tilewright.dse.run.record import Trial, costs_of, front_of
from tilewright.dse.run.study_loop import counted, distinct, is_complete
from tilewright.dse.study.study import StudySpec


def summarize(spec: StudySpec, trials: Sequence[Trial]) -> dict[str, Any]:
    """Return the contents of front.json: Pareto front, baselines, counts of trials, hypervolume.

    It depends on the study and its trials only, on no clock, so a resumed run gives the same file.
    """
    front = front_of(trials, spec.objectives)
    counts = Counter(trial.status for trial in trials)
    return {
        "study": spec.name,
        "objectives": [{"metric": o.metric, "goal": o.goal} for o in spec.objectives],
        "trials": counted(trials),
        "proposed": len(trials),
        "complete": is_complete(spec, trials),
        "evaluated": distinct(trials),
        "status": {status: counts[status] for status in sorted(counts)},
        "front": [_design(trial) for trial in front],
        "baselines": [
            _design(trial) | {"status": trial.status} for trial in trials if trial.baseline
        ],
        "hypervolume": hypervolume_by_batch(spec, trials),
    }


def hypervolume_by_batch(spec: StudySpec, trials: Sequence[Trial]) -> list[dict[str, float]]:
    """Return, after each batch of trials, the dominated share of the box of objectives, 0 to 1.

    Each item has `batch`, `trials` (so far) and `share`. The box spans, in each objective, from the
    best value in the whole run to 1.1 times the distance to the worst, so figures of one run can be
    compared with each other, not with another run's. Empty without a feasible trial.
    """
    feasible = [trial for trial in trials if trial.status == "feasible"]
    if not feasible:
        return []
    import numpy as np

    costs = costs_of(feasible, spec.objectives)
    ideal, reference = reference_box(costs)
    history: list[dict[str, float]] = []
    front, share = costs[:0], 0.0
    trials_of, feasible_of = (Counter(t.batch for t in group) for group in (trials, feasible))
    tried = first = 0
    for batch in range(trials[-1].batch + 1):
        grown = np.concatenate([front, costs[first : first + feasible_of[batch]]])
        grown = np.unique(grown[non_dominated(grown)], axis=0)
        if not np.array_equal(grown, front):
            front, share = grown, hypervolume(grown, ideal, reference)
        tried, first = tried + trials_of[batch], first + feasible_of[batch]
        history.append({"batch": batch, "trials": tried, "share": round(share, 9)})
    return history


def _design(trial: Trial) -> dict[str, Any]:
    return {
        "number": trial.number,
        "baseline": trial.baseline,
        "point": dict(trial.point),
        "metrics": dict(trial.metrics),
    }
