"""Lanes that deal out the outermost memory itself: chosen first, alike for all Einsums.

Each lane has an outermost memory of its own with its share of every tensor, and nothing passes from
one to another. So an Einsum may be dealt over variables only that are fully relevant to what it
hands over or is handed, and all Einsums that use a tensor must deal it alike. Once the lanes are
chosen, what remains is the mapping of one lane: smaller bounds on a machine without these lanes,
whose energies count for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations, product
from math import prod

from tilewright.arch.components.components import Component, Compute, Memory, Network, SpatialDim
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapping.mapping import Spatial
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.search_errors import UnsupportedFeature
from tilewright.mapper.searches.unfused import shared_tensors
from tilewright.mapper.templates.spatial_choices import (
    bounds_in_effect,
    free_variables,
    lane_choices,
    usage,
)
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.workload import Workload

MAX_PARTITIONS = 200  # choices of such lanes for a whole workload: each is a search of its own
_INSTEAD = "search without fusion"


@dataclass(frozen=True, slots=True)
class OuterLoop:
    """Tiles of `variable`, `tile` values each, side by side in `lanes` lanes of a dimension."""

    component: str
    dim: str
    variable: str
    tile: int
    lanes: int

    @property
    def outside(self) -> tuple[str, str, int, int]:
        """What other Einsums must agree about."""
        return self.component, self.dim, self.tile, self.lanes


OuterLoops = tuple[OuterLoop, ...]
Partition = tuple[OuterLoops, ...]  # per Einsum


def outer_fanouts(flat: FlatArch) -> tuple[Component, ...]:
    """Return the components down to the outermost memory that have lanes."""
    last = next((i for i, c in enumerate(flat.components) if isinstance(c, Memory)), -1)
    return tuple(c for c in flat.components[: last + 1] if c.own_fanout > 1)


def has_outer_fanouts(request: Request) -> bool:
    """Tell whether lanes deal out the outermost memory on the way to any compute."""
    return any(
        outer_fanouts(flat) for e in request.workload.einsums for flat in request.flat_archs(e)
    )


def partitions_of(request: Request) -> list[Partition]:
    """Return the ways to deal all Einsums; UnsupportedFeature if they are too many, or what decides
    about them is not modelled."""
    workload = request.workload
    options = [_einsum_partitions(request, einsum) for einsum in workload.einsums]
    shared = sorted(shared_tensors(workload))
    found: list[Partition] = []

    def extend(done: Partition) -> None:
        if len(done) == len(options):
            found.append(done)
            if len(found) > MAX_PARTITIONS:
                raise UnsupportedFeature(
                    f"more than {MAX_PARTITIONS} ways to deal out the outermost memory over its"
                    " lanes",
                    instead=f"narrow their loop_bounds, or {_INSTEAD}",
                )
            return
        for turns in options[len(done)]:
            if all(
                _agree(workload, shared, (i, one), (len(done), turns)) for i, one in enumerate(done)
            ):
                extend((*done, turns))

    extend(())
    return found


def _agree(
    workload: Workload,
    shared: list[str],
    one: tuple[int, OuterLoops],
    other: tuple[int, OuterLoops],
) -> bool:
    """Tell whether two Einsums deal what both use alike, and the rest in equal parts."""
    if [turn.outside for turn in one[1]] != [turn.outside for turn in other[1]]:
        return False
    for tensor in shared:
        users = [workload.einsums[number] for number, _ in (one, other)]
        if all(tensor in user.tensors for user in users):
            mine, its = (
                [_ranks(user, tensor, turn) for turn in turns]
                for user, (_, turns) in zip(users, (one, other), strict=True)
            )
            if mine != its:
                return False
    return True


def _ranks(einsum: Einsum, tensor: str, turn: OuterLoop) -> list[str]:
    forms = einsum.access(tensor).projection
    return [rank for rank, form in forms if turn.variable in dict(form.terms)]


def _einsum_partitions(request: Request, einsum: Einsum) -> list[OuterLoops]:
    """Return the ways to deal one Einsum: the turns of each dimension in any order."""
    flats = request.flat_archs(einsum)
    tops = {tuple((c.name, c.spatial) for c in outer_fanouts(flat)) for flat in flats}
    if len(tops) != 1 or any(_has_unmodelled_parts(flat) for flat in flats):
        raise UnsupportedFeature(
            "lanes deal out the outermost memory, beside a Network, lanes below with min_usage,"
            f" or different ones on the ways to the computes of {einsum.name}",
            instead=_INSTEAD,
        )
    dims = [(name, dim) for name, spatial in tops.pop() for dim in spatial]
    choices = [_lane_choices(request, einsum, dim) for _, dim in dims]
    found: dict[OuterLoops, None] = {}
    for chosen in product(*choices):
        lanes = {v: prod(one.get(v, 1) for one in chosen) for v in einsum.bounds}
        if all(bound % lanes[v] == 0 for v, bound in einsum.bounds.items()):
            orders = [list(permutations((v, n) for v, n in one.items() if n > 1)) for one in chosen]
            for order in product(*orders):
                found[tuple(_outer_loops(einsum, dims, order))] = None
    return list(found)


def _has_unmodelled_parts(flat: FlatArch) -> bool:
    tops = [component.name for component in outer_fanouts(flat)]
    below = [c for c in flat.components if c.name not in tops]
    return any(isinstance(c, Network) for c in flat.components) or any(
        dim.min_usage > 0 for c in below for dim in c.spatial
    )


def _lane_choices(request: Request, einsum: Einsum, dim: SpatialDim) -> list[dict[str, int]]:
    """Return the lanes of one dimension, per variable."""
    workload = request.workload
    written = {a.tensor for other in workload.einsums for a in other.outputs}
    handed = [a for a in einsum.accesses if a.tensor in written & shared_tensors(workload)]
    banned = frozenset(
        v for v in einsum.bounds if any(a.relevance(v) != "relevant" for a in handed)
    )
    variables = free_variables(dim, einsum, banned)
    conventions = conventions_called(request.options.conventions)
    bounds = bounds_in_effect(dim, einsum, conventions, banned)
    found = lane_choices(dim, einsum, variables, bounds)
    most = max((usage(dim, prod(one)) for one in found), default=0.0)
    least = 0.0 if einsum.is_copy else min(dim.min_usage, most) - 1e-9
    return [
        dict(zip(variables, one, strict=True)) for one in found if usage(dim, prod(one)) >= least
    ]


def _outer_loops(
    einsum: Einsum,
    dims: list[tuple[str, SpatialDim]],
    order: tuple[tuple[tuple[str, int], ...], ...],
) -> Iterator[OuterLoop]:
    tile = dict(einsum.bounds)
    for (component, dim), turns in zip(dims, order, strict=True):
        for variable, lanes in turns:
            tile[variable] //= lanes
            yield OuterLoop(component, dim.name, variable, tile[variable], lanes)


@dataclass(frozen=True, slots=True)
class PartitionedRequest(Request):
    """What is left of the request `whole` for each lane, when `deal` is chosen."""

    whole: Request | None = None
    partition: Partition = ()

    def flat_archs(self, einsum: Einsum) -> tuple[FlatArch, ...]:
        """Return the paths of one lane; their energies and leakage are those of all."""
        assert self.whole is not None
        number = [e.name for e in self.workload.einsums].index(einsum.name)
        own = self.whole.workload.einsums[number]
        conventions = self.options.conventions
        flats = self.whole.flat_archs(own)
        return tuple(_one_lane(flat, self.partition[number], conventions) for flat in flats)

    def whole_mapping(self, mapping: LoopNest) -> LoopNest:
        """Put the lanes on top."""
        assert self.whole is not None
        names = [einsum.name for einsum in self.workload.einsums]
        tops = []
        for place, turn in enumerate(self.partition[0]):
            pairs = zip(names, (turns[place].variable for turns in self.partition), strict=True)
            other = tuple(pair for pair in pairs if pair[1] != turn.variable)
            tops.append(Spatial(turn.variable, turn.tile, turn.dim, turn.component, other))
        return self.whole.whole_mapping(LoopNest((*tops, *mapping.nodes)))

    @property
    def scoring_request(self) -> Request:
        """What the whole workload was asked for."""
        assert self.whole is not None
        return self.whole.scoring_request


def partitioned(request: Request, deal: Partition) -> PartitionedRequest:
    """Return the request of one lane."""
    einsums = [
        replace(einsum, bounds=_remaining_bounds(einsum.bounds, turns))
        for einsum, turns in zip(request.workload.einsums, deal, strict=True)
    ]
    work = replace(request.workload, einsums=tuple(einsums))
    return PartitionedRequest(
        request.arch, work, request.options, request.deadline, whole=request, partition=deal
    )


def _remaining_bounds(bounds: Mapping[str, int], turns: OuterLoops) -> dict[str, int]:
    left = dict(bounds)
    for turn in turns:
        left[turn.variable] = turn.tile
    return left


def _one_lane(flat: FlatArch, turns: OuterLoops, conventions: str) -> FlatArch:
    """Return a path without the lanes above; what it costs is what all lanes do."""
    tops, rules = outer_fanouts(flat), conventions_called(conventions)
    lanes = prod(turn.lanes for turn in turns)
    used: dict[tuple[str, str], int] = {}
    for turn in turns:
        used[turn.component, turn.dim] = used.get((turn.component, turn.dim), 1) * turn.lanes

    names = {top.name for top in tops}

    def single(component: Component) -> Component:
        above = [one for one in flat.path_to(component.name) if one.name in names]
        own = () if component.name in names else component.spatial
        bare = replace(component, spatial=own)
        share = rules.instances(component) / rules.instances(bare)
        for top in above:
            for dim in top.spatial:
                if dim.power_gateable:
                    share *= rules.gate(dim, used.get((top.name, dim.name), 1))
        actions = tuple(replace(a, energy=a.energy * lanes) for a in component.actions)
        return replace(bare, actions=actions, leak_power=component.leak_power * share)

    parts = {c.name: single(c) for c in (*flat.components, *flat.beside)}
    compute = parts[flat.compute.name]
    assert isinstance(compute, Compute)
    return replace(
        flat,
        compute=compute,
        components=tuple(parts[c.name] for c in flat.components),
        beside=tuple(parts[c.name] for c in flat.beside),
    )
