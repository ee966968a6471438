"""Hops on networks (accelforge.md §2.6): data of one tensor on the way between two of its holders.

Counts are those of accelforge.md §2.6; a loop over a partially relevant variable (convolution),
which that tool does not define, sends each destination its own tile, halo included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from tilewright.arch.components import Component
from tilewright.mapper.model.loops import Loop
from tilewright.mapper.model.nest import Nest
from tilewright.mapper.model.path import Hold
from tilewright.mapper.model.view import IRRELEVANT, Count, NetworkView, View, lowest_terms


@dataclass(frozen=True, slots=True)
class Hops:
    """Hop actions of one tensor on one network.

    `farthest`: hops of the longest way; `traffic[dim]`: actions on the busiest link of `dim`.
    """

    network: NetworkView
    hops: Count
    farthest: Count
    traffic: Mapping[str, Count]


@dataclass(slots=True)
class _Leg:
    """The way from one holder (or the Compute) up to the next, while the nest is walked up."""

    network: NetworkView
    place: int  # of the network in the architecture
    source: Component
    hops: Count
    farthest: Count
    traffic: dict[str, Count]


def hops_of(nest: Nest, turns: Mapping[int, Count]) -> list[Hops]:
    """Return the hops of the tensor on every network between two holders that follow each other.

    `turns` of each loop, whole or average.
    """
    shapes = _shapes_below(nest)
    sources = _sources(nest)
    used: dict[tuple[str, str], Count] = {}  # instances in use below, by dimension
    legs = _legs(nest, nest.path.component, sources[0])
    for item, shape in zip(reversed(nest.items), reversed(shapes), strict=True):
        if not isinstance(item, int):
            continue
        loop = nest.loops.get(item)
        if loop is None:
            child = sources.pop(0)
            legs += _legs(nest, child, sources[0]) if sources else []
            continue
        for leg in legs:
            _pass(leg, _Fan(loop, turns[item], used), nest, shape)
        if loop.spatial is not None:
            key = (loop.spatial, loop.dim)
            used[key] = used.get(key, 1) * turns[item]
    return [Hops(leg.network, leg.hops, leg.farthest, leg.traffic) for leg in legs]


def _shapes_below(nest: Nest) -> list[dict[str, int]]:
    shape = dict(nest.view.einsum.bounds)
    shapes = []
    for item in nest.items:
        loop = nest.loops.get(item) if isinstance(item, int) else None
        if loop is not None:
            shape = {**shape, loop.variable: loop.largest}
        shapes.append(shape)
    return shapes


def _sources(nest: Nest) -> list[str]:
    """Components of the holders, innermost first."""
    steps = (nest.path.steps[item] for item in reversed(nest.items) if isinstance(item, int))
    return [step.component for step in steps if isinstance(step, Hold)]


def _legs(nest: Nest, child: str, source: str) -> list[_Leg]:
    """Return the leg over the first network between `source` and `child`, if there is one."""
    view = nest.view
    low, high = view.index[source], view.index[child]
    for place, network in view.networks:
        if low < place < high:
            seen = view.network(network.name, nest.tensor.name)
            return [_Leg(seen, place, view.component(source), 0, 0, {})]
    return []


@dataclass(frozen=True, slots=True)
class _Fan:
    """A loop, its turns, and the instances in use below it by dimension."""

    loop: Loop
    turns: Count
    used: dict[tuple[str, str], Count]


def _pass(leg: _Leg, fan: _Fan, nest: Nest, shape: dict[str, int]) -> None:
    """Take the leg up through one loop."""
    loop = fan.loop
    leg.hops *= fan.turns
    if loop.spatial is None or nest.view.index[loop.spatial] < leg.place:
        return
    volume = nest.tensor.tile(shape) * leg.network.scale
    stride = fan.used.get((loop.spatial, loop.dim), 1)
    if nest.tensor.relevance[loop.variable] == IRRELEVANT:
        cost = _MULTICAST[leg.network.component.topology](fan.turns, stride)
    else:
        spread = _physical_stride(leg.source, loop, nest.view)
        cost = _UNICAST[leg.network.component.topology](fan.turns, stride, spread)
    hops, farthest, traffic = cost
    leg.hops += hops * volume
    leg.farthest += farthest
    # Links of the other dimensions are forgotten here, as accelforge 1.0.467 does: what counts in
    # the end is the dimension of the outermost loop (docs/validation/accelforge.md).
    leg.traffic = {loop.dim: leg.traffic.get(loop.dim, 0) + traffic * volume}


def _physical_stride(source: Component, loop: Loop, view: View) -> int | None:
    """Instances that one place of a distributed source serves along the loop's dimension."""
    for dim in source.physical_spatial:
        if dim.name == loop.dim and dim.fanout > 1:
            return view.dims[loop.spatial or "", loop.dim].fanout // dim.fanout
    return None


Cost = tuple[Count, Count, Count]  # hops per value, farthest, values on the busiest link


def _mesh_multicast(turns: Count, stride: Count) -> Cost:
    """Along one axis, link by link: everyone on the way takes a copy."""
    return (turns - 1) * stride, turns * stride, 1


def _mesh_unicast(turns: Count, stride: Count, spread: int | None) -> Cost:
    """Along one axis, each value all the way to its own instance.

    From a distributed source each value comes from the nearest place (`spread` instances each).
    """
    if spread is None:
        return lowest_terms(Fraction(turns * (turns - 1) * stride, 2)), turns * stride, turns - 1
    served = min(max(Fraction(spread) / stride, Fraction(1)), Fraction(turns))
    places = max(Fraction(turns * stride) / spread, Fraction(1))
    hops = places * served * (served - 1) / 2 * stride
    return lowest_terms(hops), min((served - 1) * stride, Fraction(spread)), served - 1


def _switch_multicast(turns: Count, _stride: Count) -> Cost:
    """One hop to each other instance; the switch makes the copies."""
    return turns - 1, 1, 1


def _switch_unicast(turns: Count, _stride: Count, _spread: int | None) -> Cost:
    """One hop to each other instance; all messages share the link of the source."""
    return turns - 1, 1, turns - 1


_MULTICAST = {"mesh": _mesh_multicast, "all_to_all": _switch_multicast}
_UNICAST = {"mesh": _mesh_unicast, "all_to_all": _switch_unicast}
