"""Join the tables of all Einsums, in order: the graph of keys (fusion.md §4, §6.1).

The state between two Einsums is the loops that both sides share and where each live tensor stands.
This is a pass over these keys alone: without capacity between Einsums, the least that still has to
be paid from each key is a lower bound. Keys of one form differ in tiles only, so that everything is
done for all of them at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.fusion.fused_problem import EnergyLatency
from tilewright.mapper.fusion.join.join_steps import (
    START,
    Compatibility,
    JoinStep,
    PendingTile,
    TileCodes,
)
from tilewright.mapper.fusion.pmappings.pmapping_table import PmappingGroup
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.kernels import Floats, Ints

# of the Einsums behind number i, with these tensors on chip: the least they cost
RemainingBound = Callable[[int, frozenset[TensorPlace]], EnergyLatency]


@dataclass(frozen=True, slots=True)
class JoinLimits:
    """The `most` that a mapping may cost, and a bound of what is still to be paid."""

    cost_limit: EnergyLatency
    remaining: RemainingBound


@dataclass(frozen=True, eq=False, slots=True)
class Edges:
    """Rows of one shape that continue keys of one form; one entry per edge: the number of the key,
    of the row, and of the key that it leads to."""

    source: Compatibility
    group: PmappingGroup
    target: Compatibility
    nodes: Ints
    tilings: Ints
    target_nodes: Ints

    def some(self, chosen: Ints) -> Edges:
        """Return some of the edges."""
        return Edges(
            self.source, self.group, self.target,
            self.nodes[chosen], self.tilings[chosen], self.target_nodes[chosen],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class CompatibilityGraph:
    """All keys with their edges.

    `codes[i]`: the keys before Einsum i, per form, as numbers of `tiling`; `edges[i]`: its edges,
    by source; `rest[i]`: the least energy and latency from there to the end, inf if there is no
    way; shape (keys, 2).
    """

    steps: tuple[JoinStep, ...]
    tile_codes: TileCodes
    codes: tuple[dict[Compatibility, Ints], ...]
    edges: tuple[tuple[Edges, ...], ...]
    remaining: tuple[dict[Compatibility, Floats], ...]

    @property
    def size(self) -> int:
        """Keys and edges looked at."""
        edges = sum(len(some.nodes) for step in self.edges for some in step)
        return edges + sum(len(codes) for forms in self.codes for codes in forms.values())

    @property
    def least_costs(self) -> EnergyLatency:
        """The least energy and latency of a mapping, each on its own."""
        first = self.remaining[0].get(START)
        return (inf, inf) if first is None else (float(first[0, 0]), float(first[0, 1]))


def build_graph(
    steps: tuple[JoinStep, ...], limits: JoinLimits, budget: Budget
) -> CompatibilityGraph:
    """Walk the keys forwards, then the costs backwards."""
    tiling = TileCodes(steps)
    codes: list[dict[Compatibility, Ints]] = [{START: np.zeros(1, np.int64)}]
    reach: dict[Compatibility, Floats] = {START: np.zeros((1, 2))}
    edges: list[tuple[Edges, ...]] = []
    for number in range(len(steps)):
        budget.check()
        joined = _edges_of_step(
            _JoinInput(number, steps[number], tiling, budget), (codes[-1], reach), limits
        )
        edges.append(joined)
        following, reach = _reached_nodes(joined, reach)
        codes.append(following)
        edges[-1] = tuple(_with_node_numbers(one, following[one.target]) for one in joined)
        budget.check(sum(len(one.nodes) for step in edges for one in step))
    return CompatibilityGraph(
        steps, tiling, tuple(codes), tuple(edges), _remaining_costs(edges, codes)
    )


@dataclass(frozen=True, slots=True)
class _JoinInput:
    """One Einsum to join."""

    number: int
    step: JoinStep
    tiling: TileCodes
    budget: Budget


def _edges_of_step(
    side: _JoinInput,
    before: tuple[dict[Compatibility, Ints], dict[Compatibility, Floats]],
    limits: JoinLimits,
) -> tuple[Edges, ...]:
    """Return the edges of one step; instead of the numbers of their ends the codes of these."""
    tiling, index = side.tiling, _index_groups(side.step)
    packed = {id(rows): tiling.encode(rows) for rows in side.step.groups}
    found: list[Edges] = []
    for form, codes in before[0].items():
        side.budget.check()
        shared = tuple(form.depths[place] for place, _ in side.step.read)
        reach = before[1][form]
        for rows in index.get((shared, form.loops), ()):
            target = joined_compatibility(side.step, form, rows)
            if target is None:
                continue
            own = packed[id(rows)]
            head = tiling.prefix(own, len(form.loops))
            keys = np.minimum(np.searchsorted(codes, head), len(codes) - 1)
            on_chip = frozenset(
                t for t, d in zip(side.step.live_after, target.depths, strict=True) if d >= 0
            )
            more = limits.remaining(side.number, on_chip)
            cost = reach[keys] + rows.least_costs + np.array(more)
            fine = (codes[keys] == head) & (cost <= np.array(limits.cost_limit)).all(axis=1)
            if len(numbers := np.flatnonzero(fine)):
                ends = tiling.prefix(own[numbers], len(target.loops))
                found.append(Edges(form, rows, target, keys[numbers], numbers, ends))
    return tuple(found)


def _index_groups(
    step: JoinStep,
) -> dict[tuple[tuple[int, ...], tuple[LoopName, ...]], list[PmappingGroup]]:
    """File the rows by depths of shared tensors and first loops."""
    found: dict[tuple[tuple[int, ...], tuple[LoopName, ...]], list[PmappingGroup]] = {}
    for rows in step.groups:
        depths = tuple(rows.depths[place] for _, place in step.read)
        for count in range(max(0, *depths) if depths else 0, len(rows.loops) + 1):
            found.setdefault((depths, rows.loops[:count]), []).append(rows)
    return found


def _reached_nodes(
    edges: Sequence[Edges], reach: dict[Compatibility, Floats]
) -> tuple[dict[Compatibility, Ints], dict[Compatibility, Floats]]:
    """Return the keys after a step, and the least cost of a way to each."""
    ends: dict[Compatibility, list[Ints]] = {}
    for one in edges:
        ends.setdefault(one.target, []).append(one.target_nodes)
    codes = {form: np.unique(np.concatenate(few)) for form, few in ends.items()}
    after = {form: np.full((len(few), 2), inf) for form, few in codes.items()}
    for one in edges:
        cost = reach[one.source][one.nodes] + one.group.least_costs[one.tilings]
        np.minimum.at(after[one.target], np.searchsorted(codes[one.target], one.target_nodes), cost)
    return codes, after


def _with_node_numbers(edges: Edges, codes: Ints) -> Edges:
    ends = np.searchsorted(codes, edges.target_nodes)
    return Edges(edges.source, edges.group, edges.target, edges.nodes, edges.tilings, ends)


def _remaining_costs(
    edges: Sequence[Sequence[Edges]], codes: Sequence[dict[Compatibility, Ints]]
) -> tuple[dict[Compatibility, Floats], ...]:
    """Return what is still to be paid; energy and latency each take their own best way."""
    rest = [{form: np.zeros((len(few), 2)) for form, few in codes[-1].items()}]
    for number in range(len(edges) - 1, -1, -1):
        here = {form: np.full((len(few), 2), inf) for form, few in codes[number].items()}
        for one in edges[number]:
            cost = one.group.least_costs[one.tilings] + rest[-1][one.target][one.target_nodes]
            np.minimum.at(here[one.source], one.nodes, cost)
        rest.append(here)
    return tuple(reversed(rest))


def joined_compatibility(
    step: JoinStep, form: Compatibility, rows: PmappingGroup
) -> Compatibility | None:
    """Return the form of keys after the rows; None if a contested tensor would stand in two places
    above one loop.

    An older tensor that the rows do not touch is carried along: they run in all loops above it
    (accelforge refuses that if no tensor of the row stays live as deep).
    """
    after = tuple(_depth_after(before, place, form, rows) for before, place in step.carried)
    shared = max(0, *after) if after else 0
    pending = _pending_tiles(step, form, (rows, shared))
    outermost = _outermost_tensors(step, form, rows, after)
    if pending is None or outermost is None:
        return None
    outermost, waiting = (
        outermost if shared else frozenset(),
        _waiting_tensors(step, form, rows, after),
    )
    return Compatibility(rows.loops[:shared], after, pending, outermost, waiting)


def _waiting_tensors(
    step: JoinStep, form: Compatibility, rows: PmappingGroup, after: tuple[int, ...]
) -> frozenset[int]:
    """Return the numbers of live tensors on chip that take no room yet: copies do not hold them."""
    found: set[int] = set()
    for number, (before, place) in enumerate(step.carried):
        waited = before is None or before in form.waiting
        if after[number] >= 0 and waited and (place is None or place in rows.absent):
            found.add(number)
    return frozenset(found)


def _outermost_tensors(
    step: JoinStep, form: Compatibility, rows: PmappingGroup, after: tuple[int, ...]
) -> frozenset[str] | None:
    """Return what the Einsums in the shared loops have in the outermost memory; None if there is no
    room for that, and for what is there between earlier and later Einsums."""
    if step.outermost_capacity is None:
        return frozenset()
    boundary = step.tables[0].boundary
    on_chip = {p.tensor for p, depth in zip(boundary, rows.depths, strict=True) if depth >= 0}
    used = form.outermost | (frozenset(step.tables[0].einsum.tensors) - on_chip)
    stays = {p.tensor for p, depth in zip(step.live_after, after, strict=True) if depth >= 0}
    live = frozenset(place.tensor for place in step.live_after) - stays
    return used if step.outermost_capacity.fits(used | live | step.passing) else None


def _depth_after(
    before: int | None, place: int | None, form: Compatibility, rows: PmappingGroup
) -> int:
    if place is not None:
        return rows.depths[place]
    assert before is not None
    return form.depths[before]


def _pending_tiles(
    step: JoinStep, form: Compatibility, after: tuple[PmappingGroup, int]
) -> tuple[PendingTile, ...] | None:
    """Follow the contested tensors; None if users above one loop disagree about a place."""
    rows, shared = after
    own = step.held_tiles(rows)
    found: dict[TensorPlace, PendingTile] = {}
    for tensor, reach, tile in form.pending:
        if tensor in own:
            if own[tensor].position(reach) != tile.position(reach):
                return None
            own[tensor] = tile.merged(own[tensor], reach)
        elif (left := min(reach, shared)) > 0:
            found[tensor] = (tensor, left, tile.above(left))
    if shared > 0:
        for tensor, tile in own.items():
            found[tensor] = (tensor, shared, tile.above(shared))
    return tuple(found[p] for p in sorted(found) if p.tensor in step.contested_later)
