"""The dynamic program as a search of a mapspace."""

from __future__ import annotations

import time
from math import inf

from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.search.dynamic import DynamicSearch, Outcome
from tilewright.mapper.search.fields import fields
from tilewright.mapper.search.metrics import Goal, Metrics
from tilewright.mapper.search.problem import compulsory_latency, leaks_of, refuse_unsupported
from tilewright.mapper.search.program import programs
from tilewright.mapper.search.result import Candidate, SpaceResult, Statistics
from tilewright.mapper.search.tables import Engine
from tilewright.mapper.search.trie import grow


class ExactSearch:
    """Optimal by dynamic programming over tile-shape lattices (lattice-dp.md)."""

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> SpaceResult:
        """Return the optimum with its proof, or the best found with a bound when time runs out.

        UnsupportedFeature for what the program does not model (networks, copies, …).
        """
        began = time.monotonic()
        frame = space.frame
        refuse_unsupported(frame)
        leaks = leaks_of(space.flat, space.conventions)
        layout = fields(frame, any(leak.gates for leak in leaks))
        compiled = [p for template in space.templates for p in programs(frame, layout, template)]
        if not compiled:
            seconds = time.monotonic() - began
            return SpaceResult(
                None, inf, True, Statistics(templates=len(space.templates), seconds=seconds)
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
        return _result(space, goal, outcome, statistics)


def _result(space: Mapspace, goal: Goal, outcome: Outcome, statistics: Statistics) -> SpaceResult:
    times = space.einsum.n_instances
    bound = outcome.lower_bound * (times * times if goal.objective == "edp" else times)
    if outcome.found is None:
        return SpaceResult(None, bound, not outcome.exhausted, statistics)
    found = outcome.found
    mapping = assemble(space.frame, found.program.skeleton, found.tiles)
    candidate = Candidate(mapping, found.energy * times, found.latency * times)
    return SpaceResult(candidate, bound, not outcome.exhausted, statistics)
