"""Hops on networks (accelforge.md §2.6): data of one tensor on the way between two of its holders.

Counts are those of accelforge.md §2.6; a loop over a partially relevant variable (convolution),
which that tool does not define, sends each destination its own tile, halo included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.mapper.model.loops import Loop
from tilewright.mapper.model.nest import Item
from tilewright.mapper.model.path import Path
from tilewright.mapper.model.view import IRRELEVANT, Count, NetworkView, TensorView, View


@dataclass(frozen=True, slots=True)
class Hops:
    """Hop actions of one tensor on one network.

    `farthest`: hops of the longest way; `traffic[dim]`: actions on the busiest link of `dim`.
    """

    network: NetworkView
    hops: Count
    farthest: int
    traffic: Mapping[str, Count]


@dataclass(slots=True)
class _Leg:
    """The way from one holder (or the Compute) up to the next, while the nest is walked up."""

    network: NetworkView
    place: int  # of the network in the architecture
    hops: Count
    farthest: int
    traffic: dict[str, Count]


def hops_of(
    tensor: TensorView,
    nest: list[Item],
    path: Path,
    loops: dict[int, Loop],
    view: View,
) -> list[Hops]:
    """Return the hops of `tensor` on every network between two holders that follow each other."""
    shapes = _shapes_below(nest, loops, view)
    legs: list[_Leg] = []
    below: dict[tuple[str, str], int] = {}  # instances used so far, by dimension
    child = path.component
    pending: list[_Leg] = []  # legs from `child` to the holder above it
    sources = _sources(nest, path, loops)
    pending = _legs(tensor, child, sources[0], view) if sources else []
    legs += pending
    for position in range(len(nest) - 1, -1, -1):
        item = nest[position]
        if not isinstance(item, int):
            continue
        loop = loops.get(item)
        if loop is None:
            child = sources.pop(0)
            if sources:
                legs += _legs(tensor, child, sources[0], view)
            continue
        for leg in legs:
            _pass(leg, loop, tensor, shapes[position], below, view)
        if loop.spatial is not None:
            key = (loop.spatial, loop.dim)
            below[key] = below.get(key, 1) * loop.turns
    return [Hops(leg.network, leg.hops, leg.farthest, leg.traffic) for leg in legs]


def _shapes_below(nest: list[Item], loops: dict[int, Loop], view: View) -> list[dict[str, int]]:
    shape = dict(view.einsum.bounds)
    shapes = []
    for item in nest:
        loop = loops.get(item) if isinstance(item, int) else None
        if loop is not None:
            shape = {**shape, loop.variable: loop.largest}
        shapes.append(shape)
    return shapes


def _sources(nest: list[Item], path: Path, loops: dict[int, Loop]) -> list[str]:
    """Components of the holders, innermost first."""
    return [
        path.steps[item].component  # type: ignore[union-attr]  # a Hold
        for item in reversed(nest)
        if isinstance(item, int) and item not in loops
    ]


def _legs(tensor: TensorView, child: str, source: str, view: View) -> list[_Leg]:
    """Return the leg over the first network between `source` and `child`, if there is one."""
    low, high = view.index[source], view.index[child]
    for place, network in view.networks:
        if low < place < high:
            return [_Leg(view.network(network.name, tensor.name), place, 0, 0, {})]
    return []


def _pass(
    leg: _Leg,
    loop: Loop,
    tensor: TensorView,
    shape: dict[str, int],
    below: dict[tuple[str, str], int],
    view: View,
) -> None:
    """Take the leg up through one loop."""
    leg.hops *= loop.turns
    if loop.spatial is None or view.index[loop.spatial] < leg.place:
        return
    volume = tensor.tile(shape) * leg.network.scale
    stride = below.get((loop.spatial, loop.dim), 1)
    shared = tensor.relevance[loop.variable] == IRRELEVANT
    cost = _mesh if leg.network.component.topology == "mesh" else _all_to_all
    hops, farthest, traffic = cost(loop.turns, stride, shared)
    leg.hops += hops * volume
    leg.farthest += farthest
    leg.traffic[loop.dim] = leg.traffic.get(loop.dim, 0) + traffic * volume


def _mesh(turns: int, stride: int, shared: bool) -> tuple[int, int, int]:
    """Return (hops per value, farthest, values on the busiest link) along one axis of a mesh."""
    if shared:
        return (turns - 1) * stride, turns * stride, 1
    return turns * (turns - 1) // 2 * stride, turns * stride, turns - 1


def _all_to_all(turns: int, _stride: int, shared: bool) -> tuple[int, int, int]:
    """Return the same for a switch: one hop to each other instance."""
    return turns - 1, 1, 1 if shared else turns - 1
