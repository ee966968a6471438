"""Split the nodes of a copy Einsum into those that it shares with other Einsums and its own.

A copy keeps its own loops below the storages of the tensors that it keeps on chip. The storages,
the spatial loops above them and the Tolls of shared tensors belong to the tree of the whole mapping
(theory/copies.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, permutations, product
from typing import NamedTuple, TypeGuard

from tilewright.arch.components.components import Component
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fusion.fused_mapping import Branch, UpperHolder
from tilewright.mapper.fusion.pmappings.shared.shared_spatial import behind_network
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapping.mapping import Node, Spatial, Storage, Temporal, TollNode


class CopySpatialLoop(NamedTuple):
    """Spatial loop of a copy Einsum, one that moves a tensor and computes nothing.

    `variable`: rank variable whose values are divided over `lanes` instances. `dim`: (component,
    dimension) of the fanout.
    """

    variable: str
    lanes: int
    dim: tuple[str, str]


class _StoragePlace(NamedTuple):
    """A Storage node, and its position among the nodes of a mapping."""

    place: int
    storage: Storage


@dataclass(frozen=True, slots=True)
class KeptTensors:
    """Say which tensors a copy Einsum keeps on chip for other Einsums, and what that demands.

    `tensors`: their names. `memory`: the memory that keeps them. `components_above`: names of the
    components from the root down to that memory. `spatial_variables`: rank variables that fanouts
    there may divide over lanes, because other Einsums share these lanes. `shared_tensors`: all
    tensors that several Einsums use.
    """

    tensors: tuple[str, ...]
    memory: str
    components_above: frozenset[str]
    spatial_variables: frozenset[str]
    shared_tensors: frozenset[str]

    def fit(self, mapping: LoopNest) -> LoopNest | None:
        """Change a mapping of the copy alone to what it must be within the mapping of the workload.

        Tolls (hardware that charges what passes) of shared tensors move below the storages that are
        kept, so that they charge only what the copy moves. None if a kept tensor is first held in
        another memory, or if a spatial loop above it runs over a variable that others may not
        share.
        """
        backing = [_first_storage(mapping, tensor) for tensor in self.tensors]
        if any(first.storage.component != self.memory for first in backing):
            return None
        spatial = (node for node in mapping.nodes if isinstance(node, Spatial))
        if not all(map(self._may_be_shared, spatial)):
            return None
        lowest = max(first.place for first in backing)
        return _with_tolls_below(mapping, lowest, self.shared_tensors)

    def _may_be_shared(self, loop: Spatial) -> bool:
        """Tell whether a spatial loop stands below the kept tensors, or others can share it.

        Others can share it if its variable is one of `spatial_variables`.
        """
        is_above = loop.component in self.components_above
        return not is_above or loop.rank_variable in self.spatial_variables


def spatial_loops_above(
    mapping: LoopNest, bounds: Mapping[str, int], components: frozenset[str]
) -> list[CopySpatialLoop]:
    """Return the spatial loops of some components in a mapping of one Einsum, outermost first.

    `bounds`: of the rank variables, from which the lanes follow. `components`: names.
    """
    tile_above = dict(bounds)
    loops: list[CopySpatialLoop] = []
    for node in mapping.nodes:
        if isinstance(node, Temporal | Spatial):
            variable = node.rank_variable
            if isinstance(node, Spatial) and node.component in components:
                lanes = tile_above[variable] // node.tile_shape
                loops.append(CopySpatialLoop(variable, lanes, (node.component, node.name)))
            tile_above[variable] = node.tile_shape
    return loops


def spatial_orders(
    loops: Sequence[CopySpatialLoop], flat: FlatArch, names: Mapping[str, str]
) -> list[tuple[CopySpatialLoop, ...]]:
    """Return the orders in which spatial loops of a copy may stand to match other Einsums.

    `loops`: those above what the copy keeps on chip. `flat`: the path of components, whose order
    they keep; within one dimension they come by `names`, the common names of rank variables, or in
    every order if the dimension is below a Network.
    """
    level = {component.name: number for number, component in enumerate(flat.components)}
    dims = {c.name: [dim.name for dim in c.spatial] for c in flat.components}

    def position(loop: CopySpatialLoop) -> tuple[int, int]:
        component, name = loop.dim
        return level[component], dims[component].index(name)

    orders: list[list[tuple[CopySpatialLoop, ...]]] = []
    ordered = sorted(loops, key=lambda loop: (position(loop), names[loop.variable]))
    for (number, _), group in groupby(ordered, position):
        same_dim = tuple(group)
        free = behind_network(flat.components, number)
        orders.append(list(permutations(same_dim)) if free else [same_dim])
    return [tuple(loop for same_dim in order for loop in same_dim) for order in product(*orders)]


def components_down_to(flat: FlatArch, memory: str | None) -> Iterator[Component]:
    """Yield the components of a path from the root down to a memory, inclusive.

    All of them if the memory is None or not on the path.
    """
    for component in flat.components:
        yield component
        if component.name == memory:
            return


def copy_branch(nodes: tuple[Node, ...], outermost: str, shared: frozenset[str]) -> Branch:
    """Split the mapping of a copy Einsum into nodes of the outermost memory and the rest.

    A copy moves a tensor and computes nothing. `nodes`: of its mapping, from the top. `outermost`:
    name of that memory. `shared`: tensors that other Einsums use. Storage nodes of the outermost
    memory come first, each split by tensor, with the Toll nodes right below them, except for Tolls
    of shared tensors. The rest is the copy's own nodes. The result has no fused loops yet.
    """
    storages: list[Storage] = []
    place = 0
    while isinstance(node := nodes[place], Storage) and (
        node.component == outermost
        or (isinstance(node, TollNode) and not shared.intersection(node.tensors))
    ):
        storages += [replace(node, tensors=(tensor,)) for tensor in node.tensors]
        place += 1
    return Branch(tuple(storages), (), (), frozenset(), nodes[place:])


def nodes_of_one_lane(nodes: Sequence[Node], loops: Sequence[CopySpatialLoop]) -> tuple[Node, ...]:
    """Return a copy's nodes without the spatial loops above what it keeps on chip.

    `loops`: these spatial loops, which the mapping of the workload writes once for all Einsums that
    share them. Tile shapes of temporal loops above them become those of one lane.
    """
    remaining = list(loops)
    reduced: list[Node] = []
    lanes_below = dict.fromkeys((loop.variable for loop in loops), 1)
    for node in reversed(nodes):
        if isinstance(node, Temporal):
            tile = node.tile_shape // lanes_below.get(node.rank_variable, 1)
            reduced.append(replace(node, tile_shape=tile))
        elif remaining and _is_loop_of(node, remaining[-1]):
            lanes_below[node.rank_variable] *= remaining.pop().lanes
        else:
            reduced.append(node)
    return tuple(reversed(reduced))


def _is_loop_of(node: Node, loop: CopySpatialLoop) -> TypeGuard[Spatial]:
    """Tell whether a node is a spatial loop over the same component and dimension as `loop`."""
    return isinstance(node, Spatial) and (node.component, node.name) == loop.dim


def without_storages(branch: Branch, tensors: Sequence[str]) -> Branch:
    """Take the first Storage node of each of some tensors out of a copy's own nodes.

    `branch`: the mapping nodes of a copy Einsum. `tensors`: those that it keeps on chip for other
    Einsums. In the result their nodes stand among the holders above the copy's own nodes, with 0
    fused loops above, so that the mapping of the workload can write them above all Einsums that
    share them.
    """
    inner: list[Node] = []
    taken: dict[str, Storage] = {}
    for node in branch.inner_nodes:
        if not isinstance(node, Storage):
            inner.append(node)
            continue
        remaining: list[str] = []
        for tensor in node.tensors:
            if tensor not in tensors or tensor in taken:
                remaining.append(tensor)
                continue
            taken[tensor] = replace(node, tensors=(tensor,))
        if remaining:
            inner.append(replace(node, tensors=tuple(remaining)))
    holders = tuple(UpperHolder(0, taken[tensor]) for tensor in tensors)
    return replace(
        branch,
        upper_holders=holders,
        on_chip=frozenset(taken.values()),
        inner_nodes=tuple(inner),
    )


def without_null_loops(tiles_above: Mapping[str, int], nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield mapping nodes without the temporal loops that have one iteration.

    That is, those whose tile shape equals the tile above. `tiles_above`: values of each rank
    variable above the nodes.
    """
    tiles = dict(tiles_above)
    for node in nodes:
        if isinstance(node, Temporal):
            if tiles[node.rank_variable] == node.tile_shape:
                continue
            tiles[node.rank_variable] = node.tile_shape
        yield node


def _first_storage(mapping: LoopNest, tensor: str) -> _StoragePlace:
    """Return the topmost Storage node of a tensor, and its position among the mapping's nodes."""
    return next(
        _StoragePlace(place, node)
        for place, node in enumerate(mapping.nodes)
        if isinstance(node, Storage) and tensor in node.tensors
    )


def _with_tolls_below(mapping: LoopNest, place: int, shared: frozenset[str]) -> LoopNest:
    """Move the Toll nodes of shared tensors that stand above the node at `place` right below it.

    The storage there is used by other Einsums too; above it a Toll would charge what they move.
    """
    upper_nodes, storage, lower_nodes = (
        mapping.nodes[:place],
        mapping.nodes[place],
        mapping.nodes[place + 1 :],
    )
    tolls = tuple(
        n for n in upper_nodes if isinstance(n, TollNode) and shared.intersection(n.tensors)
    )
    return LoopNest((*(n for n in upper_nodes if n not in tolls), storage, *tolls, *lower_nodes))
