"""Partition the outermost memory over its lanes: first, and alike for all Einsums.

Each lane has an outermost memory of its own with its share of every tensor, and nothing passes from
one lane to another. So an Einsum may be partitioned only over variables that are fully relevant to
the tensors that it exchanges, and all Einsums that use a tensor must partition it alike. What
remains is the mapping of one lane (one_lane.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations, product
from math import prod
from typing import NamedTuple

from tilewright.arch.components.components import Component, Memory, Network, SpatialDim
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.model.conventions import Conventions, conventions_called
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.unfused import shared_tensors
from tilewright.mapper.templates.spatial_choices import (
    bounds_in_effect,
    free_variables,
    lane_choices,
    usage,
)
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import UnsupportedFeature
from tilewright.mapper.workload.workload import Workload

MAX_PARTITIONS = 200  # of a whole workload: each is a search of its own
_INSTEAD = "search without fusion"


@dataclass(frozen=True, slots=True)
class OuterLoop:
    """Spatial loop of one Einsum over lanes of the outermost memory.

    A lane is one instance along a dimension of a fanout; here each lane has an outermost memory of
    its own. `component`, `dim`: the component with the fanout, and its dimension. `variable`: rank
    variable whose values are divided over the lanes. `tile`: values per lane. `lanes`: number of
    lanes used.
    """

    component: str
    dim: str
    variable: str
    tile: int
    lanes: int

    @property
    def common(self) -> tuple[str, str, int, int]:
        """(component, dimension, values per lane, lanes): what all Einsums must agree about.

        The rank variable is left out: Einsums may call it differently.
        """
        return self.component, self.dim, self.tile, self.lanes


OuterLoops = tuple[OuterLoop, ...]
Partition = tuple[OuterLoops, ...]  # per Einsum


class _OuterDim(NamedTuple):
    """A dimension of a fanout at or above the outermost memory, and the component that has it."""

    component: str
    dim: SpatialDim


class _VariableLanes(NamedTuple):
    """A rank variable and the number of lanes over which its values are divided."""

    variable: str
    lanes: int


class _EinsumLoops(NamedTuple):
    """An Einsum and its spatial loops over the lanes of the outermost memory, outermost first."""

    einsum: Einsum
    loops: OuterLoops


def outer_fanouts(flat: FlatArch) -> tuple[Component, ...]:
    """Return the components with a fanout, from the root down to the outermost memory.

    The memory's own fanout counts: each instance of it is a lane with a memory of its own. Empty if
    there are none, or if the path has no memory.
    """
    last = next((i for i, c in enumerate(flat.components) if isinstance(c, Memory)), -1)
    return tuple(c for c in flat.components[: last + 1] if c.own_fanout > 1)


def has_outer_fanouts(request: Request) -> bool:
    """Tell whether the outermost memory has several lanes on the path to some compute."""
    einsums = request.workload.einsums
    return any(outer_fanouts(flat) for e in einsums for flat in request.flat_archs(e))


def partitions_of(request: Request) -> list[Partition]:
    """Return the ways to partition all Einsums over the lanes of the outermost memory.

    A partition has, per Einsum, the spatial loops over these lanes, outermost first. Nothing passes
    from lane to lane, so that lanes may divide only variables fully relevant to the tensors that
    the Einsum exchanges, and all Einsums divide a tensor alike (theory/fusion.md §7). May be empty.
    Raises UnsupportedFeature for more than MAX_PARTITIONS ways, and if the paths of an Einsum
    differ in these lanes, have a Network, or have lanes with a min_usage below the outermost
    memory.
    """
    workload = request.workload
    options = [_einsum_partitions(request, einsum) for einsum in workload.einsums]
    shared = sorted(shared_tensors(workload))
    partitions: list[Partition] = []

    def extend(partition: Partition) -> None:
        if len(partition) == len(options):
            partitions.append(partition)
            if len(partitions) > MAX_PARTITIONS:
                raise UnsupportedFeature(
                    f"more than {MAX_PARTITIONS} ways to partition the outermost memory over its"
                    " lanes",
                    instead=f"narrow their loop_bounds, or {_INSTEAD}",
                )
            return
        for loops in options[len(partition)]:
            if _agrees_with(workload, shared, partition, loops):
                extend((*partition, loops))

    extend(())
    return partitions


def _agrees_with(
    workload: Workload, shared: list[str], partition: Partition, loops: OuterLoops
) -> bool:
    """Tell whether the next Einsum may have `loops` beside those of all Einsums in the partition.

    `shared`: tensors of several Einsums. `partition`: loops of the Einsums before it.
    """
    following = _EinsumLoops(workload.einsums[len(partition)], loops)
    return all(
        _agree(shared, _EinsumLoops(einsum, earlier), following)
        for einsum, earlier in zip(workload.einsums, partition, strict=False)
    )


def _agree(shared: list[str], first: _EinsumLoops, second: _EinsumLoops) -> bool:
    """Tell whether two Einsums use the same lanes, and divide the same ranks of each common tensor.

    `shared`: tensors of several Einsums.
    """
    if [loop.common for loop in first.loops] != [loop.common for loop in second.loops]:
        return False
    for tensor in shared:
        if tensor in first.einsum.tensors and tensor in second.einsum.tensors:
            ranks = [
                [_ranks(einsum, tensor, loop) for loop in loops]
                for einsum, loops in (first, second)
            ]
            if ranks[0] != ranks[1]:
                return False
    return True


def _ranks(einsum: Einsum, tensor: str, loop: OuterLoop) -> list[str]:
    """Return the ranks of a tensor that the loop's variable indexes."""
    forms = einsum.access(tensor).projection
    return [rank for rank, form in forms if loop.variable in dict(form.terms)]


