"""Hops on networks over dimensions with several spatial choices, charged as each choice is made.

The values that the loops of one dimension send depend on the lanes of that dimension and on the
tile right below them (network_hops.py), whatever lanes other dimensions have. A link carries its
share of the traffic of outer lanes, and the longest path is the sum over the dimensions of the
longest leg. So no choice has to be enumerated outside the program. That holds where no holder
stands below lanes of a deeper level, and where no source of a leg is distributed.

Under the accelforge conventions a link counts one round, and only the links of the outermost
dimension that has lanes count: that dimension zeroes the links of the dimensions below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.program.charge_sites import (
    ChargeSite,
    ChoiceAmount,
    ChoiceFactors,
    CostTerm,
)
from tilewright.mapper.searches.program.edge_traffic import whole_kind
from tilewright.mapper.searches.program.network_hops import (
    ChargedLeg,
    HopPrice,
    hop_charge,
    hop_counts,
    hop_loops,
    network_at,
    network_legs,
)
from tilewright.mapper.searches.program.out_of_order import below_deeper_lanes
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem, UsedDimension
from tilewright.mapper.templates.slots import Slot


def open_network_charge_sites(
    problem: Problem, fields: LabelFields, template: Template, slots: Sequence[Slot]
) -> list[ChargeSite]:
    """Return where hops enter the labels when the lanes of dimensions are still to be chosen.

    Each choice of lanes then has its own costs. Empty if all lanes are fixed, if a holder stands
    below lanes of a deeper component, or if a source is distributed: lanes must be known then. A
    label is the tuple of costs of a partial mapping; a lane is one instance along a dimension of a
    fanout.
    """
    legs = list(network_legs(problem, template, slots))
    if not _are_independent_of_lanes(problem, legs, slots):
        return []
    sites = []
    crossing: dict[tuple[int, int], list[tuple[ChargedLeg, UsedDimension]]] = {}
    for leg in legs:
        for dim in leg.dims:
            crossing.setdefault((leg.level, dim.slot), []).append((leg, dim))
    for pairs in crossing.values():
        sites.append(_dimension_site(problem, fields, *pairs[0]))
        sites += [_leg_site(problem, fields, leg, dim) for leg, dim in pairs]
    return sites


def charge_sites_at_fixed_lanes(sites: Sequence[ChargeSite], limit: int) -> list[ChargeSite]:
    """Return the hop charges of dimensions above slot `limit`, whose lanes are fixed.

    `sites`: those of `open_network_charge_sites`. Each dimension is charged for the tile right
    below it with its first choice, and its links carry only their share of the outer lanes'
    traffic. A slot is a place of a template (a mapping without loops) for loops, a fill or a
    reserved tile; a lane is one instance along a dimension of a fanout.
    """
    fixed_sites = []
    for site in sites:
        if not site.charges or site.slot >= limit:
            continue
        outer_factors = tuple(
            factors
            for outer_site in sites
            if outer_site.slot <= site.slot
            for factors in outer_site.factors
        )
        terms = (
            term._replace(factor=term.factor * _share_of(term.field, outer_factors))
            for term in site.charges[0]
        )
        fixed_sites.append(ChargeSite(site.slot + 1, tuple(terms)))
    return fixed_sites


def _share_of(field: int, factors: ChoiceFactors) -> float:
    """Return by how much outer dimensions, each with its first choice, multiply a field."""
    return prod(values[0] for factor_field, values in factors if factor_field == field)


def _are_independent_of_lanes(
    problem: Problem, legs: Sequence[ChargedLeg], slots: Sequence[Slot]
) -> bool:
    """Tell whether lanes are still to be chosen and no hop depends on those of other dimensions."""
    if not any(len(dim.loops.choices) > 1 for leg in legs for dim in leg.dims):
        return False
    if below_deeper_lanes(problem, slots) is not None:
        return False
    sources = [problem.components[leg.source] for leg in legs]
    return all(dim.fanout == 1 for source in sources for dim in source.physical_spatial)


def _dimension_site(
    problem: Problem, fields: LabelFields, leg: ChargedLeg, dimension: UsedDimension
) -> ChargeSite:
    """Return how a dimension's choices change the link loads and the longest path of a network.

    The same for all legs that cross the dimension; `leg` is one of them.
    """
    longest_path = fields.longest_paths.get(leg.level)
    paths = tuple(
        _path_length(problem, leg, dimension, choice) for choice in dimension.loops.choices
    )
    exact = problem.conventions.links_carry_all_rounds
    lanes = map(prod, dimension.loops.choices)
    shares = tuple(1 / n if exact else float(n == 1) for n in lanes)
    factors = (
        (field, shares)
        for (level, dim), field in fields.links.items()
        if level == leg.level and (exact or dim != dimension.loops.name)
    )
    return ChargeSite(
        dimension.slot,
        per_choice=() if longest_path is None else (ChoiceAmount(longest_path, paths),),
        factors=tuple(factors),
    )


def _path_length(
    problem: Problem, leg: ChargedLeg, dimension: UsedDimension, choice: Sequence[int]
) -> float:
    """Return the links of the longest path through a dimension, for one choice of lanes."""
    exact, network = problem.conventions.links_carry_all_rounds, network_at(problem, leg.level)
    loops = hop_loops(problem, leg, dimension, choice)
    return float(sum(hop_counts(network, loop, exact).path for loop in loops))


def _leg_site(
    problem: Problem, fields: LabelFields, leg: ChargedLeg, dimension: UsedDimension
) -> ChargeSite:
    """Return what a tensor costs on the network, for each choice of a dimension."""
    price = hop_charge(problem, leg)
    if price is None:
        return ChargeSite(dimension.slot)
    field = fields.links.get((leg.level, dimension.loops.name))
    moved = whole_kind(problem, leg.tensor)
    charges = []
    for choice in dimension.loops.choices:
        terms = []
        for loop in hop_loops(problem, leg, dimension, choice):
            counts = hop_counts(
                network_at(problem, leg.level), loop, problem.conventions.links_carry_all_rounds
            )
            joules = counts.links * price.actions * loop.iterations_share * price.joules
            terms.append(CostTerm(0, leg.tensor, moved, joules, loop.after))
            if field is not None:
                kind, per_value = _link_traffic(problem, leg, price)
                factor = counts.busiest * per_value
                terms.append(CostTerm(field, leg.tensor, kind, factor, loop.after))
        charges.append(tuple(terms))
    return ChargeSite(dimension.slot, charges=tuple(charges))


def _link_traffic(problem: Problem, leg: ChargedLeg, price: HopPrice) -> tuple[str, float]:
    """Return the kind of count that a link carries ("moved" or "tile"), and actions per value.

    "moved" if a link carries all rounds; then the lanes of this and outer dimensions share it.
    """
    if problem.conventions.links_carry_all_rounds:
        return whole_kind(problem, leg.tensor), price.actions
    network = network_at(problem, leg.level)
    return "tile", price.actions / float(network.actions_scale)
