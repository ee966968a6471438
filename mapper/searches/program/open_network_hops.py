"""Hops on networks of dimensions with several choices of lanes, charged as each choice is made.

What the loops of one dimension send depends on its own lanes and on the tile right below them
(network_hops.py), whatever lanes other dimensions have; a link carries its share of what the lanes
of outer dimensions send, and the longest way is the sum over the dimensions of the longest leg. So
nothing has to be enumerated outside the program. That holds where no holder stands below lanes of a
deeper level, and where no source of a leg is distributed.

Under the accelforge conventions a link counts one round, and only those of the outermost dimension
that has lanes: these make the links of the dimensions below them count nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.program.charge_sites import ChargeSite, CostTerm
from tilewright.mapper.searches.program.holder_order import below_deeper_lanes
from tilewright.mapper.searches.program.network_hops import (
    NetworkLeg,
    hop_charge,
    hop_counts,
    hop_loops,
    network_at,
    network_legs,
)
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Slot
from tilewright.mapper.templates.spatial_choices import SpatialLoops


def open_network_charge_sites(
    problem: Problem, fields: LabelFields, template: Template, slots: Sequence[Slot]
) -> list[ChargeSite]:
    """Return where to charge the hops of all networks; none if lanes have to be known for them."""
    found = list(network_legs(problem, template, slots))
    if not _are_free(problem, found, slots):
        return []
    routes = []
    for level, slot in dict.fromkeys((leg.level, slot) for leg in found for slot in leg.fans):
        own = [leg for leg in found if leg.level == level and slot in leg.fans]
        routes.append(_of_dimension(problem, fields, own[0], (slot, _fan(slots, slot))))
        routes += [_of_leg(problem, fields, leg, (slot, _fan(slots, slot))) for leg in own]
    return routes


def charge_sites_at_fixed_lanes(routes: Sequence[ChargeSite], limit: int) -> list[ChargeSite]:
    """Return what the fares of dimensions above slot `limit`, whose lanes are fixed, come to.

    Each is charged for the tile right below its dimension, with its share of links.
    """
    found = []
    for route in routes:
        if not route.charges or route.slot >= limit:
            continue
        outer = [times for other in routes if other.slot <= route.slot for times in other.factors]
        share = {
            add.field: prod(values[0] for field, values in outer if field == add.field)
            for add in route.charges[0]
        }
        adds = (replace(add, factor=add.factor * share[add.field]) for add in route.charges[0])
        found.append(ChargeSite(route.slot + 1, tuple(adds)))
    return found


def _fan(slots: Sequence[Slot], slot: int) -> SpatialLoops:
    fan = slots[slot]
    assert isinstance(fan, SpatialLoops)
    return fan


def _are_free(problem: Problem, found: Sequence[NetworkLeg], slots: Sequence[Slot]) -> bool:
    """Tell whether lanes are still to be chosen, and hops known whatever the other lanes are."""
    open_ = any(len(_fan(slots, slot).choices) > 1 for leg in found for slot in leg.fans)
    if not open_ or below_deeper_lanes(problem, slots) is not None:
        return False
    sources = [problem.components[leg.source] for leg in found]
    return all(dim.fanout == 1 for source in sources for dim in source.physical_spatial)


def _of_dimension(
    problem: Problem, fields: LabelFields, leg: NetworkLeg, at: tuple[int, SpatialLoops]
) -> ChargeSite:
    """Return what a dimension means for all legs of a network, of which `leg` is one.

    Its shares of links, and its links of a way: they are the same for all of these.
    """
    (slot, fan), level = at, leg.level
    exact = problem.conventions.links_carry_all_rounds
    ways = tuple(
        float(sum(hop_counts(network_at(problem, level), hop, exact)[1] for hop in loops))
        for loops in (hop_loops(problem, leg, at, choice) for choice in fan.choices)
    )
    lanes = [prod(choice) for choice in fan.choices]
    shares = tuple(1 / n if exact else float(n == 1) for n in lanes)
    links = ((dim, field) for (own, dim), field in fields.links.items() if own == level)
    return ChargeSite(
        slot,
        per_choice=((fields.longest_paths[level], ways),) if level in fields.longest_paths else (),
        factors=tuple((field, shares) for dim, field in links if exact or dim != fan.name),
    )


def _of_leg(
    problem: Problem, fields: LabelFields, leg: NetworkLeg, at: tuple[int, SpatialLoops]
) -> ChargeSite:
    """Return what a tensor sends over the network for each choice of a dimension."""
    network, charge = network_at(problem, leg.level), hop_charge(problem, leg)
    if charge is None:
        return ChargeSite(at[0])
    scale, joule = charge
    exact = problem.conventions.links_carry_all_rounds
    field = fields.links.get((leg.level, at[1].name))
    # by messages, all lanes of the dimension, and outer ones, share what a link carries
    kind, per_link = ("moved", scale) if exact else ("tile", scale / float(network.actions_scale))
    fares = []
    for choice in at[1].choices:
        adds = []
        for hop in hop_loops(problem, leg, at, choice):
            links, _, busiest = hop_counts(network, hop, exact)
            adds.append(
                CostTerm(
                    0, leg.tensor, "moved", links * scale * hop.iterations_share * joule, hop.after
                )
            )
            if field is not None:
                adds.append(CostTerm(field, leg.tensor, kind, busiest * per_link, hop.after))
        fares.append(tuple(adds))
    return ChargeSite(at[0], charges=tuple(fares))
