"""Join the tables of all Einsums, in order: the graph of compatibilities.

A node between two Einsums is a compatibility with its tile shapes: the loops that both sides share,
and where each live tensor stands. An edge is a pmapping tiling of the Einsum that leads from one
node to another. This pass looks at nodes alone. It ignores capacity between Einsums, so that the
least remaining cost of each node is a lower bound. Nodes of one compatibility differ in tile
shapes only, and everything is done for all of them at a time (theory/fusion.md §4, §6.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

import numpy as np

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.fusion.bounds.cost_limit import EnergyLatency
from tilewright.mapper.fusion.join.join_step import (
    START,
    CarriedTensor,
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
Codes = dict[Compatibility, Ints]  # per compatibility, sorted codes of the tile shapes of its nodes
Costs = dict[Compatibility, Floats]  # energy and latency of each node, shape (nodes, 2)


@dataclass(frozen=True, slots=True)
class JoinLimits:
    """Limit which partial mappings of the workload are followed when Einsums are joined.

    `cost_limit`: most energy in joule and latency in second of a whole mapping. `remaining`:
    function of an Einsum's number and of the (tensor, memory) pairs on chip behind it; it returns
    lower bounds of the energy and latency of all later Einsums, inf where no way leads on.
    """

    cost_limit: EnergyLatency
    remaining: RemainingBound


@dataclass(frozen=True, eq=False, slots=True)
class Edges:
    """Edges of the compatibility graph from one compatibility to another through one group.

    A node stands between two Einsums: a compatibility (shared loops, and where each tensor on chip
    stands) with tile shapes. A group holds pmappings, mappings of one Einsum within the whole, that
    agree but for tile shapes. An edge joins the next Einsum by one tiling, a choice of tile shapes
    of its group. `source`, `target`: compatibilities before and after. `group`: the pmappings of
    the Einsum. `nodes`, `tilings`, `target_nodes`: per edge the number of the node before, of the
    tiling in the group, and of the node behind; shape (edges,).
    """

    source: Compatibility
    group: PmappingGroup
    target: Compatibility
    nodes: Ints
    tilings: Ints
    target_nodes: Ints


@dataclass(frozen=True, slots=True)
class CompatibilityGraph:
    """Graph of all ways to join the pmappings of the Einsums, in order.

    A pmapping is a mapping of one Einsum within the whole. A node stands between two Einsums: a
    compatibility (shared loops, and where each tensor on chip stands) with tile shapes. `steps`:
    how each Einsum is joined. `tile_codes`: numbers for lists of tile shapes. `codes[i]`: per
    compatibility before Einsum i, the sorted codes of its nodes. `edges[i]`: the edges through
    Einsum i. `remaining[i]`: per compatibility, the least energy and the least latency from each
    node to the end, shape (nodes, 2), inf where there is no way. Capacity between Einsums is
    ignored, so these are lower bounds (theory/fusion.md §6.1).
    """

    steps: tuple[JoinStep, ...]
    tile_codes: TileCodes
    codes: tuple[Codes, ...]
    edges: tuple[tuple[Edges, ...], ...]
    remaining: tuple[Costs, ...]

    @property
    def size(self) -> int:
        """Number of nodes and edges of the graph, for statistics."""
        edges = sum(len(edges.nodes) for step in self.edges for edges in step)
        return edges + sum(len(codes) for nodes in self.codes for codes in nodes.values())

    @property
    def least_costs(self) -> EnergyLatency:
        """Lower bounds of the energy and of the latency of a whole mapping.

        Joule and second, each of its own best path through the graph; capacity between Einsums does
        not count. inf if there is no path (theory/fusion.md §6.1).
        """
        first = self.remaining[0].get(START)
        return (inf, inf) if first is None else (float(first[0, 0]), float(first[0, 1]))


def build_graph(
    steps: tuple[JoinStep, ...], limits: JoinLimits, budget: Budget
) -> CompatibilityGraph:
    """Build the graph of all ways to join the mappings of the Einsums within the limits.

    A node stands between two Einsums: the shared loops with tile shapes, and where each tensor on
    chip stands. An edge is a mapping of one Einsum that leads from node to node. `steps`: how each
    Einsum is joined. `limits`: nodes and edges are left out if what is paid so far and a lower
    bound of the rest exceed the limit of energy or latency. Raises OutOfBudget, and
    UnsupportedFeature if the shared loops have too many tile shapes to number (theory/fusion.md
    §6.1).
    """
    tile_codes = TileCodes(steps)
    codes: list[Codes] = [{START: np.zeros(1, np.int64)}]
    costs: Costs = {START: np.zeros((1, 2))}
    edges: list[tuple[Edges, ...]] = []
    for number, step in enumerate(steps):
        budget.check()
        source = _JoinInput(number, step, tile_codes, budget)
        joined = _edges_of_step(source, codes[-1], costs, limits)
        following, costs = _reached_nodes(joined, costs)
        codes.append(following)
        numbers = [np.searchsorted(following[each.target], each.target_nodes) for each in joined]
        pairs = zip(joined, numbers, strict=True)
        edges.append(tuple(replace(bundle, target_nodes=nodes) for bundle, nodes in pairs))
        budget.check(sum(len(bundle.nodes) for several in edges for bundle in several))
    remaining = _remaining_costs(edges, codes)
    return CompatibilityGraph(steps, tile_codes, tuple(codes), tuple(edges), remaining)


class _JoinInput(NamedTuple):
    """The Einsum to be joined next: its number and step, codes of tile shapes, the budget."""

    number: int
    step: JoinStep
    tile_codes: TileCodes
    budget: Budget


def _edges_of_step(
    source: _JoinInput, nodes: Codes, costs: Costs, limits: JoinLimits
) -> tuple[Edges, ...]:
    """Return the edges through one Einsum, with codes of the target nodes instead of their numbers.

    `nodes`: per compatibility the codes of the nodes before. `costs`: least cost up to each of
    them. Edges that exceed the limits together with the least cost of later Einsums are left out.
    """
    number, step, tile_codes, budget = source
    index = _index_groups(step)
    group_codes = {id(group): tile_codes.encode(group) for group in step.groups}
    edges: list[Edges] = []
    for source_node, codes in nodes.items():
        budget.check()
        depths = tuple(source_node.depths[tensor.live] for tensor in step.read)
        for group in index.get((depths, source_node.loops), ()):
            target = joined_compatibility(step, source_node, group)
            if target is None:
                continue
            encoded = group_codes[id(group)]
            shared = tile_codes.prefix(encoded, len(source_node.loops))
            matches = np.minimum(np.searchsorted(codes, shared), len(codes) - 1)
            remaining = limits.remaining(number, _on_chip_after(step, target))
            cost = costs[source_node][matches] + group.least_costs + np.array(remaining)
            within = (cost <= np.array(limits.cost_limit)).all(axis=1)
            tilings = np.flatnonzero((codes[matches] == shared) & within)
            if len(tilings):
                target_codes = tile_codes.prefix(encoded[tilings], len(target.loops))
                edges.append(
                    Edges(source_node, group, target, matches[tilings], tilings, target_codes)
                )
    return tuple(edges)


def _on_chip_after(step: JoinStep, target: Compatibility) -> frozenset[TensorPlace]:
    """Return the (tensor, memory) pairs of live tensors that are on chip behind a step."""
    pairs = zip(step.live_after, target.depths, strict=True)
    return frozenset(place for place, depth in pairs if depth >= 0)


def _index_groups(
    step: JoinStep,
) -> dict[tuple[tuple[int, ...], tuple[LoopName, ...]], list[PmappingGroup]]:
    """Index the groups of an Einsum by what a compatibility before it must have to match.

    Keys: (loops above each tensor that the Einsum reads, first loops of the group); a group stands
    under each number of first loops that may be shared.
    """
    index: dict[tuple[tuple[int, ...], tuple[LoopName, ...]], list[PmappingGroup]] = {}
    for group in step.groups:
        depths = tuple(group.depths[tensor.position] for tensor in step.read)
        for count in range(max(0, *depths) if depths else 0, len(group.loops) + 1):
            index.setdefault((depths, group.loops[:count]), []).append(group)
    return index


def _reached_nodes(edges: Sequence[Edges], costs: Costs) -> tuple[Codes, Costs]:
    """Return the nodes that edges lead to, as sorted codes, and the least cost up to each."""
    target_codes: dict[Compatibility, list[Ints]] = {}
    for bundle in edges:
        target_codes.setdefault(bundle.target, []).append(bundle.target_nodes)
    codes = {target: np.unique(np.concatenate(pieces)) for target, pieces in target_codes.items()}
    reached = {target: np.full((len(nodes), 2), inf) for target, nodes in codes.items()}
    for bundle in edges:
        cost = costs[bundle.source][bundle.nodes] + bundle.group.least_costs[bundle.tilings]
        numbers = np.searchsorted(codes[bundle.target], bundle.target_nodes)
        np.minimum.at(reached[bundle.target], numbers, cost)
    return codes, reached


def _remaining_costs(edges: Sequence[Sequence[Edges]], codes: Sequence[Codes]) -> tuple[Costs, ...]:
    """Return, before each Einsum, the least cost from each node to the end; arrays (nodes, 2).

    `edges`: of each Einsum; `codes`: the nodes before each Einsum and at the end. The two columns
    are energy and latency; each takes its own best path.
    """
    remaining = [{target: np.zeros((len(nodes), 2)) for target, nodes in codes[-1].items()}]
    for number in range(len(edges) - 1, -1, -1):
        costs_of_sources = {
            source: np.full((len(n), 2), inf) for source, n in codes[number].items()
        }
        for bundle in edges[number]:
            costs_of_targets = remaining[-1][bundle.target][bundle.target_nodes]
            cost = bundle.group.least_costs[bundle.tilings] + costs_of_targets
            np.minimum.at(costs_of_sources[bundle.source], bundle.nodes, cost)
        remaining.append(costs_of_sources)
    return tuple(reversed(remaining))


def joined_compatibility(
    step: JoinStep, source: Compatibility, group: PmappingGroup
) -> Compatibility | None:
    """Return what later Einsums must agree about after a group of pmappings is joined.

    `step`: how the Einsum is joined. `source`: the compatibility before it. `group`: pmappings that
    agree in fused loops and tensors on chip. The result has the loops down to the deepest tensor
    that is still live on chip; a live tensor that the Einsum does not use is carried along, and the
    Einsum runs inside all loops above it. None if two Einsums would hold a contested tensor at
    different places below one loop, if the outermost memory has too little capacity, or if the
    Einsum would read partial sums (theory/fusion.md §1.3, §4).
    """
    if source.incomplete & step.awaited_here:
        return None
    depths = tuple(_depth_after(carried, source, group) for carried in step.carried)
    shared_loops = max(0, *depths) if depths else 0
    pending = _pending_tiles(step, source, group, shared_loops)
    outermost = _outermost_tensors(step, source, group, depths)
    if pending is None or outermost is None:
        return None
    outermost = outermost if shared_loops else frozenset()
    waiting = _waiting_tensors(step, source, group, depths)
    loops = group.loops[:shared_loops]
    awaited = source.incomplete | step.awaited_later
    incomplete = frozenset(read for read in awaited if not read.is_complete_below(loops))
    return Compatibility(loops, depths, pending, outermost, waiting, incomplete)


def _waiting_tensors(
    step: JoinStep, source: Compatibility, group: PmappingGroup, depths: tuple[int, ...]
) -> frozenset[int]:
    """Return the numbers of live tensors on chip that take no bits until their next user runs.

    Copies pass them on without holding them. `depths`: loops above each live tensor, -1: off chip.
    """
    waiting: set[int] = set()
    for number, (live, position) in enumerate(step.carried):
        waited = live is None or live in source.waiting
        absent = position is None or position in group.absent
        if depths[number] >= 0 and waited and absent:
            waiting.add(number)
    return frozenset(waiting)


def _outermost_tensors(
    step: JoinStep, source: Compatibility, group: PmappingGroup, depths: tuple[int, ...]
) -> frozenset[str] | None:
    """Return the tensors that the Einsums in the shared loops use in the outermost memory.

    `depths`: loops above each tensor live behind the step, -1: off chip. None if they do not fit
    there beside the tensors that pass from earlier to later Einsums.
    """
    if step.outermost_capacity is None:
        return frozenset()
    boundary = step.tables[0].boundary
    on_chip = {p.tensor for p, depth in zip(boundary, group.depths, strict=True) if depth >= 0}
    used = source.outermost | (frozenset(step.tables[0].einsum.tensors) - on_chip)
    stays = {p.tensor for p, depth in zip(step.live_after, depths, strict=True) if depth >= 0}
    live = frozenset(place.tensor for place in step.live_after) - stays
    return used if step.outermost_capacity.fits(used | live | step.passing) else None


def _depth_after(carried: CarriedTensor, source: Compatibility, group: PmappingGroup) -> int:
    """Return the number of loops above a tensor that is live behind a step.

    -1 if it is not on chip. That is as the Einsum's group has it, or as it was before if the Einsum
    does not use it.
    """
    if carried.position is not None:
        return group.depths[carried.position]
    assert carried.live is not None
    return source.depths[carried.live]


def _pending_tiles(
    step: JoinStep, source: Compatibility, group: PmappingGroup, shared_loops: int
) -> tuple[PendingTile, ...] | None:
    """Return which contested tensors are held above loops that later Einsums may share.

    `shared_loops`: number of loops of the compatibility behind the step. Only tensors that a later
    Einsum uses. None if two Einsums hold one at different places below the same loops.
    """
    new_tiles = step.held_tiles(group)
    pending: dict[TensorPlace, PendingTile] = {}
    for place, earlier_loops, tile in source.pending:
        if place in new_tiles:
            if new_tiles[place].position(earlier_loops) != tile.position(earlier_loops):
                return None
            new_tiles[place] = tile.merged(new_tiles[place], earlier_loops)
        elif (loops_left := min(earlier_loops, shared_loops)) > 0:
            pending[place] = PendingTile(place, loops_left, tile.above(loops_left))
    if shared_loops > 0:
        for place, tile in new_tiles.items():
            pending[place] = PendingTile(place, shared_loops, tile.above(shared_loops))
    return tuple(pending[p] for p in sorted(pending) if p.tensor in step.contested_later)
