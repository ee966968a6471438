"""What the exact search of a mapspace finds, beside the figures of all its mappings."""

from __future__ import annotations

import pytest
from figures import Figures

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.label_metrics import Goal, Objective
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.result import EinsumMapping, MapspaceResult

OBJECTIVES: tuple[Objective, ...] = ("energy", "latency", "edp")
SECOND: dict[Objective, Objective] = {"energy": "latency", "latency": "energy", "edp": "energy"}
"""The metric that decides among the best mappings of an objective."""


def check_best(
    space: Mapspace,
    objective: Objective,
    listed: list[Figures],
    result: MapspaceResult | None = None,
    *,
    second: Objective | None = None,
) -> EinsumMapping | None:
    """Compare the search's mapping and bound with the best of all; return it, or None.

    result: of a search, None for the exact one. second: compare this metric among equals, too.
    """
    result = result or ExactSearch().find(space, Goal(objective), None)
    assert result.proven
    if not listed:
        assert result.best is None
        return None
    assert result.best is not None
    confirmed = MappingScorer(space).verified(result.best)
    least = min(each.value(objective) for each in listed)
    assert confirmed.value(objective) == pytest.approx(least, rel=1e-9)
    assert result.lower_bound == pytest.approx(least, rel=1e-9)
    if second is not None:
        ties = [e.value(second) for e in listed if e.value(objective) <= least * (1 + 1e-9)]
        assert confirmed.value(second) <= min(ties) * (1 + 1e-9)
    return confirmed