def _einsum_partitions(request: Request, einsum: Einsum) -> list[OuterLoops]:
    """Return the ways to divide one Einsum over the lanes: lists of spatial loops, outermost first.

    Each dimension may have loops over several variables, in any order.
    """
    dims = _outer_dims(request, einsum)
    choices = [_lane_choices(request, einsum, outer.dim) for outer in dims]
    partitions: dict[OuterLoops, None] = {}
    for chosen in product(*choices):
        if not _divides_bounds(einsum, chosen):
            continue
        orders = [list(_loop_orders(lanes)) for lanes in chosen]
        for order in product(*orders):
            partitions[tuple(_outer_loops(einsum, dims, order))] = None
    return list(partitions)


def _outer_dims(request: Request, einsum: Einsum) -> list[_OuterDim]:
    """Return the dimensions of the outer fanouts, which all ways to a compute must share.

    UnsupportedFeature if they differ, beside a Network, or if lanes below have min_usage.
    """
    flats = request.flat_archs(einsum)
    fanouts = {tuple((c.name, c.spatial) for c in outer_fanouts(flat)) for flat in flats}
    if len(fanouts) != 1 or any(_has_unmodelled_parts(flat) for flat in flats):
        raise UnsupportedFeature(
            "lanes partition the outermost memory, beside a Network, lanes below with min_usage,"
            f" or different ones on the ways to the computes of {einsum.name}",
            instead=_INSTEAD,
        )
    return [_OuterDim(name, dim) for name, spatial in fanouts.pop() for dim in spatial]


def _divides_bounds(einsum: Einsum, chosen: tuple[dict[str, int], ...]) -> bool:
    """Tell whether the lanes of each variable, over all dimensions, divide its bound.

    `chosen`: the lanes of each variable, per dimension.
    """
    return all(
        bound % prod(lanes.get(variable, 1) for lanes in chosen) == 0
        for variable, bound in einsum.bounds.items()
    )


def _loop_orders(lanes: Mapping[str, int]) -> Iterator[tuple[_VariableLanes, ...]]:
    """Yield the orders of the loops over one dimension; `lanes`: lanes per variable.

    A variable with one lane has no loop.
    """
    return permutations(_VariableLanes(v, n) for v, n in lanes.items() if n > 1)


def _has_unmodelled_parts(flat: FlatArch) -> bool:
    """Tell whether a path has a Network, or lanes with min_usage below the outermost memory."""
    fanouts = [component.name for component in outer_fanouts(flat)]
    lower_components = [c for c in flat.components if c.name not in fanouts]
    return any(isinstance(c, Network) for c in flat.components) or any(
        dim.min_usage > 0 for c in lower_components for dim in c.spatial
    )


def _lane_choices(request: Request, einsum: Einsum, dim: SpatialDim) -> list[dict[str, int]]:
    """Return the ways to use one dimension: lanes per rank variable.

    They meet the dimension's constraints, and its `min_usage` as far as some choice does; a copy
    Einsum need not.
    """
    conventions = conventions_called(request.options.conventions)
    banned = _undistributable_variables(request.workload, einsum, conventions)
    variables = free_variables(dim, einsum, banned)
    bounds = bounds_in_effect(dim, einsum, conventions, banned)
    choices = lane_choices(dim, einsum, variables, bounds)
    highest = max((usage(dim, prod(lanes)) for lanes in choices), default=0.0)
    lowest = 0.0 if einsum.is_copy else min(dim.min_usage, highest) - 1e-9
    return [
        dict(zip(variables, lanes, strict=True))
        for lanes in choices
        if usage(dim, prod(lanes)) >= lowest
    ]


def _undistributable_variables(
    workload: Workload, einsum: Einsum, conventions: Conventions
) -> frozenset[str]:
    """Return the variables of an Einsum over which lanes may not divide it.

    Nothing passes from one lane to another. So these are the variables that are not fully relevant
    to some tensor that `einsum` exchanges; by default also those not fully relevant to an output,
    of which each lane would have a partial sum.
    """
    written = {access.tensor for user in workload.einsums for access in user.outputs}
    exchanged = written & shared_tensors(workload)
    accesses = [
        access
        for access in einsum.accesses
        if access.tensor in exchanged or (access.output and conventions.complete_reads)
    ]
    return frozenset(
        v for v in einsum.bounds if any(a.relevance(v) != "relevant" for a in accesses)
    )


def _outer_loops(
    einsum: Einsum, dims: list[_OuterDim], order: tuple[tuple[_VariableLanes, ...], ...]
) -> Iterator[OuterLoop]:
    """Yield the loops of all dimensions, outermost first, with their tiles.

    `order`: the (variable, lanes) of each dimension's loops, outermost first.
    """
    tile = dict(einsum.bounds)
    for (component, dim), loops in zip(dims, order, strict=True):
        for variable, lanes in loops:
            tile[variable] //= lanes
            yield OuterLoop(component, dim.name, variable, tile[variable], lanes)
