"""Energy and latency of mappings by the slow walk, and all mappings of small problems so scored.

The walk of tests/oracles/walk.py visits every iteration and counts what moves. Its
counts are turned into joule and second here from the numbers of the components. Whether a mapping
fits is the model's word (test_fused_walk.py checks that one).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise, permutations, product
from math import prod
from typing import Any

import walk
from figures import Make, Row, unbeaten
from search_cases import _all_lanes, _mappings, keep_well_used
from search_rules import Lanes, breaks_rule

from tilewright.arch.components.components import Compute, Container, Memory, Toll
from tilewright.arch.flattening.flat import FlatArch, instances
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Node, Spatial, Storage, Temporal
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.result import EinsumMapping
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping


def levels_of(flat: FlatArch) -> list[Any]:
    """Describe a path to the walk."""
    levels = []
    for component in flat.components:
        dims = tuple((d.name, d.fanout, tuple(sorted(d.may_reuse))) for d in component.spatial)
        if isinstance(component, Memory | Compute):
            kind = "Memory" if isinstance(component, Memory) else "Compute"
            skip = component.skip_initial_output_write
            levels.append(walk.Level(component.name, kind, skip=skip, fanout=dims))
        elif isinstance(component, Toll):
            (direction,) = set(component.direction.values())
            levels.append(walk.Level(component.name, "Toll", direction, fanout=dims))
        else:
            assert isinstance(component, Container)
            levels.append(walk.Level(component.name, "Container", fanout=dims))
    return levels


def walked(einsum: Einsum, flat: FlatArch, nodes: tuple[Node, ...]) -> tuple[float, float]:
    """Return joule and second of one Einsum on its path, leakage as in the default conventions."""
    single = [
        Storage((t,), n.component) if isinstance(n, Storage) else n
        for n in nodes
        for t in (n.tensors if isinstance(n, Storage) else ("",))
    ]
    single = _tolls_below_lanes(flat, single)
    counter = walk.Counter(walk.Case("", {}, levels_of(flat), single), einsum)
    counter.run()
    energy = latency = 0.0
    for component in flat.components:
        calls: dict[str, float] = {action.name: 0.0 for action in component.actions}
        if isinstance(component, Compute):
            energy += counter.operations * component.action("compute").energy
            calls["compute"] = counter.steps * float(component.actions_scale)
        for name, counts in (("read", counter.reads), ("write", counter.writes)):
            if name not in calls:
                continue
            action = component.action(name)
            per_unit: dict[Any, float] = defaultdict(float)
            zeros_too: dict[Any, float] = defaultdict(float)  # the time below a fanout has them
            for (holder, tensor), units in counts.items():
                if holder != component.name:
                    continue
                share = float(action.values_per_action[tensor]) / float(component.actions_scale)
                zeros = counter.zeros[name][holder, tensor] if below_fanout(flat, holder) else {}
                for unit, values in units.items():
                    per_unit[unit] += values / share
                    zeros_too[unit] += (values + zeros.get(unit, 0)) / share
            energy += sum(per_unit.values()) * action.energy
            calls[name] = max(zeros_too.values(), default=0.0)
        if component.latency is not None:
            latency = max(latency, component.latency(calls))
    times = einsum.n_instances
    return times * (energy + leaked(einsum, flat, single) * latency), times * latency


def below_fanout(flat: FlatArch, name: str) -> bool:
    """Tell whether a component has a fanout, or stands below one."""
    above = [component.name for component in flat.components].index(name) + 1
    return any(component.spatial for component in flat.components[:above])


def _tolls_below_lanes(flat: FlatArch, nodes: list[Any]) -> list[Any]:
    """Write a Toll below the lanes that follow it and are above it in the hierarchy.

    The walk goes by the order of the nodes; the mapping's order of the two means nothing.
    """
    level = {component.name: i for i, component in enumerate(flat.components)}
    tolls = {c.name for c in flat.components if isinstance(c, Toll)}
    found = list(nodes)
    for place in range(len(found) - 2, -1, -1):
        at = place
        while (
            isinstance(found[at], Storage)
            and found[at].component in tolls
            and isinstance(found[at + 1], Spatial)
            and level[found[at + 1].component] < level[found[at].component]
        ):
            found[at], found[at + 1] = found[at + 1], found[at]
            at += 1
    return found


def leaked(einsum: Einsum, flat: FlatArch, nodes: list[Any]) -> float:
    """Return the watts that leak: lanes of gateable dimensions that are not used are off."""
    shape = dict(einsum.bounds)
    used: dict[tuple[str, str], int] = defaultdict(lambda: 1)
    for node in nodes:
        if isinstance(node, Temporal | Spatial):
            lanes = -(-shape[node.rank_variable] // node.tile_shape)
            shape[node.rank_variable] = node.tile_shape
            if isinstance(node, Spatial):
                used[node.component, node.name] *= lanes
    watts = 0.0
    for component in (*flat.components, *flat.beside):
        share = prod(
            used[upper.name, dim.name] / dim.fanout
            for upper in flat.path_to(component.name)
            for dim in upper.spatial
            if dim.power_gateable
        )
        watts += component.leak_power * instances(component) * share
    return watts


def all_walked(space: Mapspace, limit: int) -> list[EinsumMapping] | None:
    """Walk every mapping that the rules allow and that fits; None if there are too many.

    All loops in all gaps, in every order; with uneven loops where the mapspace has some.
    """
    judge = MappingScorer(space)
    found: list[EinsumMapping] = []
    looked = 0
    for template in space.templates:
        if template.adjacent:
            continue  # the same mappings as those of its plain template
        legal: list[tuple[EinsumMapping, Lanes]] = []
        for lanes, mapping in _candidates(space, template):
            looked += 1
            if looked > limit:
                return None
            if breaks_rule(space, template, mapping):
                continue
            try:
                judge.costed(mapping)
            except InfeasibleMapping:
                continue
            energy, latency = walked(space.einsum, space.flat, mapping.nodes)
            legal.append((EinsumMapping(mapping, energy, latency), lanes))
        found += keep_well_used(space, legal)
    return found


def of_the_walk(make: Make, seed: int, limit: int) -> list[Row] | None:
    """Return the rows of all_walked."""
    found = all_walked(make(seed), limit)
    return None if found is None else unbeaten((one.energy, one.latency) for one in found)


def _candidates(space: Mapspace, template: Template) -> Iterator[tuple[Lanes, Mapping]]:
    if space.uneven:
        yield from uneven_mappings(space, template)
        return
    for lanes in _all_lanes(space.einsum, space.problem.components):
        for mapping in _mappings(space, template, lanes):
            yield lanes, mapping


Place = tuple[str, str] | int  # a dimension of lanes, or a gap of temporal loops


def uneven_mappings(space: Mapspace, template: Template) -> Iterator[tuple[Lanes, Mapping]]:
    """Yield every chain of tiles with one uneven loop per variable that may be, in every gap."""
    inner = [h for h in template.holders if not h.backing]
    places = _places(space, [space.problem.level(h.component) for h in inner])
    chains = [
        list(_chains(bound, len(places), int(v in space.uneven)))
        for v, bound in space.einsum.bounds.items()
    ]
    for chosen in product(*chains):
        lanes = _lanes(space, places, chosen)
        if lanes is None:
            continue
        loops = []
        for gap in range(len(inner) + 1):
            at = places.index(gap)
            loops.append(
                [
                    (v, chain[at + 1])
                    for v, chain in zip(space.einsum.bounds, chosen, strict=True)
                    if chain[at] != chain[at + 1]
                ]
            )
        for orders in product(*(permutations(gap) for gap in loops)):
            yield lanes, _built(space, template, (places, chosen), orders)


def _places(space: Mapspace, depths: list[int]) -> list[Place]:
    """Return gaps and dimensions from the outermost to the innermost."""
    places: list[Place] = []
    dealt = -1
    for gap, depth in enumerate([*depths, len(space.problem.components) - 1]):
        places.append(gap)
        for level in range(dealt + 1, depth + 1):
            component = space.problem.components[level]
            places += [(component.name, dim.name) for dim in component.spatial]
        dealt = max(dealt, depth)
    return places


def _chains(tile: int, left: int, odd: int) -> Iterator[tuple[int, ...]]:
    """Yield tiles from `tile` down to 1 over `left` places, at most `odd` of them uneven."""
    if left == 0:
        if tile == 1:
            yield (1,)
        return
    for below in range(1, tile + 1):
        cost = int(tile % below != 0)
        if cost <= odd:
            for rest in _chains(below, left - 1, odd - cost):
                yield (tile, *rest)


def _lanes(
    space: Mapspace, places: list[Place], chains: tuple[tuple[int, ...], ...]
) -> Lanes | None:
    fanouts = {(c.name, d.name): d.fanout for c in space.problem.components for d in c.spatial}
    lanes: Lanes = {}
    for at, place in enumerate(places):
        if isinstance(place, int):
            continue
        lanes[place] = {
            v: -(-chain[at] // chain[at + 1])
            for v, chain in zip(space.einsum.bounds, chains, strict=True)
        }
        if prod(lanes[place].values()) > fanouts[place]:
            return None
    return lanes


def _built(
    space: Mapspace, template: Template, tiles: tuple[list[Place], Any], orders: Any
) -> Mapping:
    places, chains = tiles
    inner = [h for h in template.holders if not h.backing]
    nodes: list[Node] = [Storage((h.tensor,), h.component) for h in template.holders if h.backing]
    for at, place in enumerate(places):
        if isinstance(place, int):
            if place:
                nodes.append(Storage((inner[place - 1].tensor,), inner[place - 1].component))
            nodes += [Temporal(v, tile) for v, tile in orders[place]]
            continue
        for v, chain in zip(space.einsum.bounds, chains, strict=True):
            if chain[at] != chain[at + 1]:
                nodes.append(Spatial(v, chain[at + 1], place[1], place[0]))
    nodes.append(ComputeNode(space.einsum.name, space.problem.components[-1].name))
    assert all(a >= b for chain in chains for a, b in pairwise(chain))
    return Mapping(tuple(nodes))
