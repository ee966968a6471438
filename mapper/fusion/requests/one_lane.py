"""Reduce a request to one lane of the outermost memory: smaller bounds, energies of all lanes.

The lanes are alike (outer_partition.py), so that the mapping of one is that of all, below the
spatial loops over the lanes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from tilewright.arch.components.components import Component, Compute
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fusion.requests.derived_request import DerivedRequest
from tilewright.mapper.fusion.requests.outer_partition import OuterLoops, Partition, outer_fanouts
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapping.mapping import Spatial
from tilewright.mapper.model.conventions import Conventions, conventions_called
from tilewright.mapper.searches.request import Request
from tilewright.mapper.workload.einsum import Einsum


@dataclass(frozen=True, slots=True)
class PartitionedRequest(DerivedRequest):
    """Request for the mapping of one lane of the outermost memory, all lanes being alike.

    `partition`: the spatial loops over the lanes, per Einsum. The bounds of the workload are those
    of one lane; energies and leakage are those of all lanes.
    """

    partition: Partition = ()

    def flat_archs(self, einsum: Einsum) -> tuple[FlatArch, ...]:
        """Return the paths of an Einsum, one per compute, without the outermost memory's lanes.

        Energy per action and leaking power are multiplied so that one lane costs what all used ones
        cost.
        """
        number = [e.name for e in self.workload.einsums].index(einsum.name)
        flats = self.source.flat_archs(self.source.workload.einsums[number])
        rules = conventions_called(self.options.conventions)
        return tuple(_one_lane(flat, self.partition[number], rules) for flat in flats)

    def whole_mapping(self, mapping: LoopNest) -> LoopNest:
        """Return the mapping of all lanes: the partition's spatial loops above that of one lane."""
        names = [einsum.name for einsum in self.workload.einsums]
        top = []
        for place, loop in enumerate(self.partition[0]):
            variables = (loops[place].variable for loops in self.partition)
            renamed = tuple(p for p in zip(names, variables, strict=True) if p[1] != loop.variable)
            top.append(Spatial(loop.variable, loop.tile, loop.dim, loop.component, renamed))
        return self.source.whole_mapping(LoopNest((*top, *mapping.nodes)))


def partitioned(request: Request, partition: Partition) -> PartitionedRequest:
    """Return the request for the mapping of one lane of a partition.

    `partition`: per Einsum, its spatial loops over the lanes of the outermost memory. In the new
    request the bound of each divided variable is its values per lane.
    """
    einsums = [
        replace(einsum, bounds=_remaining_bounds(einsum.bounds, loops))
        for einsum, loops in zip(request.workload.einsums, partition, strict=True)
    ]
    workload = replace(request.workload, einsums=tuple(einsums))
    return PartitionedRequest(
        request.arch,
        workload,
        request.options,
        request.deadline,
        whole_request=request,
        partition=partition,
    )


def _remaining_bounds(bounds: Mapping[str, int], loops: OuterLoops) -> dict[str, int]:
    """Return the bounds of the rank variables in one lane: a loop's tile where there is a loop."""
    remaining = dict(bounds)
    for loop in loops:
        remaining[loop.variable] = loop.tile
    return remaining


@dataclass(frozen=True, slots=True)
class _LaneReduction:
    """Makes one component stand for its instances in all outer lanes that are used.

    Outer lanes are those of the outermost memory and above. `flat`: the path. `fanouts`: names of
    the components with outer lanes. `used_lanes`: lanes per (component, dimension).
    """

    flat: FlatArch
    fanouts: frozenset[str]
    used_lanes: Mapping[tuple[str, str], int]
    conventions: Conventions

    def component(self, component: Component) -> Component:
        """Return a component without outer lanes, with the energy and leakage of all of them."""
        lanes = prod(self.used_lanes.values())
        spatial = () if component.name in self.fanouts else component.spatial
        bare = replace(component, spatial=spatial)
        leaking = self.conventions.instances(component) / self.conventions.instances(bare)
        for fanout in self.flat.path_to(component.name):
            if fanout.name in self.fanouts:
                leaking = self._gated(fanout, leaking)
        actions = tuple(replace(a, energy=a.energy * lanes) for a in component.actions)
        return replace(bare, actions=actions, leak_power=component.leak_power * leaking)

    def _gated(self, fanout: Component, leaking: float) -> float:
        """Return `leaking` times the share of instances that leak if unused lanes are switched off.

        `fanout`: a component with outer lanes, of which dimensions may be `power_gateable`.
        """
        for dim in fanout.spatial:
            if dim.power_gateable:
                lanes = self.used_lanes.get((fanout.name, dim.name), 1)
                leaking *= self.conventions.gate(dim, lanes)
        return leaking


def _one_lane(flat: FlatArch, loops: OuterLoops, conventions: Conventions) -> FlatArch:
    """Return a path without its outer lanes; energies and leakage are those of all used lanes."""
    fanouts = frozenset(fanout.name for fanout in outer_fanouts(flat))
    used: dict[tuple[str, str], int] = {}
    for loop in loops:
        used[loop.component, loop.dim] = used.get((loop.component, loop.dim), 1) * loop.lanes
    reduction = _LaneReduction(flat, fanouts, used, conventions)
    components = {c.name: reduction.component(c) for c in (*flat.components, *flat.beside)}
    compute = components[flat.compute.name]
    assert isinstance(compute, Compute)
    return replace(
        flat,
        compute=compute,
        components=tuple(components[c.name] for c in flat.components),
        beside=tuple(components[c.name] for c in flat.beside),
    )
