"""Build the mapping of the workload from the pmappings that were chosen.

Einsums that share loops stand below one Sequential. A tensor on chip stands above the Sequential
at which its users part, below as many loops as its pmapping says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.fusion.pmappings.backpointers import Backpointers
from tilewright.mapper.fusion.pmappings.pmapping_records import PmappingSource
from tilewright.mapper.fusion.pmappings.pmapping_table import ChosenPmapping, PmappingTable
from tilewright.mapper.fusion.pmappings.shared.shared_spatial import lane_stride
from tilewright.mapper.fusion.pmappings.shared.shared_tolls import toll_passages
from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Node,
    Sequential,
    Spatial,
    Storage,
    Temporal,
    TollNode,
)
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Fill


class BranchLoop(NamedTuple):
    """Name a fused loop of one Einsum: one that it may share with other Einsums.

    `name`: the rank variable as this Einsum calls it, and the (component, dimension) of a spatial
    loop. `tile`: values of the variable per iteration.
    """

    name: LoopName
    tile: int


class UpperHolder(NamedTuple):
    """Pair a Storage or Toll node with the number of fused loops above it.

    It is a node of the region: the part of an Einsum's mapping from the first holder below the
    outermost memory to the lowest one that backs a tensor exchanged on chip.
    """

    loops_above: int
    node: Storage | TollNode


@dataclass(frozen=True, slots=True)
class Branch:
    """Hold the mapping nodes of one Einsum, before the branches of all Einsums become one tree.

    The fused loops are those that may be shared with other Einsums. `outermost`: Storage nodes of
    the outermost memory. `loops`: the fused loops, temporal and spatial, outermost first.
    `upper_holders`: Storage and Toll nodes that stand among the fused loops, down to the lowest
    tensor exchanged on chip, outermost first. `on_chip`: those of them that hold a tensor which
    Einsums exchange. `inner_nodes`: the nodes below, which belong to this Einsum alone, down to its
    Compute node.
    """

    outermost: tuple[Storage, ...]
    loops: tuple[BranchLoop, ...]
    upper_holders: tuple[UpperHolder, ...]
    on_chip: frozenset[Storage | TollNode]
    inner_nodes: tuple[Node, ...]

    @property
    def einsum(self) -> str:
        """Name of the Einsum, taken from the Compute node."""
        leaf = self.inner_nodes[-1]
        assert isinstance(leaf, ComputeNode)
        return leaf.einsum


def branch_of(table: PmappingTable, chosen: ChosenPmapping) -> Branch:
    """Return the mapping nodes of one Einsum for its chosen pmapping.

    A pmapping is the mapping of one Einsum within that of the workload. `table`: the pmappings of
    the Einsum. `chosen`: which of them. The result has the nodes of the outermost memory, the fused
    loops (those that may be shared with other Einsums), the holders among these, and the nodes
    below, under the names of this Einsum.
    """
    number, label = chosen.group.origins[chosen.pmapping].tolist()
    solution = table.solution
    source: PmappingSource = solution.sources[number]
    pointers: Backpointers = solution.backpointers[source.number]
    names = {
        **dict(zip(solution.space.einsum.tensors, table.space.einsum.tensors, strict=True)),
        **dict(zip(solution.space.einsum.bounds, table.space.einsum.bounds, strict=True)),
    }
    template = source.inner_program.template
    persistent = {a.tensor for a in solution.space.einsum.accesses if a.persistent}
    outermost = tuple(
        Storage((names[h.tensor],), h.component, h.tensor in persistent)
        for h in template.template.holders[: template.n_outermost]
    )
    holders = tuple(_upper_holders(source, solution.space.problem, names))
    backing = {(names[place.tensor], place.memory) for place in template.on_chip}
    nodes = (holder.node for holder in holders)
    on_chip = frozenset(node for node in nodes if (node.tensors[0], node.component) in backing)
    inner = tuple(_renamed(node, names, table) for node in _inner_nodes(table, pointers, label))
    return Branch(outermost, branch_loops(chosen, table.loop_names), holders, on_chip, inner)


def branch_loops(chosen: ChosenPmapping, loop_names: Mapping[str, str]) -> tuple[BranchLoop, ...]:
    """Return the fused loops of a chosen mapping of one Einsum in its own rank variables.

    Fused loops are those that it may share with other Einsums. `chosen`: names them by variables
    common to all Einsums. `loop_names`: for each rank variable of the Einsum its common name. The
    result has, per loop and outermost first, the name and the values of the variable below it.
    """
    variables = {name: variable for variable, name in loop_names.items()}
    return tuple(
        BranchLoop(loop._replace(variable=variables[loop.variable]), tile)
        for loop, tile in chosen.loops
    )


def _upper_holders(
    source: PmappingSource, problem: Problem, names: Mapping[str, str]
) -> Iterator[UpperHolder]:
    """Yield the Storage and Toll nodes down to the lowest tensor on chip, outermost first.

    `source`: which pmappings they belong to. `names`: of tensors in the solved problem to those of
    this Einsum.
    """
    inner = source.inner_program
    holders: list[UpperHolder] = []
    passages = toll_passages(problem, inner)
    for place, holder in enumerate((*inner.template.region, None)):
        for passage in (passage for passage in passages if passage.region_place == place):
            toll = TollNode((names[passage.toll.tensor],), passage.toll.component)
            holders.append(UpperHolder(source.toll_depth(passage), toll))
        if holder is not None:
            storage = Storage((names[holder.tensor],), holder.component)
            holders.append(UpperHolder(source.holder_depth(place), storage))
    yield from sorted(holders, key=lambda upper: upper.loops_above)


def _inner_nodes(table: PmappingTable, pointers: Backpointers, label: int) -> Sequence[Node]:
    """Return the nodes below the lowest tensor on chip, in the names of the table's solution.

    `pointers`, `label`: how the label with this number was made; they give the tile below each
    slot.
    """
    inner = pointers.inner_program
    slots = inner.program.slot_sequence
    engine = table.solution.engine
    tiles_by_slot = pointers.tiles_below_slots(engine.lattice, label)
    state = pointers.tile_state(label) - lane_stride(engine.lattice, inner.spatial_loops)
    tile = tuple(engine.lattice.tiles[state].tolist())
    fills = [i for i, slot in enumerate(slots) if isinstance(slot, Fill)]
    first = fills[inner.template.lowest_on_chip] + 1
    tiles = []
    for index in range(first, len(slots)):
        tile = tiles_by_slot.get(index, tile)
        tiles.append(tile)
    return assemble(engine.problem, slots[first:], tiles).nodes


def _renamed(node: Node, names: Mapping[str, str], table: PmappingTable) -> Node:
    if isinstance(node, Storage | TollNode):
        return replace(node, tensors=tuple(names[t] for t in node.tensors))
    if isinstance(node, Temporal | Spatial):
        return replace(node, rank_variable=names[node.rank_variable])
    assert isinstance(node, ComputeNode)
    return replace(node, einsum=table.einsum.name)


def _shared_loop(branches: Sequence[Branch], level: int) -> Temporal | Spatial:
    """Return the loop number `level` of several branches as one node.

    It has the variable of the first branch; names that other Einsums use for it are noted in it.
    """
    variable = branches[0].loops[level].name.variable
    names = ((branch.einsum, branch.loops[level].name.variable) for branch in branches)
    renamed = tuple(pair for pair in names if pair[1] != variable)
    return replace(_loop(branches[0].loops[level]), names=renamed)


def _loop(loop: BranchLoop) -> Temporal | Spatial:
    (variable, dim), tile = loop
    if not dim:
        return Temporal(variable, tile)
    component, name = dim
    return Spatial(variable, tile, name, component)


class _LoopSpan(NamedTuple):
    """The branches `first` to `end - 1`: neighbouring Einsums in the tree under construction."""

    first: int
    end: int


class TreeBuilder:
    """Join the nodes of all Einsums into one mapping.

    `branches`: the nodes of each Einsum, in the order of the workload. `shared_loops[b]`: number of
    fused loops that branches b and b + 1 share. `users[T]`: numbers of the branches that use tensor
    T. Shared loops are written once, above a Sequential node below which the branches part; a
    tensor on chip stands above the Sequential at which its users part.
    """

    def __init__(
        self,
        branches: Sequence[Branch],
        shared_loops: Sequence[int],
        users: Mapping[str, tuple[int, ...]],
    ) -> None:
        self._branches = branches
        self._shared_loops = shared_loops
        self._users = users

    def mapping(self) -> LoopNest:
        """Return the mapping of the whole workload.

        The Storage nodes of the outermost memory stand on top, each once.
        """
        storages = (storage for branch in self._branches for storage in branch.outermost)
        outermost = dict.fromkeys(storages)
        return LoopNest((*outermost, *self._nodes(_LoopSpan(0, len(self._branches)), 0)))

    def _nodes(self, span: _LoopSpan, depth: int) -> tuple[Node, ...]:
        """Return the nodes of a span of branches that stand below the first `depth` shared loops.

        They are the loops shared by the whole span with the storages among them, then a Sequential
        whose children are parts of the span that share more loops.
        """
        first, end = span
        if end - first == 1:
            return tuple(self._single(self._branches[first], depth))
        split = min(self._shared_loops[first : end - 1])
        nodes: list[Node] = []
        for level in range(depth, split + 1):
            nodes += self._storages(span, level, split)
            if level < split:
                nodes.append(_shared_loop(self._branches[first:end], level))
        cuts = [b + 1 for b in range(first, end - 1) if self._shared_loops[b] == split]
        spans = (_LoopSpan(*pair) for pair in pairwise([first, *cuts, end]))
        return (*nodes, Sequential(tuple(self._nodes(branch_span, split) for branch_span in spans)))

    def _single(self, branch: Branch, depth: int) -> Iterator[Node]:
        """Yield the nodes of one branch that stand below its first `depth` loops.

        Loops above are shared, and holders of exchanged tensors are written with them.
        """
        for level in range(depth, len(branch.loops) + 1):
            for loops_above, node in branch.upper_holders:
                if loops_above == level and node not in branch.on_chip:
                    yield node
            if level < len(branch.loops):
                yield _loop(branch.loops[level])
        yield from branch.inner_nodes

    def _storages(self, span: _LoopSpan, level: int, split: int) -> Iterator[Node]:
        """Yield the Storage and Toll nodes of a span that stand right below `level` shared loops.

        `split`: number of loops that the whole span shares; nodes below the Sequential there are
        left out. The nodes of one Einsum keep their order, which may decide about reservations. A
        node of several Einsums is written once.
        """
        nodes: list[Storage | TollNode] = []
        for branch in self._branches[span.first : span.end]:
            place = 0
            for loops_above, node in branch.upper_holders:
                if loops_above == level and self._is_above(branch, node, span, level, split):
                    if node not in nodes:
                        nodes.insert(place, node)
                    place = nodes.index(node) + 1
        yield from nodes

    def _is_above(
        self, branch: Branch, node: Storage | TollNode, span: _LoopSpan, level: int, split: int
    ) -> bool:
        """Tell whether a node right below `level` shared loops stands above a span's Sequential.

        `split`: number of loops above that Sequential. A tensor on chip stands there only if all
        its users are in the span and, where `level` is `split`, in different children.
        """
        if node not in branch.on_chip:
            return level < split
        users = self._users[node.tensors[0]]
        is_private = span.first <= users[0] and users[-1] < span.end
        return is_private and (level < split or self._parts_users(users, span, split))

    def _parts_users(self, users: tuple[int, ...], span: _LoopSpan, split: int) -> bool:
        """Tell whether the users of a tensor are in different children of a span's Sequential.

        `users`: numbers of the branches that use it. `split`: number of loops above the Sequential.
        """
        joins = range(users[0], users[-1])
        return any(self._shared_loops[b] == split for b in joins if span.first <= b < span.end - 1)
