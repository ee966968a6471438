"""Find the slots of a template at which the hops of networks are charged.

With the lanes of every dimension below a network fixed, the values that a spatial loop sends on it
are a function of the tile right below the loop (model/traffic: network.py, messages.py): the
values of the tile, times a number that depends on the lanes alone, times the iterations above the
loop. Dimensions with several choices are enumerated outside the program, as charge_sites.py does
for other counts; open_network_hops.py charges them as each choice is made, where that is exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import NamedTuple

from tilewright.arch.components.components import Component, Network, SpatialDim
from tilewright.mapper.model.traffic.network import unicast_on_mesh
from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.program.charge_sites import ChargeSite, CostTerm
from tilewright.mapper.searches.program.edge_traffic import whole_kind
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem, UsedDimension
from tilewright.mapper.templates.slots import Fill, Slot, TollCrossing
from tilewright.mapper.templates.spatial_choices import Lanes


@dataclass(frozen=True, slots=True)
class ChargedLeg:
    """The path of a tensor over a network, between two of its holders (or to the Compute).

    `level`: place of the network on the path of components. `dims`: dimensions below it over which
    the tensor fans out, outermost first. `source`: level of the upper holder. `top`: slot below
    which the leg starts; -1 for the first slot.
    """

    tensor: str
    level: int
    dims: tuple[UsedDimension, ...]
    source: int
    top: int


@dataclass(frozen=True, slots=True)
class HopLoop:
    """One spatial loop over which a tensor travels on a network.

    `slot`, `dim`: slot and name of its dimension. `lanes`: its instances. `stride`: links between
    two neighbouring ones. `served`: where the source itself has several instances along the
    dimension, how many lanes each of these serves, else None. `shared`: all lanes take the same
    values. `after`: pairs (variable, lanes) of the loops of the same slot below it. A slot is a
    place of a template (a mapping without loops) for loops, a fill or a reserved tile.
    """

    slot: int
    dim: str
    lanes: int
    stride: int
    served: int | None
    shared: bool
    after: Lanes

    @property
    def iterations_share(self) -> float:
        """Iterations above the loop, as a share of the iterations above the tile of one lane.

        1 / (its lanes times those of the loops of the same slot below it).
        """
        return 1 / (self.lanes * prod(n for _, n in self.after))


class HopCounts(NamedTuple):
    """What one round of a spatial loop costs on a network, per value of a lane's tile.

    `links`: links crossed per value of the tile of one lane, summed over the lanes. `path`: links
    of the longest way. `busiest`: how many lanes' tiles the busiest link carries.
    """

    links: float
    path: int
    busiest: float


class HopPrice(NamedTuple):
    """The price of hops of a tensor on a network.

    `actions`: hop actions per value and link; `joules`: of each action.
    """

    actions: float
    joules: float


def network_charge_sites(
    problem: Problem, fields: LabelFields, template: Template, slots: Sequence[Slot]
) -> Iterator[ChargeSite]:
    """Yield where the hops of all networks enter the labels, for dimensions with fixed lanes.

    A site with `blocking_slots` names dimensions whose lanes must be fixed first. Charged are
    energy, the traffic of the busiest links, and once the longest way. A label is the tuple of
    costs of a partial mapping; a lane is one instance along a dimension of a fanout.
    """
    exact = problem.conventions.links_carry_all_rounds
    paths: dict[int, int] = {}
    for leg in network_legs(problem, template, slots):
        blocking = [dim.slot for dim in leg.dims if len(dim.loops.choices) > 1]
        if blocking:
            yield ChargeSite(blocking_slots=tuple(blocking))
            continue
        loops = [
            loop for dim in leg.dims for loop in hop_loops(problem, leg, dim, dim.loops.choices[0])
        ]
        network = network_at(problem, leg.level)
        path = sum(hop_counts(network, loop, exact).path for loop in loops)
        paths[leg.level] = max(paths.get(leg.level, 0), path)
        yield from _leg_charges(problem, fields, leg, loops)
    for level, path in paths.items():
        if path and level in fields.longest_paths:
            field, tensor = fields.longest_paths[level], problem.einsum.tensors[0]
            yield ChargeSite(len(slots), (CostTerm(field, tensor, "once", float(path)),))


def network_legs(
    problem: Problem, template: Template, slots: Sequence[Slot]
) -> Iterator[ChargedLeg]:
    """Yield the ways of all tensors that cross a network between two of their holders.

    `template`: a mapping without its loops; `slots`: its places for loops, fills and reserved
    tiles, outermost first. The last way of a tensor ends at the Compute. If a way crosses several
    networks, the outermost one counts.
    """
    networks = [i for i, c in enumerate(problem.components) if isinstance(c, Network)]
    dims = problem.used_dimensions(slots)
    tops = _holder_slots(problem, slots)
    for tensor, upper, lower in _hops_between_holders(problem, template):
        crossed = next((level for level in networks if upper < level < lower), None)
        if crossed is None:
            continue
        dims_below = tuple(dim for dim in dims if crossed <= dim.level <= lower)
        yield ChargedLeg(tensor, crossed, dims_below, upper, tops.get((tensor, upper), -1))


def _holder_slots(problem: Problem, slots: Sequence[Slot]) -> dict[tuple[str, int], int]:
    """Return the slot of each holder and Toll, by (tensor, level of its component)."""
    return {
        (slot.tensor, problem.level(slot.component)): i
        for i, slot in enumerate(slots)
        if isinstance(slot, Fill | TollCrossing)
    }


def _hops_between_holders(problem: Problem, template: Template) -> Iterator[tuple[str, int, int]]:
    """Yield (tensor, upper level, lower level) for each two successive holders, or the Compute."""
    for tensor in problem.einsum.tensors:
        holders = (h for h in (*template.holders, *template.tolls) if h.tensor == tensor)
        levels = sorted(problem.level(h.component) for h in holders)
        for upper, lower in pairwise((*levels, len(problem.components) - 1)):
            yield tensor, upper, lower


def hop_loops(
    problem: Problem, leg: ChargedLeg, dimension: UsedDimension, choice: Sequence[int]
) -> list[HopLoop]:
    """Return the spatial loops of one dimension for one choice of lanes, outermost first.

    `leg`: way of the tensor over the network; `choice`: lanes of each variable. A variable with
    one lane makes no loop. A lane is one instance along a dimension of a fanout.
    """
    slot, spatial_loops, _ = dimension
    access = problem.einsum.access(leg.tensor)
    lanes = dict(zip(spatial_loops.variables, choice, strict=True))
    dim = problem.dimension(spatial_loops)
    served = _instances_per_place(problem.components[leg.source], dim)
    loops: list[HopLoop] = []
    inner_lanes: Lanes = ()
    stride = 1
    for variable in reversed([v for v in spatial_loops.variables if lanes[v] > 1]):
        shared = access.relevance(variable) == "irrelevant"
        if problem.conventions.links_carry_all_rounds:
            shared = shared and leg.tensor in dim.may_reuse
        number = lanes[variable]
        loops.append(HopLoop(slot, spatial_loops.name, number, stride, served, shared, inner_lanes))
        inner_lanes = ((variable, number), *inner_lanes)
        stride *= number
    return loops[::-1]


def _instances_per_place(source: Component, dim: SpatialDim) -> int | None:
    """Return how many lanes of a dimension one instance of a source spread over it serves.

    None if the source is not spread over the dimension.
    """
    places_along = [
        array_dim.fanout for array_dim in source.physical_spatial if array_dim.name == dim.name
    ]
    return next((dim.fanout // places for places in places_along if places > 1), None)


def hop_counts(network: Network, loop: HopLoop, exact: bool) -> HopCounts:
    """Return what one round of a spatial loop costs on a network, in links and values.

    `exact`: as in the default conventions; else as accelforge counts, for which the longest way of
    a mesh is lanes * stride instead of (lanes - 1) * stride.
    """
    if network.topology == "all_to_all":
        return HopCounts(loop.lanes - 1, 1, 1 if loop.shared else loop.lanes - 1)
    path = (loop.lanes - 1 if exact else loop.lanes) * loop.stride
    if loop.shared:
        return HopCounts((loop.lanes - 1) * loop.stride, path, 1)
    if loop.served is None:
        return HopCounts(loop.lanes * (loop.lanes - 1) / 2 * loop.stride, path, loop.lanes - 1)
    if not exact:
        links, farthest, busiest = unicast_on_mesh(loop.lanes, loop.stride, loop.served)
        return HopCounts(float(links), int(farthest), float(busiest))
    return _hops_from_places(loop, loop.served)


def _hops_from_places(loop: HopLoop, served: int) -> HopCounts:
    """Return the counts if each lane takes its own values from the nearest source instance.

    `served`: lanes per source instance.
    """
    positions = [number * loop.stride for number in range(loop.lanes)]
    distances = [position % served if loop.stride < served else 0 for position in positions]
    pairs = zip(positions, distances, strict=True)
    senders = Counter(position // served for position, distance in pairs if distance)
    return HopCounts(sum(distances), max(distances), max(senders.values(), default=0))


def network_at(problem: Problem, level: int) -> Network:
    """Return the network at a level of the path; the component there must be a Network."""
    network = problem.components[level]
    assert isinstance(network, Network)
    return network


def hop_charge(problem: Problem, leg: ChargedLeg) -> HopPrice | None:
    """Return hop actions per value and link, and joules per action, for a leg's tensor.

    None if the network has no action `hop`.
    """
    network = network_at(problem, leg.level)
    action = next((a for a in network.actions if a.name == "hop"), None)
    if action is None:
        return None
    per_value = Fraction(network.actions_scale) / Fraction(action.values_per_action[leg.tensor])
    return HopPrice(float(per_value), action.energy)


def _leg_charges(
    problem: Problem, fields: LabelFields, leg: ChargedLeg, loops: Sequence[HopLoop]
) -> Iterator[ChargeSite]:
    """Yield, per loop of a leg, where its hops and the traffic of its busiest link are charged."""
    network, price = network_at(problem, leg.level), hop_charge(problem, leg)
    if price is None:
        return
    exact = problem.conventions.links_carry_all_rounds
    kind = whole_kind(problem, leg.tensor)
    outer_lanes = 1
    for number, loop in enumerate(loops):
        counts = hop_counts(network, loop, exact)
        hops = counts.links * price.actions * loop.iterations_share
        traffic = counts.busiest * price.actions
        terms = [CostTerm(0, leg.tensor, kind, hops * price.joules, loop.after)]
        field = fields.links.get((leg.level, loop.dim))
        if field is not None and exact:
            factor = traffic * loop.iterations_share / outer_lanes
            terms.append(CostTerm(field, leg.tensor, kind, factor, loop.after))
        elif field is not None and all(outer.dim == loops[0].dim for outer in loops[:number]):
            per_round = traffic / float(network.actions_scale)
            factor = per_round if loop.dim == loops[0].dim else 0.0
            terms.append(CostTerm(field, leg.tensor, "tile", factor, loop.after))
        outer_lanes *= loop.lanes
        yield ChargeSite(max(loop.slot, leg.top) + 1, tuple(terms))
