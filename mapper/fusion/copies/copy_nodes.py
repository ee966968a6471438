"""The nodes of a copy, parted into what it shares with others and what is its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, permutations, product
from typing import NamedTuple

from tilewright.arch.components.components import Component
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fusion.fused_mapping import Branch
from tilewright.mapper.fusion.pmappings.shared_spatial import behind_network
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapping.mapping import Node, Spatial, Storage, Temporal, Toll


class CopySpatialLoop(NamedTuple):
    """Tiles of a rank variable dealt over `number` lanes of a dimension (component, name)."""

    variable: str
    lanes: int
    dim: tuple[str, str]


@dataclass(frozen=True, slots=True)
class KeptTensors:
    """What a copy keeps for others: `tensors` in the memory `inner`, which stand below the
    components `upper`; `dealt`: the variables that these may deal lanes over; `shared`: the tensors
    that several Einsums use."""

    tensors: tuple[str, ...]
    memory: str
    components_above: frozenset[str]
    spatial_variables: frozenset[str]
    shared_tensors: frozenset[str]

    def fit(self, mapping: LoopNest) -> LoopNest | None:
        """Return a mapping as it would be in the tree, None if it has no place there."""
        first = [_first_storage(mapping, tensor) for tensor in self.tensors]
        if any(storage.component != self.memory for _, storage in first):
            return None
        lanes = [
            n
            for n in mapping.nodes
            if isinstance(n, Spatial) and n.component in self.components_above
        ]
        if any(node.rank_variable not in self.spatial_variables for node in lanes):
            return None
        return _with_tolls_below(mapping, max(place for place, _ in first), self.shared_tensors)


def spatial_loops_above(
    mapping: LoopNest, bounds: Mapping[str, int], upper: frozenset[str]
) -> list[CopySpatialLoop]:
    """Return the lanes of the components `upper`, as a mapping of one Einsum deals them."""
    above, found = dict(bounds), list[CopySpatialLoop]()
    for node in mapping.nodes:
        if isinstance(node, Temporal | Spatial):
            v = node.rank_variable
            if isinstance(node, Spatial) and node.component in upper:
                found.append(
                    CopySpatialLoop(v, above[v] // node.tile_shape, (node.component, node.name))
                )
            above[v] = node.tile_shape
    return found


def spatial_orders(
    lanes: Sequence[CopySpatialLoop], flat: FlatArch, names: Mapping[str, str]
) -> list[tuple[CopySpatialLoop, ...]]:
    """Return the orders that lanes may stand in where other Einsums share them.

    That of the path, in one dimension by the names of the loops, behind a Network in every order
    (pmapping_table.py).
    """
    level = {component.name: number for number, component in enumerate(flat.components)}
    dims = {c.name: [dim.name for dim in c.spatial] for c in flat.components}

    def place(lane: CopySpatialLoop) -> tuple[int, int]:
        component, name = lane.dim
        return level[component], dims[component].index(name)

    ways: list[list[tuple[CopySpatialLoop, ...]]] = []
    ordered = sorted(lanes, key=lambda lane: (place(lane), names[lane.variable]))
    for (number, _), some in groupby(ordered, place):
        run = tuple(some)
        free = behind_network(flat.components, number)
        ways.append(list(permutations(run)) if free else [run])
    return [tuple(lane for run in way for lane in run) for way in product(*ways)]


def components_down_to(flat: FlatArch, memory: str | None) -> Iterator[Component]:
    """Yield the components of a path down to a memory."""
    for component in flat.components:
        yield component
        if component.name == memory:
            return


def copy_branch(nodes: tuple[Node, ...], outer: str, shared: frozenset[str]) -> Branch:
    """Split a mapping into the outermost memory, with the Tolls right below, and the rest.

    Tolls of tensors that other Einsums use stay with this one.
    """
    top: list[Storage] = []
    place = 0
    while isinstance(node := nodes[place], Storage) and (
        node.component == outer
        or (isinstance(node, Toll) and not shared.intersection(node.tensors))
    ):
        top += [replace(node, tensors=(t,)) for t in node.tensors]
        place += 1
    return Branch(tuple(top), (), (), frozenset(), nodes[place:])


def nodes_of_one_lane(nodes: Sequence[Node], lanes: Sequence[CopySpatialLoop]) -> tuple[Node, ...]:
    """Return the nodes without the lanes that stand above what is kept, of which loops above them
    see one."""
    left = list(lanes)
    found: list[Node] = []
    below = dict.fromkeys((lane.variable for lane in lanes), 1)
    for node in reversed(nodes):
        kept = node
        if isinstance(node, Temporal):
            tile = node.tile_shape // below.get(node.rank_variable, 1)
            kept = replace(node, tile_shape=tile)
        elif left and isinstance(node, Spatial) and (node.component, node.name) == left[-1].dim:
            below[node.rank_variable] *= left.pop().lanes
            continue
        found.append(kept)
    return tuple(reversed(found))


def without_storages(body: Branch, tensors: Sequence[str]) -> Branch:
    """Take the first storages of `tensors` out: they stand above what shares these."""
    inner: list[Node] = []
    out: dict[str, Storage] = {}
    for node in body.inner_nodes:
        kept = node
        if isinstance(node, Storage):
            here = [t for t in node.tensors if t in tensors and t not in out]
            out |= {t: replace(node, tensors=(t,)) for t in here}
            kept = replace(node, tensors=tuple(t for t in node.tensors if t not in here))
        if not isinstance(kept, Storage) or kept.tensors:
            inner.append(kept)
    held = tuple((0, out[tensor]) for tensor in tensors)
    return replace(
        body, upper_holders=held, on_chip=frozenset(out.values()), inner_nodes=tuple(inner)
    )


def without_null_loops(above: Mapping[str, int], nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield the nodes without the loops whose tile is the one above."""
    tiles = dict(above)
    for node in nodes:
        if isinstance(node, Temporal):
            if tiles[node.rank_variable] == node.tile_shape:
                continue
            tiles[node.rank_variable] = node.tile_shape
        yield node


def _first_storage(mapping: LoopNest, tensor: str) -> tuple[int, Storage]:
    """Return the first storage of a tensor, and its place."""
    return next(
        (place, node)
        for place, node in enumerate(mapping.nodes)
        if isinstance(node, Storage) and tensor in node.tensors
    )


def _with_tolls_below(mapping: LoopNest, place: int, shared: frozenset[str]) -> LoopNest:
    """Write the Tolls of shared tensors below the storage at `place`, which others use too.

    Above it they would charge what other Einsums move.
    """
    above, held, rest = mapping.nodes[:place], mapping.nodes[place], mapping.nodes[place + 1 :]
    tolls = tuple(n for n in above if isinstance(n, Toll) and shared.intersection(n.tensors))
    return LoopNest((*(n for n in above if n not in tolls), held, *tolls, *rest))
