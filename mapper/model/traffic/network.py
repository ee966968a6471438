"""Hops of a tensor on networks in closed form, as accelforge counts them (theory/model.md §7.1).

AccelForge does not define loops over partially relevant variables (convolutions): here each
destination gets its own tile, halo included. messages.py has the exact counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from tilewright.arch.components.components import Component
from tilewright.mapper.model.paths.loops import PathLoop
from tilewright.mapper.model.paths.nest import TensorNest
from tilewright.mapper.model.paths.path import Hold
from tilewright.mapper.model.paths.view import (
    IRRELEVANT,
    Count,
    EinsumView,
    NetworkView,
    lowest_terms,
)


@dataclass(frozen=True, slots=True)
class Hops:
    """Hop actions of one tensor on one network, for one way between two holders.

    `network`: as the tensor sees it. `hops`: hop actions in all. `farthest`: links of the longest
    way. `traffic[dim]`: hop actions on the busiest link of dimension `dim`.
    """

    network: NetworkView
    hops: Count
    farthest: Count
    traffic: Mapping[str, Count]


@dataclass(frozen=True, slots=True)
class NetworkLeg:
    """The way of a tensor over a network, from a holder to the next lower one or to the Compute.

    `network`: as the tensor sees it. `place`: its position on the path, 0 for the outermost.
    `source`: the component of the upper holder. `loops`: places in the path of the loops above the
    lower end, outermost first.
    """

    network: NetworkView
    place: int
    source: Component
    loops: tuple[int, ...]


def legs_of(nest: TensorNest) -> list[NetworkLeg]:
    """Return the ways of a tensor over networks, the innermost first.

    A leg leads from one holder of the tensor to the next lower one, or to the Compute. Of several
    networks between the two the outermost carries the values.
    """
    view = nest.view
    loops: list[int] = []
    legs: list[NetworkLeg] = []
    source = ""
    ends = [item for item in nest.items if isinstance(item, int)]
    for item in (*ends, len(nest.path.steps)):
        if item in nest.loops:
            loops.append(item)
            continue
        lower_end = nest.path.component
        if item < len(nest.path.steps):
            step = nest.path.steps[item]
            assert isinstance(step, Hold)
            lower_end = step.component
        end = min(view.index[lower_end], _lowest(nest))
        places_between = range(view.index[source] + 1, end) if source else ()
        for place, network in view.networks:
            if place in places_between:
                seen = view.network(network.name, nest.tensor.name)
                legs.append(NetworkLeg(seen, place, view.component(source), tuple(loops)))
                break
        source = lower_end
    return legs[::-1]


def _lowest(nest: TensorNest) -> int:
    """Return the level below which nothing moves: for a copy Einsum the output's innermost holder.

    For other Einsums the number of components.
    """
    view = nest.view
    if not view.einsum.is_copy:
        return len(view.flat.components)
    copies = {name for name, tensor in view.tensors.items() if tensor.output}
    if nest.tensor.output:  # in accelforge's reading, the source itself
        copies.add(nest.tensor.name)
    holds = (step for step in nest.path.steps if isinstance(step, Hold) and step.tensor in copies)
    return max((view.index[step.component] for step in holds), default=0)


def hops_of(nest: TensorNest, turns: Mapping[int, Count]) -> list[Hops]:
    """Return the hops of a tensor on each network that it crosses, as accelforge counts them.

    One result per leg (way from a holder to the next lower one over a network), innermost first.
    `turns`: place of a loop in the path to its number of turns, whole or average (theory/model.md
    §7.1).
    """
    return [_hops_of_leg(leg, nest, turns) for leg in legs_of(nest)]


def _hops_of_leg(leg: NetworkLeg, nest: TensorNest, turns: Mapping[int, Count]) -> Hops:
    hops: Count = 0
    farthest: Count = 0
    traffic: dict[str, Count] = {}
    used: dict[str, Count] = {}  # instances in use below, by dimension
    shape = dict(nest.view.einsum.bounds)
    shapes = []
    for item in leg.loops:
        shape = {**shape, nest.loops[item].variable: nest.loops[item].largest}
        shapes.append(shape)
    for item, tile in zip(reversed(leg.loops), reversed(shapes), strict=True):
        loop, count = nest.loops[item], turns[item]
        hops *= count
        if loop.spatial is None or nest.view.index[loop.spatial] < leg.place:
            continue
        key = f"{loop.spatial}.{loop.dim}"
        leg_hops, longest_way, link = _cost(leg, nest, loop, _NetworkRow(count, used.get(key, 1)))
        volume = nest.tensor.tile(tile) * leg.network.scale
        hops += leg_hops * volume
        farthest += longest_way
        # As in accelforge 1.0.467, only the dimension of the outermost loop counts in the end, for
        # one round (docs/conventions.md §10), and actions_scale does not apply to the links.
        link *= volume / Fraction(leg.network.component.actions_scale)
        traffic = {loop.dim: traffic.get(loop.dim, 0) + link}
        used[key] = used.get(key, 1) * count
    return Hops(leg.network, hops, farthest, traffic)


Cost = tuple[Count, Count, Count]  # hops per value, farthest, values on the busiest link


class _NetworkRow(NamedTuple):
    """The destinations of one loop: `turns` instances, `stride` links apart."""

    turns: Count
    stride: Count


def _cost(leg: NetworkLeg, nest: TensorNest, loop: PathLoop, row: _NetworkRow) -> Cost:
    """Return the cost of one round of a loop: (links summed, longest path, busiest link)."""
    topology = leg.network.component.topology
    if nest.tensor.relevance[loop.variable] == IRRELEVANT:
        return _MULTICAST[topology](*row)
    return _UNICAST[topology](*row, physical_stride(leg.source, loop, nest.view))


def physical_stride(source: Component, loop: PathLoop, view: EinsumView) -> int | None:
    """Return how many lanes along a loop's dimension one instance of the source serves.

    Fanout of the dimension divided by the source's instances along it; None if the source is not
    distributed along that dimension.
    """
    for dim in source.physical_spatial:
        if dim.name == loop.dim and dim.fanout > 1:
            return view.dims[loop.spatial or "", loop.dim].fanout // dim.fanout
    return None


def _mesh_multicast(turns: Count, stride: Count) -> Cost:
    """Return the cost of passing one value along a chain of instances that each take a copy.

    (links summed over all values, links of the longest path, values on the busiest link).
    """
    return (turns - 1) * stride, turns * stride, 1


def unicast_on_mesh(turns: Count, stride: Count, spread: int | None) -> Cost:
    """Return what it costs to send each of several instances its own value along one axis.

    Result: (links summed over all values, links of the longest way, values on the busiest link).
    `turns`: instances, `stride` links apart. `spread`: instances that each instance of a
    distributed source serves, None for one source at the first instance. 4 instances, stride 1,
    one source: 6 links, 4 (accelforge counts one more than the farthest), 3 (theory/model.md
    §7.1).
    """
    if spread is None:
        return lowest_terms(Fraction(turns * (turns - 1) * stride, 2)), turns * stride, turns - 1
    served = min(max(Fraction(spread) / stride, Fraction(1)), Fraction(turns))
    places = max(Fraction(turns * stride) / spread, Fraction(1))
    hops = places * served * (served - 1) / 2 * stride
    longest_way = (served - 1) * stride or spread  # accelforge: the smallest number above zero
    return lowest_terms(hops), min(longest_way, Fraction(spread)), served - 1


def _switch_multicast(turns: Count, _stride: Count) -> Cost:
    """Return the cost of one value for all instances over a switch: one hop to each but the first.

    (hops, hops of the longest path, values on the busiest link); the switch makes the copies.
    """
    return turns - 1, 1, 1


def _switch_unicast(turns: Count, _stride: Count, _spread: int | None) -> Cost:
    """Return the cost of a value for each instance over a switch: one hop to all but the first.

    (hops, hops of the longest path, values on the busiest link): all pass the source's link.
    """
    return turns - 1, 1, turns - 1


_MULTICAST = {"mesh": _mesh_multicast, "all_to_all": _switch_multicast}
_UNICAST = {"mesh": unicast_on_mesh, "all_to_all": _switch_unicast}
