"""The Pareto set that comes with the best mapping."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.mapper.score import Score
from tilewright.mapper.searches.options import Request
from tilewright.mapper.searches.result import ScoredMapping


def front_of(request: Request, found: Sequence[ScoredMapping]) -> tuple[ScoredMapping, ...]:
    """Return those of the mappings `found` that no other one beats in the metrics asked for.

    Sorted by the metrics. Of mappings that are equal in all of them the first stays.
    """
    metrics = request.options.front
    front: list[ScoredMapping] = []
    for one in sorted(found, key=lambda each: _values(each.score, metrics)):
        values = _values(one.score, metrics)
        if not any(_covers(_values(kept.score, metrics), values) for kept in front):
            front.append(one)
    return tuple(front)


def _values(score: Score, metrics: Sequence[str]) -> tuple[float, ...]:
    return tuple(float(getattr(score, metric)) for metric in metrics)


def _covers(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))
