"""Build the mapping of the workload from the rows that were chosen.

Einsums that share loops stand below one Sequential; a tensor on chip stands above the Sequential
at which its users part, below as many loops as its row says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter

from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.fusion.pmappings.backpointers import Backpointers
from tilewright.mapper.fusion.pmappings.pmapping_table import ChosenPmapping, PmappingTable
from tilewright.mapper.fusion.pmappings.pmappings import PmappingSource
from tilewright.mapper.fusion.pmappings.shared_spatial import lane_stride
from tilewright.mapper.fusion.pmappings.shared_tolls import toll_passages
from tilewright.mapper.mapping.mapping import (
    Compute,
    Node,
    Sequential,
    Spatial,
    Storage,
    Temporal,
    Toll,
)
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Fill

Loop = tuple[LoopName, int]  # its rank variable as the Einsum calls it, tile shape


@dataclass(frozen=True, slots=True)
class Branch:
    """One Einsum of the tree. `held`: (loops above, storage) down to its lowest tensor on chip, in
    order; `on_chip`: the storages of those; `inner`: the nodes below."""

    outermost: tuple[Storage, ...]
    loops: tuple[Loop, ...]
    upper_holders: tuple[tuple[int, Storage | Toll], ...]
    on_chip: frozenset[Storage | Toll]
    inner_nodes: tuple[Node, ...]

    @property
    def einsum(self) -> str:
        """Its name."""
        leaf = self.inner_nodes[-1]
        assert isinstance(leaf, Compute)
        return leaf.einsum


def branch_of(table: PmappingTable, chosen: ChosenPmapping) -> Branch:
    """Return what one chosen point of a row stands for, under the names of the table."""
    number, label = chosen.group.origins[chosen.pmapping].tolist()
    solution = table.solution
    source: PmappingSource = solution.sources[number]
    trail = solution.backpointers[source.number]
    names = {
        **dict(zip(solution.space.einsum.tensors, table.space.einsum.tensors, strict=True)),
        **dict(zip(solution.space.einsum.bounds, table.space.einsum.bounds, strict=True)),
    }
    layout = source.inner_program.template
    persistent = {a.tensor for a in solution.space.einsum.accesses if a.persistent}
    top = [
        Storage((names[h.tensor],), h.component, h.tensor in persistent)
        for h in layout.template.holders[: layout.n_outermost]
    ]
    held = list(_upper_holders(source, solution.space.problem, names))
    backing = {(names[place.tensor], place.memory) for place in layout.on_chip}
    on_chip = frozenset(s for _, s in held if (s.tensors[0], s.component) in backing)
    inner = tuple(_renamed(node, names, table) for node in _inner_nodes(table, trail, label))
    own = {loop: variable for variable, loop in table.loop_names.items()}
    loops = tuple((loop._replace(variable=own[loop.variable]), n) for loop, n in chosen.loops)
    return Branch(tuple(top), loops, tuple(held), on_chip, inner)


def _upper_holders(
    source: PmappingSource, problem: Problem, names: Mapping[str, str]
) -> Iterator[tuple[int, Storage | Toll]]:
    """Yield (loops above, storage or Toll) down to the lowest tensor on chip, outermost first."""
    part = source.inner_program
    found: list[tuple[int, Storage | Toll]] = []
    tolls = toll_passages(problem, part)
    for place, holder in enumerate((*part.template.region, None)):
        for one in (one for one in tolls if one.region_place == place):
            toll = Toll((names[one.toll.tensor],), one.toll.component)
            found.append((source.toll_depth(one), toll))
        if holder is not None:
            found.append(
                (source.holder_depth(place), Storage((names[holder.tensor],), holder.component))
            )
    yield from sorted(found, key=itemgetter(0))


def _inner_nodes(table: PmappingTable, trail: Backpointers, label: int) -> Sequence[Node]:
    """Return the nodes below the lowest tensor on chip, in the names of the solution."""
    part = trail.inner_program
    slots = part.program.slot_sequence
    engine = table.solution.engine
    below, state = trail.tiles_below_slots(engine.lattice, label), trail.tile_state(label)
    tile = tuple(
        engine.lattice.tiles[state - lane_stride(engine.lattice, part.spatial_loops)].tolist()
    )
    fills = [i for i, slot in enumerate(slots) if isinstance(slot, Fill)]
    first = fills[part.template.lowest_on_chip] + 1
    tiles = []
    for index in range(first, len(slots)):
        tile = below.get(index, tile)
        tiles.append(tile)
    return assemble(engine.problem, slots[first:], tiles).nodes


def _renamed(node: Node, names: Mapping[str, str], table: PmappingTable) -> Node:
    if isinstance(node, Storage | Toll):
        return replace(node, tensors=tuple(names[t] for t in node.tensors))
    if isinstance(node, Temporal | Spatial):
        return replace(node, rank_variable=names[node.rank_variable])
    assert isinstance(node, Compute)
    return replace(node, einsum=table.einsum.name)


def _shared_loop(bodies: Sequence[Branch], level: int) -> Temporal | Spatial:
    """Return a loop of several Einsums, with the names of those that call it differently."""
    variable = bodies[0].loops[level][0].variable
    others = ((body.einsum, body.loops[level][0].variable) for body in bodies)
    names = tuple(pair for pair in others if pair[1] != variable)
    return replace(_loop(bodies[0].loops[level]), names=names)


def _loop(loop: Loop) -> Temporal | Spatial:
    (variable, dim), tile = loop
    if not dim:
        return Temporal(variable, tile)
    component, name = dim
    return Spatial(variable, tile, name, component)


class TreeBuilder:
    """Builds the tree of some bodies. `users[T]`: numbers of the bodies that touch T;
    `shared[b]`: loops that bodies b and b + 1 share."""

    def __init__(
        self,
        bodies: Sequence[Branch],
        shared: Sequence[int],
        users: Mapping[str, tuple[int, ...]],
    ) -> None:
        self._bodies = bodies
        self._shared = shared
        self._users = users

    def mapping(self) -> LoopNest:
        """Return the whole mapping: the outermost memory on top."""
        top = dict.fromkeys(storage for body in self._bodies for storage in body.outermost)
        return LoopNest((*top, *self._nodes((0, len(self._bodies)), 0)))

    def _nodes(self, span: tuple[int, int], depth: int) -> tuple[Node, ...]:
        """Return the nodes of bodies span[0] … span[1] - 1 below `depth` loops that they share."""
        first, end = span
        if end - first == 1:
            return tuple(self._single(first, depth))
        split = min(self._shared[first : end - 1])
        nodes: list[Node] = []
        for level in range(depth, split + 1):
            nodes += self._storages(span, level, split)
            if level < split:
                nodes.append(_shared_loop(self._bodies[first:end], level))
        cuts = [b + 1 for b in range(first, end - 1) if self._shared[b] == split]
        ranges = pairwise([first, *cuts, end])
        return (*nodes, Sequential(tuple(self._nodes(part, split) for part in ranges)))

    def _single(self, number: int, depth: int) -> Iterator[Node]:
        body = self._bodies[number]
        for level in range(depth, len(body.loops) + 1):
            for above, storage in body.upper_holders:
                if above == level and storage not in body.on_chip:
                    yield storage
            if level < len(body.loops):
                yield _loop(body.loops[level])
        yield from body.inner_nodes

    def _storages(self, span: tuple[int, int], level: int, split: int) -> Iterator[Node]:
        """Yield what stands below `level` of the shared loops and above the Sequential.

        Of one Einsum it stands in its order, which may decide about room.
        """
        found: list[Storage | Toll] = []
        for body in self._bodies[span[0] : span[1]]:
            place = 0
            for above, storage in body.upper_holders:
                here = level < split
                if storage in body.on_chip:
                    users = self._users[storage.tensors[0]]
                    inside = span[0] <= users[0] and users[-1] < span[1]
                    here = inside and (here or self._spans(users, span, split))
                if above == level and here:
                    if storage not in found:
                        found.insert(place, storage)
                    place = found.index(storage) + 1
        yield from found

    def _spans(self, users: tuple[int, ...], span: tuple[int, int], split: int) -> bool:
        """Tell whether the users of a tensor part at this Sequential."""
        between = range(users[0], users[-1])
        return any(self._shared[b] == split for b in between if span[0] <= b < span[1] - 1)
