"""Beam search: find some mapping fast, one template after the other.

A beam keeps the one label of least energy at each tile shape. A search with a budget starts with
it, so that it has an answer whenever it is ended.
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
from tilewright.mapper.searches.exact.metric_terms import leaks_of
from tilewright.mapper.searches.program.compiled_mapspace import compile_template
from tilewright.mapper.templates.placement import LaneRestriction, Placement, Template

TEMPLATE_BATCH = 3  # templates that are looked at together
MAX_COMPARED = 6  # mappings that are compared
MAX_PROGRAMS = 20  # of one template: lanes that must be enumerated can make thousands
PATIENCE = 0.2  # seconds that a search may run over its budget for its first mapping


class BeamSearch:
    """Finds some mapping of a mapspace fast, so that a search with a budget has an answer.

    Template by template, a pass keeps only the partial mapping of least energy at each tile shape.
    Each call goes on where the last one ended. A template is a mapping without its loops.
    """

    def __init__(self, space: Mapspace, goal: Goal) -> None:
        self._space = space
        self._goal = goal
        self._templates = _promising_templates(space)

    def find(self, seconds: float, most: int = MAX_COMPARED) -> BestLabel | None:
        """Return the best of the first few mappings found in `seconds`; None if none was found.

        At least one template is looked at, at most so many (`most`) mappings are compared.
        """
        deadline = time.monotonic() + seconds
        best: BestLabel | None = None
        compared = 0
        for template in self._templates:
            label = self._first_of(template)
            if label is not None:
                compared += 1
                if best is None or (label.value, label.second) < (best.value, best.second):
                    best = label
            if compared >= most or time.monotonic() > deadline:
                break
        return best

    def _first_of(self, template: Template) -> BestLabel | None:
        compiled = compile_template(self._space, self._goal.price, template, MAX_PROGRAMS)
        return DynamicSearch(compiled).first(self._goal.objective)


def _promising_templates(space: Mapspace) -> Iterator[Template]:
    """Yield templates, the promising ones first; some come twice.

    First the first TEMPLATE_BATCH templates of the mapspace, each also with the most lanes in every
    dimension (that variant first if something leaks). Then a few of each placement, those with the
    fewest holders first. Then all others.
    """
    leaks = bool(leaks_of(space.flat, space.conventions))
    for template in islice(space.each_template(), TEMPLATE_BATCH):
        several = (template, *_with_most_lanes(space, template))
        yield from reversed(several) if leaks else several
    for placement in sorted(space.placements, key=_holder_count):
        yield from islice(space.each_template([placement]), TEMPLATE_BATCH)
    yield from islice(space.each_template(), TEMPLATE_BATCH, None)


def _with_most_lanes(space: Mapspace, template: Template) -> Iterator[Template]:
    """Yield the template with just the choices of most lanes in each dimension.

    Leakage makes idle lanes expensive, which a beam by dynamic energy does not see.
    """
    dims = space.problem.spatial_loops(template)
    if template.lane_restrictions or not any(len(dim.choices) > 1 for dim in dims):
        return
    most_lanes = [max(map(prod, dim.choices), default=0) for dim in dims]
    restrictions = (
        LaneRestriction(dim.component, dim.name, tuple(c for c in dim.choices if prod(c) == lanes))
        for dim, lanes in zip(dims, most_lanes, strict=True)
    )
    yield replace(template, lane_restrictions=tuple(restrictions))


def _holder_count(placement: Placement) -> int:
    return sum(len(tensors) for _, tensors in placement.kept_tensors)
