"""Search the mapping of a whole workload in which Einsums may share loops."""

from __future__ import annotations

import time
from dataclasses import replace
from math import inf
from pathlib import Path

from tilewright.arch.errors import TilewrightError
from tilewright.arch.flattening import flatten
from tilewright.arch.load import load_arch
from tilewright.arch.tree import Arch
from tilewright.mapper.cascade.boundary import Boundaries, boundaries_of
from tilewright.mapper.cascade.fold import Graph, graph_of, steps_of
from tilewright.mapper.cascade.labels import Folded, Label, LabelPass, Value
from tilewright.mapper.cascade.result import CascadeResult
from tilewright.mapper.cascade.room import Room, room_of
from tilewright.mapper.cascade.table import Table, TableMaker
from tilewright.mapper.cascade.tree import TreeBuilder, body_of
from tilewright.mapper.errors import InfeasibleMapping
from tilewright.mapper.evaluation import evaluate
from tilewright.mapper.mapping import Mapping
from tilewright.mapper.score import Score
from tilewright.mapper.search.errors import InternalError
from tilewright.mapper.search.judge import TOLERANCE
from tilewright.mapper.search.metrics import Objective
from tilewright.mapper.search.result import Certificate
from tilewright.mapper.workload import Workload, load_workload

VALUES: dict[Objective, Value] = {
    "energy": lambda energy, latency: energy,  # noqa: ARG005
    "latency": lambda energy, latency: latency,  # noqa: ARG005
    "edp": lambda energy, latency: energy * latency,
}


def fused_search(
    arch: Arch | Path | str,
    workload: Workload | Path | str,
    *,
    objective: str = "energy",
    conventions: str = "default",
    budget: float | None = None,
) -> CascadeResult:
    """Find the mapping of a workload with the least energy, latency or edp, fused or not.

    `budget`: seconds for joining the Einsums. UnsupportedFeature names what this search cannot
    model (then search without fusion); InfeasibleMapping when nothing fits.
    """
    began = time.monotonic()
    arch = arch if isinstance(arch, Arch) else load_arch(arch)
    workload = workload if isinstance(workload, Workload) else load_workload(workload)
    value = VALUES[_objective(objective)]
    boundaries = boundaries_of(workload)
    flats = [flatten(arch, workload.scope(einsum)) for einsum in workload.einsums]
    _check_computes(workload, [len(found) for found in flats])
    runs = [(e, flat) for e, found in zip(workload.einsums, flats, strict=True) for flat in found]
    room = room_of(runs)
    maker = TableMaker(boundaries, conventions, room.capacity, objective != "energy")
    tables = [
        tuple(maker.table(einsum, flat, number) for number, flat in enumerate(found))
        for einsum, found in zip(workload.einsums, flats, strict=True)
    ]
    graph = graph_of(steps_of(boundaries, tables))
    deadline = inf if budget is None else began + budget
    folded = LabelPass(graph, room.capacity, value, deadline).solve()
    best = _best(folded, room)
    mapping = _mapping(graph, best, boundaries, room)
    score = evaluate(arch, workload, mapping, conventions)
    _confirm(best, score)
    return CascadeResult(
        mapping,
        score,
        _certificate(_objective(objective), value(score.energy, score.latency), boundaries, room),
        replace(
            maker.statistics,
            labels=maker.statistics.labels + folded.labels,
            evaluations=1,
            seconds=time.monotonic() - began,
        ),
        _on_chip(graph, best),
        graph.keys,
    )


def _objective(name: str) -> Objective:
    for objective in VALUES:
        if objective == name:
            return objective
    names = ", ".join(VALUES)
    raise TilewrightError("unknown objective", value=name, instead=f"one of: {names}")


def _check_computes(workload: Workload, counts: list[int]) -> None:
    for einsum, count in zip(workload.einsums, counts, strict=True):
        if not count:
            raise TilewrightError(
                f"no Compute of the architecture is enabled for {einsum.name}",
                instead="look at the `enabled` of its Computes",
            )


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


def chosen_rows(best: Label) -> list[tuple[Label, int]]:
    """Return the labels from the first Einsum to the last, with their numbers."""
    found: list[Label] = []
    label: Label | None = best
    while label is not None and label.row is not None:
        found.append(label)
        label = label.before
    return [(one, number) for number, one in enumerate(reversed(found))]


def _mapping(graph: Graph, best: Label, boundaries: Boundaries, room: Room) -> Mapping:
    bodies = []
    shared = []
    for label, number in chosen_rows(best):
        assert label.row is not None
        step = graph.steps[number]
        bodies.append(body_of(step.tables[label.row.table], label.row, label.point))
        shared.append(len(label.kept))
    return TreeBuilder(bodies, shared[:-1], boundaries.users, room.inner or room.outer).mapping()


def _confirm(best: Label, score: Score) -> None:
    """Check the search's numbers against the model's."""
    for name, mine, its in (
        ("energy", best.energy, score.energy),
        ("latency", best.latency or score.latency, score.latency),
    ):
        if abs(mine - its) > TOLERANCE * max(abs(mine), abs(its)):
            raise InternalError(f"the fused search computed {name} {mine!r}, the model {its!r}")


def _on_chip(graph: Graph, best: Label) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for label, number in chosen_rows(best):
        assert label.row is not None
        table: Table = graph.steps[number].tables[label.row.table]
        pairs = zip(table.boundary, label.row.depths, strict=True)
        names |= {tensor: None for tensor, depth in pairs if depth >= 0}
    return tuple(names)


def _certificate(
    objective: Objective, value: float, boundaries: Boundaries, room: Room
) -> Certificate:
    return Certificate("optimal", objective, value, value, scope_of(boundaries, room))


def scope_of(boundaries: Boundaries, room: Room) -> str:
    """Say over which mappings the answer is optimal."""
    if room.inner is None or not boundaries.chip:
        return f"mappings with even tiles in which Einsums exchange tensors through {room.outer}"
    names = [t for t in boundaries.workload.tensors if t in boundaries.chip]
    outside = [t for t in boundaries.workload.tensors if t in boundaries.backed]
    text = (
        f"fused and unfused mappings with even tiles, Einsums in the order given: each of"
        f" {', '.join(names)} is backed in {room.outer} or {room.inner}; Einsums share loops over"
        " rank variables of one name, at most one per variable, above the lowest tensor that they"
        f" exchange in {room.inner} and relevant to all of them"
    )
    if outside:
        text += f"; {', '.join(outside)}: backed in {room.outer}"
    return text
