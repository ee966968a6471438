"""Some mapping, fast: a beam through a few templates, one after the other.

A search with a budget starts here, so that it has an answer whenever it is ended.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from math import prod

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.dynamic_program import BestLabel, DynamicSearch
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.program.compiled_mapspace import compile_template
from tilewright.mapper.templates.placement import LaneRestriction, Placement, Template

FEW = 3  # templates that are looked at together
COMPARED = 6  # mappings that are compared
PROGRAMS = 20  # of one template: lanes that must be enumerated can make thousands
PATIENCE = 0.2  # seconds for an answer that comes late


class BeamSearch:
    """Looks for a mapping of one mapspace; each call goes on where the last one ended."""

    def __init__(self, space: Mapspace, goal: Goal) -> None:
        self._space = space
        self._goal = goal
        self._templates = _likely(space)

    def find(self, seconds: float) -> BestLabel | None:
        """Return the best of the first mappings; at least one template is looked at."""
        deadline = time.monotonic() + seconds
        best: BestLabel | None = None
        count = 0
        for template in self._templates:
            found = self._first_of(template)
            if found is not None:
                count += 1
                if best is None or (found.value, found.second) < (best.value, best.second):
                    best = found
            if count >= COMPARED or time.monotonic() > deadline:
                break
        return best

    def find_any(self, seconds: float) -> BestLabel | None:
        """Return any mapping, if one turns up in so many seconds."""
        deadline = time.monotonic() + seconds
        for template in self._templates:
            found = self._first_of(template)
            if found is not None or time.monotonic() > deadline:
                return found
        return None

    def _first_of(self, template: Template) -> BestLabel | None:
        ready = compile_template(self._space, self._goal.price, template, PROGRAMS)
        return DynamicSearch(ready).first(self._goal.objective)


def _likely(space: Mapspace) -> Iterator[Template]:
    """Yield templates: first some that hold much, with any lanes and with the most of them, then
    the few that need the least room."""
    for template in islice(space.each_template(), FEW):
        yield template
        yield from _busiest(space, template)
    for placement in sorted(space.placements, key=_holders):
        yield from islice(space.each_template([placement]), FEW)
    yield from islice(space.each_template(), FEW, None)


def _busiest(space: Mapspace, template: Template) -> Iterator[Template]:
    """Yield the same with the most lanes of each dimension: leakage makes idle lanes expensive,
    which a beam by energy sees too late."""
    fans = space.problem.spatial_loops(template)
    if template.lane_restrictions or not any(len(fan.choices) > 1 for fan in fans):
        return
    most = [max(map(prod, fan.choices), default=0) for fan in fans]
    kept = (
        LaneRestriction(fan.component, fan.name, tuple(c for c in fan.choices if prod(c) == lanes))
        for fan, lanes in zip(fans, most, strict=True)
    )
    yield replace(template, lane_restrictions=tuple(kept))


def _holders(placement: Placement) -> int:
    return sum(len(tensors) for _, tensors in placement.kept)
