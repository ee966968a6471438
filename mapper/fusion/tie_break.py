"""Among the best fused mappings of a workload, find one with the least of the other metric.

A second search looks only at what can cost as little as the best: choices of tensors on chip and
pmappings that leave room for it. It starts from the best mapping, and ends where the other metric
meets its lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from tilewright.mapper.fusion.fused_problem import TieSearch
from tilewright.mapper.fusion.join.join_deepening import JoinResult, JoinSearch
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.label_metrics import Objective
from tilewright.mapper.searches.mapping_scorer import TOLERANCE
from tilewright.mapper.searches.result import SearchStatistics

MAX_LABELS = 1_000_000  # where nearly all mappings tie, the first one has to do
NOISE = 1e-12  # relative: sums of the same terms in another order


@dataclass(frozen=True, slots=True)
class TieBreak:
    """Hold what the search for a better mapping among equally good ones found.

    `result`: has a mapping if there is one as good with less of the other metric (latency if energy
    is minimized, else energy), else none. `statistics`: what was looked at.
    """

    result: JoinResult
    statistics: SearchStatistics


def break_ties(search: JoinSearch, result: JoinResult, score: Score, budget: Budget) -> TieBreak:
    """Look for a mapping that is as good as the best one and has less of the other metric.

    The other metric is latency if energy is minimized, else energy. `search`: the finished search
    for the objective. `result`: its outcome; without a mapping it is returned unchanged. `score`:
    the model's score of its mapping. `budget`: limits, of labels to at most MAX_LABELS; one that
    ends does not raise. Values equal up to 1e-12, relative, are ties. The new result has no label
    if no mapping is better by more than the tolerance of scores. Raises UnsupportedFeature for what
    the search cannot model.
    """
    if result.label is None:
        return TieBreak(result, SearchStatistics())
    problem = search.problem
    second: Objective = "latency" if problem.objective == "energy" else "energy"
    best = float(problem.value(*result.label.measures)) * (1 + NOISE)
    cost_limit = search.cost_ceilings(best)
    second_score = score.latency if second == "latency" else score.energy

    def value(energy: Any, latency: Any, *usage: Any) -> Any:
        minimized = latency if second == "latency" else energy
        return np.where(problem.value(energy, latency, *usage) <= best, minimized, inf)

    bounds = search.choice_bounds_within(cost_limit)
    ties = TieSearch(second_score * (1 - TOLERANCE), cost_limit, bounds)
    tied = replace(problem, objective=second, value=value, ties=ties)
    limited = replace(budget, labels=min(budget.labels, MAX_LABELS))
    tie_search = JoinSearch(tied, limited, cache=search.cache)
    return TieBreak(tie_search.solve(), tie_search.statistics)
