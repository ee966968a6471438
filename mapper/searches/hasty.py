"""Some mapping, fast: a beam through a few templates, one after the other.

A search with a budget starts here, so that it has an answer whenever it is ended.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice

from tilewright.mapper.mapspace.placement import Placement, Template
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.compiled import compiled_of
from tilewright.mapper.searches.dynamic import DynamicSearch, Found
from tilewright.mapper.searches.metrics import Goal

FEW = 3  # templates with a mapping that are compared
PROGRAMS = 20  # of one template: lanes that must be enumerated can make thousands
PATIENCE = 0.2  # seconds for an answer that comes late


class Hasty:
    """Looks for a mapping of one mapspace; each call goes on where the last one ended."""

    def __init__(self, space: Mapspace, goal: Goal) -> None:
        self._space = space
        self._goal = goal
        self._templates = _likely(space)

    def find(self, seconds: float) -> Found | None:
        """Return the best of the first FEW mappings; at least one template is looked at."""
        deadline = time.monotonic() + seconds
        best: Found | None = None
        count = 0
        for template in self._templates:
            found = self._first_of(template)
            if found is not None:
                count += 1
                if best is None or (found.value, found.second) < (best.value, best.second):
                    best = found
            if count >= FEW or time.monotonic() > deadline:
                break
        return best

    def find_late(self, seconds: float) -> Found | None:
        """Return any mapping, if one turns up in so many seconds."""
        deadline = time.monotonic() + seconds
        for template in self._templates:
            found = self._first_of(template)
            if found is not None or time.monotonic() > deadline:
                return found
        return None

    def _first_of(self, template: Template) -> Found | None:
        ready = compiled_of(self._space, self._goal.price, template, PROGRAMS)
        return DynamicSearch(ready).first(self._goal.objective)


def _likely(space: Mapspace) -> Iterator[Template]:
    """Yield templates: first some that hold much, then the few that need the least room."""
    yield from islice(space.each_template(), FEW)
    for placement in sorted(space.placements, key=_holders):
        yield from islice(space.each_template([placement]), FEW)
    yield from islice(space.each_template(), FEW, None)


def _holders(placement: Placement) -> int:
    return sum(len(tensors) for _, tensors in placement.kept)
