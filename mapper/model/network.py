"""Hops on networks in closed form (model.md §7.1), one tensor between two of its holders.

Counts are those of model.md §7.1; a loop over a partially relevant variable (convolution),
which that tool does not define, sends each destination its own tile, halo included. Exact counts
are in tilewright.mapper.model.messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from tilewright.arch.components.components import Component
from tilewright.mapper.model.loops import PathLoop
from tilewright.mapper.model.nest import TensorNest
from tilewright.mapper.model.path import Hold
from tilewright.mapper.model.view import IRRELEVANT, Count, EinsumView, NetworkView, lowest_terms


@dataclass(frozen=True, slots=True)
class Hops:
    """Hop actions of one tensor on one network.

    `farthest`: hops of the longest way; `traffic[dim]`: actions on the busiest link of `dim`.
    """

    network: NetworkView
    hops: Count
    farthest: Count
    traffic: Mapping[str, Count]


@dataclass(frozen=True, slots=True)
class NetworkLeg:
    """The way of the tensor from one holder down to the next (or the Compute) over a network.

    `place`: of the network in the architecture; `loops`: places in the path of the loops above the
    lower end, outermost first.
    """

    network: NetworkView
    place: int
    source: Component
    loops: tuple[int, ...]


def legs_of(nest: TensorNest) -> list[NetworkLeg]:
    """Return the legs that cross a network, innermost first; the first network between counts."""
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
    """Return where data stop falling: a copy brings nothing below the copy's innermost holder."""
    view = nest.view
    if not view.einsum.is_copy:
        return len(view.flat.components)
    copies = {name for name, tensor in view.tensors.items() if tensor.output}
    if nest.tensor.output:  # in accelforge's reading, the source itself
        copies.add(nest.tensor.name)
    held = (step for step in nest.path.steps if isinstance(step, Hold) and step.tensor in copies)
    return max((view.index[step.component] for step in held), default=0)


def hops_of(nest: TensorNest, turns: Mapping[int, Count]) -> list[Hops]:
    """Return the hops of the tensor on every network between two holders that follow each other.

    `turns` of each loop, whole or average.
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
        leg_hops, longest_way, link = _cost(leg, nest, loop, (count, used.get(key, 1)))
        volume = nest.tensor.tile(tile) * leg.network.scale
        hops += leg_hops * volume
        farthest += longest_way
        # Links of the other dimensions are forgotten here, as accelforge 1.0.467 does: what counts
        # in the end is the dimension of the outermost loop, for one round (docs/conventions.md).
        # Nor does that tool scale the links' traffic by actions_scale.
        link *= volume / Fraction(leg.network.component.actions_scale)
        traffic = {loop.dim: traffic.get(loop.dim, 0) + link}
        used[key] = used.get(key, 1) * count
    return Hops(leg.network, hops, farthest, traffic)


Cost = tuple[Count, Count, Count]  # hops per value, farthest, values on the busiest link


def _cost(leg: NetworkLeg, nest: TensorNest, loop: PathLoop, fan: tuple[Count, Count]) -> Cost:
    """Return what one round of a loop costs; `fan`: its turns, and the stride between them."""
    topology = leg.network.component.topology
    if nest.tensor.relevance[loop.variable] == IRRELEVANT:
        return _MULTICAST[topology](*fan)
    return _UNICAST[topology](*fan, physical_stride(leg.source, loop, nest.view))


def physical_stride(source: Component, loop: PathLoop, view: EinsumView) -> int | None:
    """Instances that one place of a distributed source serves along the loop's dimension."""
    for dim in source.physical_spatial:
        if dim.name == loop.dim and dim.fanout > 1:
            return view.dims[loop.spatial or "", loop.dim].fanout // dim.fanout
    return None


def _mesh_multicast(turns: Count, stride: Count) -> Cost:
    """Along one axis, link by link: everyone on the way takes a copy."""
    return (turns - 1) * stride, turns * stride, 1


def unicast_on_mesh(turns: Count, stride: Count, spread: int | None) -> Cost:
    """Along one axis, each value all the way to its own instance.

    From a distributed source each value comes from the nearest place (`spread` instances each).
    """
    if spread is None:
        return lowest_terms(Fraction(turns * (turns - 1) * stride, 2)), turns * stride, turns - 1
    served = min(max(Fraction(spread) / stride, Fraction(1)), Fraction(turns))
    places = max(Fraction(turns * stride) / spread, Fraction(1))
    hops = places * served * (served - 1) / 2 * stride
    longest_way = (served - 1) * stride or spread  # that tool's smallest number leaves out zeros
    return lowest_terms(hops), min(longest_way, Fraction(spread)), served - 1


def _switch_multicast(turns: Count, _stride: Count) -> Cost:
    """One hop to each other instance; the switch makes the copies."""
    return turns - 1, 1, 1


def _switch_unicast(turns: Count, _stride: Count, _spread: int | None) -> Cost:
    """One hop to each other instance; all messages share the link of the source."""
    return turns - 1, 1, turns - 1


_MULTICAST = {"mesh": _mesh_multicast, "all_to_all": _switch_multicast}
_UNICAST = {"mesh": unicast_on_mesh, "all_to_all": _switch_unicast}
