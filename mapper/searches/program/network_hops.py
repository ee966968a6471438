"""Where in the program the hops of networks are charged.

With the lanes of every dimension below a network fixed, what a spatial loop sends on it is a
function of the tile right below the loop (mapper/model/network.py and messages.py): the tile's
values, times a number that depends on the lanes alone, times the iterations above. Dimensions with
several choices are enumerated outside the program, as charge_sites.py does for other counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import prod

from tilewright.arch.components.components import Component, Network, SpatialDim
from tilewright.mapper.model.network import unicast_on_mesh
from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.program.charge_sites import ChargeSite, CostTerm
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Fill, Slot, TollCrossing
from tilewright.mapper.templates.spatial_choices import Lanes, SpatialLoops


@dataclass(frozen=True, slots=True)
class NetworkLeg:
    """The way of a tensor over a network; `fans`: slots of the dimensions that it fans out on.

    `source`: level of the upper end; `top`: slot below which it stands.
    """

    tensor: str
    level: int
    fans: tuple[int, ...]
    source: int
    top: int


@dataclass(frozen=True, slots=True)
class HopLoop:
    """One spatial loop of a leg. `after`: lanes of its slot's loops below it; `stride`: instances
    below it on its dimension; `served`: instances of one place of a distributed source, or None."""

    slot: int
    dim: str
    lanes: int
    stride: int
    served: int | None
    shared: bool
    after: Lanes

    @property
    def iterations_share(self) -> float:
        """The share of the iterations of its tile that are iterations above the loop."""
        return 1 / (self.lanes * prod(n for _, n in self.after))


def network_charge_sites(
    problem: Problem, fields: LabelFields, template: Template, slots: Sequence[Slot]
) -> Iterator[ChargeSite]:
    """Yield where to charge the hops of all networks; blocked while lanes are not fixed."""
    ways: dict[int, int] = {}
    for leg in network_legs(problem, template, slots):
        open_ = [i for i in leg.fans if len(_choices(slots[i])) > 1]
        if open_:
            yield ChargeSite(blocking_slots=tuple(open_))
            continue
        loops = _loops(problem, leg, slots)
        network = network_at(problem, leg.level)
        way = sum(
            hop_counts(network, loop, problem.conventions.links_carry_all_rounds)[1]
            for loop in loops
        )
        ways[leg.level] = max(ways.get(leg.level, 0), way)
        yield from _charges(problem, fields, leg, loops)
    for level, way in ways.items():
        if way and level in fields.longest_paths:
            add = CostTerm(
                fields.longest_paths[level], problem.einsum.tensors[0], "once", float(way)
            )
            yield ChargeSite(len(slots), (add,))


def _choices(slot: Slot) -> tuple[tuple[int, ...], ...]:
    assert isinstance(slot, SpatialLoops)
    return slot.choices


def network_legs(
    problem: Problem, template: Template, slots: Sequence[Slot]
) -> Iterator[NetworkLeg]:
    """Enumerate the ways between ends of a tensor that cross a network: the first one counts."""
    networks = [i for i, c in enumerate(problem.components) if isinstance(c, Network)]
    fans = [
        (i, problem.level(slot.component))
        for i, slot in enumerate(slots)
        if isinstance(slot, SpatialLoops) and any(prod(choice) > 1 for choice in slot.choices)
    ]
    tops = {
        (slot.tensor, problem.level(slot.component)): i
        for i, slot in enumerate(slots)
        if isinstance(slot, Fill | TollCrossing)
    }
    for tensor in problem.einsum.tensors:
        held = (h for h in (*template.holders, *template.tolls) if h.tensor == tensor)
        ends = sorted(problem.level(h.component) for h in held)
        for upper, lower in pairwise((*ends, len(problem.components) - 1)):
            crossed = [level for level in networks if upper < level < lower]
            if crossed:
                below = [i for i, level in fans if crossed[0] <= level <= lower]
                top = tops.get((tensor, upper), -1)
                yield NetworkLeg(tensor, crossed[0], tuple(below), upper, top)


def _loops(problem: Problem, leg: NetworkLeg, slots: Sequence[Slot]) -> list[HopLoop]:
    """Return the spatial loops of a leg with fixed lanes, outermost first."""
    found: list[HopLoop] = []
    for slot in leg.fans:
        fan = slots[slot]
        assert isinstance(fan, SpatialLoops)
        found += hop_loops(problem, leg, (slot, fan), fan.choices[0])
    return found


def hop_loops(
    problem: Problem, leg: NetworkLeg, at: tuple[int, SpatialLoops], choice: Sequence[int]
) -> list[HopLoop]:
    """Return the spatial loops of one dimension of a leg, outermost first; `at`: its slot."""
    slot, fan = at
    access = problem.einsum.access(leg.tensor)
    lanes = dict(zip(fan.variables, choice, strict=True))
    component = problem.components[problem.level(fan.component)]
    dim = next(dim for dim in component.spatial if dim.name == fan.name)
    served = _served(problem.components[leg.source], dim)
    found: list[HopLoop] = []
    after: Lanes = ()
    stride = 1
    for variable in reversed([v for v in fan.variables if lanes[v] > 1]):
        shared = access.relevance(variable) == "irrelevant"
        if problem.conventions.links_carry_all_rounds:
            shared = shared and leg.tensor in dim.may_reuse
        found.append(HopLoop(slot, fan.name, lanes[variable], stride, served, shared, after))
        after = ((variable, lanes[variable]), *after)
        stride *= lanes[variable]
    return found[::-1]


def _served(source: Component, dim: SpatialDim) -> int | None:
    """Return how many instances of a dimension one place of a distributed source serves."""
    along = [own.fanout for own in source.physical_spatial if own.name == dim.name]
    return next((dim.fanout // places for places in along if places > 1), None)


def hop_counts(network: Network, loop: HopLoop, exact: bool) -> tuple[float, int, float]:
    """Return what one round of a loop costs: links that each value of its tile takes, links of the
    longest way, and values on the busiest link. `exact`: as in model/messages.py."""
    if network.topology == "all_to_all":
        return loop.lanes - 1, 1, 1 if loop.shared else loop.lanes - 1
    way = (loop.lanes - 1 if exact else loop.lanes) * loop.stride
    if loop.shared:
        return (loop.lanes - 1) * loop.stride, way, 1
    if loop.served is None:
        return loop.lanes * (loop.lanes - 1) / 2 * loop.stride, way, loop.lanes - 1
    if not exact:
        hops, farthest, link = unicast_on_mesh(loop.lanes, loop.stride, loop.served)
        return float(hops), int(farthest), float(link)
    at = [number * loop.stride for number in range(loop.lanes)]
    away = [place % loop.served if loop.stride < loop.served else 0 for place in at]
    links = Counter(place // loop.served for place, links in zip(at, away, strict=True) if links)
    return sum(away), max(away), max(links.values(), default=0)


def network_at(problem: Problem, level: int) -> Network:
    """Return the network at a level."""
    network = problem.components[level]
    assert isinstance(network, Network)
    return network


def hop_charge(problem: Problem, leg: NetworkLeg) -> tuple[float, float] | None:
    """Return the actions per value and link of a leg, and joules of each; None: it has no hops."""
    network = network_at(problem, leg.level)
    action = next((a for a in network.actions if a.name == "hop"), None)
    if action is None:
        return None
    per_value = Fraction(network.actions_scale) / Fraction(action.values_per_action[leg.tensor])
    return float(per_value), action.energy


def _charges(
    problem: Problem, fields: LabelFields, leg: NetworkLeg, loops: Sequence[HopLoop]
) -> Iterator[ChargeSite]:
    network, charge = network_at(problem, leg.level), hop_charge(problem, leg)
    if charge is None:
        return
    scale, joule = charge
    outer = 1
    for number, loop in enumerate(loops):
        links, _, busiest = hop_counts(network, loop, problem.conventions.links_carry_all_rounds)
        hops, link = links * scale * loop.iterations_share, busiest * scale
        adds = [CostTerm(0, leg.tensor, "moved", hops * joule, loop.after)]
        field = fields.links.get((leg.level, loop.dim))
        if field is not None and problem.conventions.links_carry_all_rounds:
            adds.append(
                CostTerm(
                    field, leg.tensor, "moved", link * loop.iterations_share / outer, loop.after
                )
            )
        elif field is not None and all(other.dim == loops[0].dim for other in loops[:number]):
            once = link / float(network.actions_scale) if loop.dim == loops[0].dim else 0.0
            adds.append(CostTerm(field, leg.tensor, "tile", once, loop.after))
        outer *= loop.lanes
        yield ChargeSite(max(loop.slot, leg.top) + 1, tuple(adds))
