"""Constraints of the inner memory that a list of nodes may break, read off the nodes."""

from __future__ import annotations

from fused_lists import INNER, LOW, OUTER, Lanes

from tilewright.arch.components.components import Memory, Network, PlacementRules
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.mapping.mapping import ComputeNode, Node, Spatial, Storage, Temporal
from tilewright.mapper.templates.spatial_choices import holds
from tilewright.mapper.workload.einsum import Einsum


def inner_rules(flat: FlatArch, einsum: Einsum, chip: frozenset[str]) -> PlacementRules:
    """Return the rules of the inner memory below an outer one that backs all but `chip`."""
    memory = flat.component(INNER)
    assert isinstance(memory, Memory)
    return memory.tensors.resolve({OUTER: frozenset(einsum.tensors) - chip})


def kept_low(flat: FlatArch, einsum: Einsum) -> list[str]:
    """Return what the innermost memory keeps, if there is one."""
    for component in flat.components:
        if isinstance(component, Memory) and component.name == LOW:
            rules = component.tensors.resolve({})
            return [t for t in einsum.tensors if t in rules.keep]
    return []


def lanes_of(flat: FlatArch) -> tuple[tuple[Lanes, str], ...]:
    """Return the dimensions of lanes, each with the memory above it; a memory stands below its own
    lanes."""
    found: list[tuple[Lanes, str]] = []
    above = OUTER
    for component in flat.components:
        found += [(Lanes(component.name, dim.name, dim.fanout), above) for dim in component.spatial]
        if isinstance(component, Memory):
            above = component.name
    return tuple(found)


def breaks_rule(
    einsum: Einsum,
    nodes: list[Node],
    rules: PlacementRules,
    chip: frozenset[str],
    conventions: str,
) -> bool:
    """Tell whether the inner memory forbids the list."""
    turning = (Temporal, Spatial) if conventions == "default" else (Temporal,)
    if moves_again(einsum, nodes, rules, (chip, turning)) or disordered(nodes, rules):
        return True
    return conventions == "default" and misshapen(einsum, nodes, rules)


def moves_again(
    einsum: Einsum,
    nodes: list[Node],
    rules: PlacementRules,
    about: tuple[frozenset[str], tuple[type[Node], ...]],
) -> bool:
    """Tell whether no_refetch_from_above or no_resend_to_below forbids a loop of the list.

    `about`: the tensors on chip, and the kinds of loops that no_refetch_from_above covers.
    """
    chip, turning = about
    for place, node in enumerate(nodes):
        if not isinstance(node, Storage) or node.component != INNER:
            continue
        (tensor,) = node.tensors
        access = einsum.access(tensor)
        once = {v for v in einsum.bounds if access.relevance(v) == "relevant"}
        above = [] if tensor in chip else nodes[:place]
        end = next(
            (i for i, n in enumerate(nodes) if isinstance(n, Storage)
             and n.component == LOW and tensor in n.tensors), len(nodes),
        )  # fmt: skip
        for names, part, kinds in (
            (rules.no_refetch_from_above, above, turning),
            (rules.no_resend_to_below, nodes[place:end], (Temporal,)),
        ):
            loops = {n.rank_variable for n in part if isinstance(n, kinds)}
            if tensor in names and not loops <= once:
                return True
    return False


def disordered(nodes: list[Node], rules: PlacementRules) -> bool:
    """Tell whether the inner memory's holders agree with no list of tensor_order_options."""
    held = [n.tensors[0] for n in nodes if isinstance(n, Storage) and n.component == INNER]

    def agrees(option: tuple[frozenset[str], ...]) -> bool:
        places = [[i for i, group in enumerate(option) if t in group] for t in held]
        listed = [place[0] for place in places if place]
        return listed == sorted(listed)

    return bool(rules.tensor_order_options) and not any(map(agrees, rules.tensor_order_options))


def misshapen(einsum: Einsum, nodes: list[Node], rules: PlacementRules) -> bool:
    """Tell whether tile_shape of the inner memory forbids the tile above its first holder."""
    tile = dict(einsum.bounds)
    for node in nodes:
        if isinstance(node, Temporal | Spatial):
            tile[node.rank_variable] = node.tile_shape
        if isinstance(node, Storage) and node.component == INNER:
            return not all(holds(comparison, tile) for comparison in rules.tile_shape)
    return False


def scattered(nodes: list[Node], flat: FlatArch) -> bool:
    """Tell whether lanes between two memories stand apart, or not in the order of the file, where
    it matters what a Network sends: the search has them together (its scope says so).

    And right above what they feed, the Compute or its lanes, where no memory holds anything below.
    """
    if not any(isinstance(component, Network) for component in flat.components):
        return False
    turning = [n for n in nodes if isinstance(n, Temporal | Spatial)]
    groups: dict[str, list[tuple[str, str]]] = {}
    for lanes, above in lanes_of(flat):
        groups.setdefault(above, []).append((lanes.component, lanes.dim))
    for dims in groups.values():
        found = [i for i, n in enumerate(turning)
                 if isinstance(n, Spatial) and (n.component, n.name) in dims]  # fmt: skip
        order = [dims.index((n.component, n.name)) for i in found
                 if isinstance(n := turning[i], Spatial)]  # fmt: skip
        if order != sorted(order) or (found and found[-1] - found[0] >= len(found)):
            return True
        if found and _loops_above_compute(nodes[nodes.index(turning[found[-1]]) + 1 :]):
            return True
    return False


def _loops_above_compute(nodes: list[Node]) -> bool:
    """Tell whether loops in time come first, and then the Compute or its lanes."""
    after = next(i for i, node in enumerate(nodes) if not isinstance(node, Temporal))
    return after > 0 and isinstance(nodes[after], ComputeNode | Spatial)
