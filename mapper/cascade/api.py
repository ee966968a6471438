"""Search the mapping of a whole workload in which Einsums may share loops."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

from tilewright.arch.errors import TilewrightError
from tilewright.arch.flat import FlatArch
from tilewright.arch.flattening import flatten
from tilewright.arch.tree import Arch
from tilewright.mapper.cascade.answer import mapping_of, on_chip_in, scope_of
from tilewright.mapper.cascade.boundary import boundaries_of
from tilewright.mapper.cascade.fold import START, Graph, graph_of, steps_of
from tilewright.mapper.cascade.labels import Folded, Label, LabelPass, Value
from tilewright.mapper.cascade.lone import LoneSolver, LoneTable
from tilewright.mapper.cascade.maker import TableMaker
from tilewright.mapper.cascade.room import Room, room_of
from tilewright.mapper.cascade.table import Table
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.errors import InfeasibleMapping
from tilewright.mapper.evaluation import evaluate
from tilewright.mapper.score import Score
from tilewright.mapper.searches.errors import InternalError
from tilewright.mapper.searches.judge import TOLERANCE
from tilewright.mapper.searches.metrics import Objective
from tilewright.mapper.searches.options import Request, SearchOptions, request_of
from tilewright.mapper.searches.result import Certificate, ScoredMapping, SearchResult
from tilewright.mapper.workload import Workload

VALUES: dict[Objective, Value] = {
    "energy": lambda energy, latency: energy,  # noqa: ARG005
    "latency": lambda energy, latency: latency,  # noqa: ARG005
    "edp": lambda energy, latency: energy * latency,
}


def fused_search(
    arch: Arch | Path | str, workload: Workload | Path | str, **options: Unpack[SearchOptions]
) -> SearchResult:
    """Find the mapping of a workload with the least energy, latency or edp, fused or not.

    UnsupportedFeature names what this search cannot model (then `search` does without fusion);
    InfeasibleMapping when nothing fits.
    """
    return solve_fused(request_of(arch, workload, dict(options)))


def solve_fused(request: Request) -> SearchResult:
    """Do what `request` asks for; see fused_search."""
    began = time.monotonic()
    workload, conventions = request.workload, request.options.conventions
    boundaries = boundaries_of(workload)
    goal = _objective(request.options.objective)
    plan = _plan(request.arch, workload)
    maker = TableMaker(boundaries, conventions, plan.room.capacity, goal != "energy")
    lone = LoneSolver(request, plan.room)
    with no_collection():
        tables: list[tuple[Table | LoneTable, ...]] = [
            (lone.table(einsum, goal),)
            if einsum.is_copy
            else tuple(maker.table(einsum, flat, number) for number, flat in enumerate(flats))
            for einsum, flats in plan.runs
        ]
        graph = graph_of(steps_of(boundaries, tables))
        folded = LabelPass(graph, plan.room.capacity, VALUES[goal], request.deadline).solve()
    best = _best(folded, plan.room)
    mapping = mapping_of(graph, best, boundaries, plan.room)
    score = evaluate(request.arch, workload, mapping, conventions)
    _confirm(goal, best, score)
    statistics = replace(
        maker.statistics,
        labels=maker.statistics.labels + folded.labels,
        evaluations=1,
        seconds=time.monotonic() - began,
        keys=graph.keys,
    )
    certificate = _certificate(goal, score, graph, scope_of(boundaries, plan.room, conventions))
    found = ScoredMapping(mapping, score)
    return SearchResult(found, (found,), certificate, statistics, on_chip_in(graph, best))


@contextmanager
def no_collection() -> Iterator[None]:
    """Pause the collector of cycles: the search makes millions of tuples and no cycle."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@dataclass(frozen=True, slots=True)
class _Plan:
    """The Einsums with the ways to their computes, and the memories that all of them see."""

    runs: tuple[tuple[Einsum, tuple[FlatArch, ...]], ...]
    room: Room


def _plan(arch: Arch, workload: Workload) -> _Plan:
    runs = tuple((e, tuple(flatten(arch, workload.scope(e)))) for e in workload.einsums)
    for einsum, flats in runs:
        if not flats:
            raise TilewrightError(
                f"no Compute of the architecture is enabled for {einsum.name}",
                instead="look at the `enabled` of its Computes",
            )
    room = room_of([(einsum, flat) for einsum, flats in runs for flat in flats])
    return _Plan(runs, room)


def _objective(name: str) -> Objective:
    for objective in VALUES:
        if objective == name:
            return objective
    names = ", ".join(VALUES)
    raise TilewrightError("unknown objective", value=name, instead=f"one of: {names}")


def _best(folded: Folded, room: Room) -> Label:
    if folded.best is not None:
        return folded.best
    if folded.exhausted:
        raise TilewrightError(
            "the budget was used up before a mapping was found",
            instead="a larger budget, or search without fusion",
        )
    raise InfeasibleMapping(
        f"no mapping of the workload fits {room.inner or room.outer} and the memories below",
        instead="search the Einsums one by one: that names the constraint which fails",
    )


def _confirm(goal: Objective, best: Label, score: Score) -> None:
    """Check the search's numbers against the model's; without need the search has no latency."""
    pairs = [("energy", best.energy, score.energy), ("latency", best.latency, score.latency)]
    for name, mine, its in pairs[:1] if goal == "energy" else pairs:
        if abs(mine - its) > TOLERANCE * max(abs(mine), abs(its)):
            raise InternalError(f"the fused search computed {name} {mine!r}, the model {its!r}")


def _certificate(objective: Objective, score: Score, graph: Graph, scope: str) -> Certificate:
    """Say how good the answer is: what copies could still save is the only gap."""
    value = VALUES[objective](score.energy, score.latency)
    slack = [t.slack for step in graph.steps for t in step.tables if isinstance(t, LoneTable)]
    energy = score.energy - sum(one[0] for one in slack)
    latency = score.latency - sum(one[1] for one in slack)
    if objective != "edp":
        lower = VALUES[objective](energy, latency)
    elif not slack:
        lower = value
    else:
        least = graph.rest[0][START]
        lower = (least[0] - score.energy + energy) * (least[1] - score.latency + latency)
    optimal = value <= lower * (1 + TOLERANCE)
    return Certificate("optimal" if optimal else "bounded", objective, value, lower, scope)
