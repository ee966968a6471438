"""The dynamic program as a search of a mapspace."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from math import inf

from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.dynamic import DynamicSearch, Outcome
from tilewright.mapper.searches.fields import Fields, Leak, fields
from tilewright.mapper.searches.metrics import Goal, Metrics
from tilewright.mapper.searches.problem import compulsory_latency, leaks_of, refuse_unsupported
from tilewright.mapper.searches.program import Compiler, Program, most_owed
from tilewright.mapper.searches.result import EinsumMapping, SpaceResult, Statistics
from tilewright.mapper.searches.tables import Engine
from tilewright.mapper.searches.trie import grow


class ExactSearch:
    """Optimal by dynamic programming over tile-shape lattices (lattice-dp.md)."""

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> SpaceResult:
        """Return the optimum with its proof, or the best found with a bound when time runs out.

        UnsupportedFeature for what the program does not model (networks, copies, …).
        """
        if space.uneven:
            from tilewright.mapper.searches.uneven.search import UnevenSearch

            return UnevenSearch(self.find).find(space, goal, budget)
        began = time.monotonic()
        frame = space.frame
        refuse_unsupported(frame, networks=True, arrays=True)
        leaks = leaks_of(space.flat, space.conventions)
        layout = layout_of(space, leaks)
        compiled, complete = _compiled(space, layout, began, budget)
        if not compiled:
            seconds = time.monotonic() - began
            return SpaceResult(
                None, inf, complete, Statistics(templates=len(space.templates), seconds=seconds)
            )
        engine = Engine(frame, layout)
        metrics = Metrics(frame, layout, leaks, compulsory_latency(space), goal.price)
        deadline = None if budget is None else began + budget
        outcome = DynamicSearch(engine, grow(compiled), metrics, deadline).solve(goal.objective)
        statistics = Statistics(
            templates=len(space.templates),
            states=engine.lattice.size,
            labels=outcome.labels,
            solved=1,
            seconds=time.monotonic() - began,
        )
        if not complete:  # templates left out: nothing is proven about them
            outcome = replace(outcome, lower_bound=0.0, exhausted=True)
        return _result(space, goal, outcome, statistics)

    def bound(self, space: Mapspace, goal: Goal) -> float:
        """Return the bound that `find` starts from, without a search; UnsupportedFeature as there.

        inf if there is no mapping.
        """
        refuse_unsupported(space.frame, networks=True, arrays=True)
        leaks = leaks_of(space.flat, space.conventions)
        layout = layout_of(space, leaks)
        compiled, _ = _compiled(space, layout, 0.0, None)
        if not compiled:
            return inf
        engine = Engine(space.frame, layout)
        metrics = Metrics(space.frame, layout, leaks, compulsory_latency(space), goal.price)
        lower = DynamicSearch(engine, grow(compiled), metrics).bound(goal.objective)
        return _of_all(space, goal, lower)


def layout_of(
    space: Mapspace, leaks: Sequence[Leak], tracked: frozenset[str] = frozenset()
) -> Fields:
    """Return the fields of a label, those that owe too: as many as any template can defer."""
    plain = fields(space.frame, leaks, tracked)
    owed = most_owed(space.frame, plain, space.templates)
    return plain if owed == (0, 0) else fields(space.frame, leaks, tracked, owed)


def _of_all(space: Mapspace, goal: Goal, bound: float) -> float:
    """Return the bound for all instances of the Einsum from that for one."""
    times = space.einsum.n_instances
    return bound * (times * times if goal.objective == "edp" else times)


def _compiled(
    space: Mapspace, layout: Fields, began: float, budget: float | None
) -> tuple[list[Program], bool]:
    """Compile the templates; stop when that alone uses up the budget (and a second)."""
    found: list[Program] = []
    compiler = Compiler(space.frame, layout)
    for template in space.templates:
        found += compiler.programs(template)
        if budget is not None and time.monotonic() > began + max(budget, 1.0):
            return found, template is space.templates[-1]
    return found, True


def _result(space: Mapspace, goal: Goal, outcome: Outcome, statistics: Statistics) -> SpaceResult:
    times = space.einsum.n_instances
    bound = _of_all(space, goal, outcome.lower_bound)
    if outcome.found is None:
        return SpaceResult(None, bound, not outcome.exhausted, statistics)
    found = outcome.found
    mapping = assemble(space.frame, found.program.skeleton, found.tiles)
    candidate = EinsumMapping(mapping, found.energy * times, found.latency * times)
    return SpaceResult(candidate, bound, not outcome.exhausted, statistics)
