"""Messages on networks, tile by tile: hops, the longest way and the busiest link, exact.

A spatial loop below a network hands tiles from its first instance to the others, `stride` links
apart along its dimension; each of them hands on to the loops below. What may be shared goes along
a chain in which everyone takes a copy; the rest goes all the way to its own instance, from the
nearest place of a distributed source. An all-to-all network has one switch per dimension.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tilewright.mapper.model.loops import PathLoop, parts, swapped_variables
from tilewright.mapper.model.nest import TensorNest
from tilewright.mapper.model.network import Hops, NetworkLeg, legs_of, physical_stride
from tilewright.mapper.model.view import IRRELEVANT

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Trip:
    """One visit of a place in the nest: values × links, links of the longest way, and values on
    the busiest link of each dimension."""

    hops: int = 0
    farthest: int = 0
    links: dict[str, int] = field(default_factory=dict)


Turns = Sequence[tuple[_Trip, int]]  # what happens in a turn, and how many turns do the same


@dataclass(frozen=True, slots=True)
class _NetworkLoop:
    """A spatial loop below the network. `stride`: links between its instances; `served`: instances
    of one place of a distributed source, or None."""

    dim: str
    stride: int
    served: int | None
    shared: bool
    switch: bool

    def deal(self, turns: Turns, values: Sequence[int]) -> _Trip:
        """Hand a tile of `values[i]` to each instance of `turns[i]`."""
        links = dict(turns[0][0].links)  # the first instance has the largest tile
        hops = sum(trip.hops * often for trip, often in turns)
        sent, link = (
            self._multicast(turns, values[0]) if self.shared else self._unicast(turns, values)
        )
        links[self.dim] = links.get(self.dim, 0) + link
        return _Trip(hops + sent, self._farthest(turns), links)

    def _multicast(self, turns: Turns, values: int) -> tuple[int, int]:
        """Return (values × links, values on the busiest link)."""
        others = sum(often for _, often in turns) - 1
        return others * values * (1 if self.switch else self.stride), values if others else 0

    def _unicast(self, turns: Turns, values: Sequence[int]) -> tuple[int, int]:
        hops = first = 0
        links: Counter[int] = Counter()
        for (_, often), size in zip(turns, values, strict=True):
            if self.served is None or self.switch:
                hops += size * self._distances(first, often)
                links[0] += size * (often - (first == 0))
            else:
                for number in range(first, first + often):
                    away = self._distance(number)
                    hops += size * away
                    links[number * self.stride // self.served] += size if away else 0
            first += often
        return hops, max(links.values())

    def _distances(self, first: int, often: int) -> int:
        """Sum the distances of instances that one source serves."""
        if self.switch:
            return often - (first == 0)
        return self.stride * (first * often + often * (often - 1) // 2)

    def _distance(self, number: int) -> int:
        """Return the links from the source to an instance."""
        if self.switch:
            return min(number, 1)
        at = number * self.stride
        if self.served is None or self.shared:
            return at
        return at % self.served if self.stride < self.served else 0

    def _farthest(self, turns: Turns) -> int:
        ends = first = 0
        for trip, often in turns:
            reach = range(first, first + often)
            if self.served is None or self.shared or self.switch:
                reach = reach[-1:]
            ends = max(ends, max(map(self._distance, reach)) + trip.farthest)
            first += often
        return ends


def hops_of_messages(nest: TensorNest) -> list[Hops]:
    """Return the hops of the tensor on every network between two holders that follow each other.

    All rounds count and all dimensions: `traffic` is what the first link of each dimension
    carries, which is the busiest one of every tensor, so that tensors add up.
    """
    found = []
    for leg in legs_of(nest):
        trip = _MessageWalk(nest, leg).trip()
        scale = leg.network.scale
        traffic = {dim: values * scale for dim, values in trip.links.items()}
        found.append(Hops(leg.network, trip.hops * scale, trip.farthest, traffic))
    return found


class _MessageWalk:
    """The loops above the lower end of a leg, outermost first; equal visits are counted once."""

    def __init__(self, nest: TensorNest, leg: NetworkLeg) -> None:
        self._tensor = nest.tensor
        self._bounds = nest.view.einsum.bounds
        self._loops = [nest.loops[item] for item in leg.loops]
        self._fixed = swapped_variables(leg.loops, nest.loops)
        self._fans = _fans(self._loops, nest, leg)
        self._known: dict[tuple[int, Shape], _Trip] = {}

    def trip(self) -> _Trip:
        """Return what happens in the whole Einsum."""
        return self._visit(0, tuple(self._bounds.values()))

    def _visit(self, position: int, shape: Shape) -> _Trip:
        if position == len(self._loops):
            return _Trip()
        key = (position, shape)
        if key not in self._known:
            self._known[key] = self._count(position, shape)
        return self._known[key]

    def _count(self, position: int, shape: Shape) -> _Trip:
        loop, fan = self._loops[position], self._fans[position]
        axis = list(self._bounds).index(loop.variable)
        sizes = self._sizes(loop, shape[axis])
        tiles = [(*shape[:axis], size, *shape[axis + 1 :]) for size, _ in sizes]
        turns = [
            (self._visit(position + 1, tile), often)
            for tile, (_, often) in zip(tiles, sizes, strict=True)
        ]
        if fan is not None:
            return fan.deal(turns, [self._values(tile) for tile in tiles])
        return _together(turns, one_by_one=loop.spatial is None)

    def _sizes(self, loop: PathLoop, outer: int) -> tuple[tuple[int, int], ...]:
        if loop.variable in self._fixed:
            return ((loop.tile, loop.turns),)
        return parts(loop, outer)

    def _values(self, shape: Shape) -> int:
        return self._tensor.tile(dict(zip(self._bounds, shape, strict=True)))


def _fans(
    loops: Sequence[PathLoop], nest: TensorNest, leg: NetworkLeg
) -> list[_NetworkLoop | None]:
    """Return the fan of each loop, None where it does not stand below the network."""
    view, tensor = nest.view, nest.tensor
    switch = leg.network.component.topology == "all_to_all"
    used: dict[tuple[str, str], int] = {}
    fans: list[_NetworkLoop | None] = []
    for loop in reversed(loops):
        if loop.spatial is None or view.index[loop.spatial] < leg.place:
            fans.append(None)
            continue
        key = (loop.spatial, loop.dim)
        shared = tensor.relevance[loop.variable] == IRRELEVANT
        shared = shared and tensor.name in view.dims[key].may_reuse
        stride = used.get(key, 1)
        served = physical_stride(leg.source, loop, view)
        fans.append(_NetworkLoop(loop.dim, stride, served, shared, switch))
        used[key] = stride * loop.turns
    return fans[::-1]


def _together(turns: Turns, *, one_by_one: bool) -> _Trip:
    """Rounds on the same links, one after the other; or networks side by side, each its own."""
    links = dict(turns[0][0].links)  # the first turn has the largest tile
    if one_by_one:
        links = {dim: sum(trip.links[dim] * often for trip, often in turns) for dim in links}
    hops = sum(trip.hops * often for trip, often in turns)
    return _Trip(hops, max(trip.farthest for trip, _ in turns), links)
