"""Among the best fused mappings of a workload, one with the least of the other metric.

A second search looks only at what can cost as little as the best: choices of tensors on chip and
rows that leave room for it. It starts from the best mapping, and ends where the other metric meets
its bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from tilewright.mapper.fusion.fused_problem import FusedProblem, TieSearch
from tilewright.mapper.fusion.join.join_deepening import JoinResult, JoinSearch
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.label_metrics import Objective
from tilewright.mapper.searches.result import SearchStatistics, no_report
from tilewright.mapper.searches.verify import TOLERANCE

MAX_LABELS = 1_000_000  # where nearly all mappings tie, the first one has to do
NOISE = 1e-12  # relative: sums of the same terms in another order


@dataclass(frozen=True, slots=True)
class TieBreak:
    """A better mapping of equal value, if there is one, and what was looked at."""

    result: JoinResult
    statistics: SearchStatistics


def break_ties(
    cascade: FusedProblem, search: JoinSearch, known: tuple[JoinResult, Score], budget: Budget
) -> TieBreak:
    """Look for a mapping as good as the one `known` from `search`, with less of the other metric:
    latency if energy is minimized, else energy. Nothing is found where there is none."""
    found, score = known
    if found.label is None:
        return TieBreak(found, SearchStatistics())
    second: Objective = "latency" if cascade.objective == "energy" else "energy"
    best = float(cascade.value(*found.label.measures)) * (1 + NOISE)
    most = search.ceilings(best)
    other = (score.latency if second == "latency" else score.energy) * (1 - TOLERANCE)

    def value(energy: Any, latency: Any, *usage: Any) -> Any:
        minimized = latency if second == "latency" else energy
        return np.where(cascade.value(energy, latency, *usage) <= best, minimized, inf)

    again = JoinSearch(
        replace(
            cascade, objective=second, value=value,
            ties=TieSearch(other, most, search.choice_bounds_within(most)),
        ),
        (replace(budget, labels=min(budget.labels, MAX_LABELS)), no_report),
        shelf=search.cache,
    )  # fmt: skip
    return TieBreak(again.solve(), again.statistics)
