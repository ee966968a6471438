"""Among the best fused mappings of a workload, find one with the least of the other metric.

A second search looks only at what can cost as little as the best: choices of tensors on chip and
pmappings within that cost. It starts from the best mapping, and ends where the other metric
meets its lower bound.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from tilewright.mapper.fusion.fused_problem import TieSearch
from tilewright.mapper.fusion.join.join_deepening import JoinSearch
from tilewright.mapper.fusion.join.join_pmappings import WholeLabel
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.label_metrics import Objective
from tilewright.mapper.searches.mapping_scorer import TOLERANCE

MAX_LABELS = 1_000_000  # where nearly all mappings tie, the first one has to do
NOISE = 1e-12  # relative: sums of the same terms in another order


def search_of_ties(
    search: JoinSearch, best: WholeLabel, score: Score, budget: Budget
) -> JoinSearch:
    """Prepare to look for a mapping as good as the best one with less of the other metric.

    The other metric is latency if energy is minimized, else energy. `search`: the finished search
    for the objective. `best`: its mapping; `score`: the model's score of it. `budget`: limits, of
    labels to at most MAX_LABELS. Values equal up to 1e-12, relative, are ties. The search returned
    finds no mapping if none is better by more than the tolerance of scores.
    """
    problem = search.problem
    second: Objective = "latency" if problem.objective == "energy" else "energy"
    highest = float(problem.value(*best.measures)) * (1 + NOISE)
    cost_limit = search.cost_ceilings(highest)
    second_score = score.latency if second == "latency" else score.energy

    def value(energy: Any, latency: Any, *usage: Any) -> Any:
        minimized = latency if second == "latency" else energy
        return np.where(problem.value(energy, latency, *usage) <= highest, minimized, inf)

    bounds = search.choice_bounds_within(cost_limit)
    ties = TieSearch(second_score * (1 - TOLERANCE), cost_limit, bounds)
    tied = replace(problem, objective=second, value=value, ties=ties)
    limited = replace(budget, labels=min(budget.labels, MAX_LABELS))
    return JoinSearch(tied, limited, cache=search.cache)
