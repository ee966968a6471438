"""Hops of a tensor on networks, exact for uneven tiles: the messages of all rounds.

A spatial loop below a network sends a tile to each of its instances, which are `stride` links apart
along its dimension; the loops below it send parts of the tile on. A shared tile travels along a
chain in which every instance takes a copy. Other tiles travel all the way to their own instance,
from the nearest place of a distributed source. An all-to-all network has one switch per dimension
(theory/model.md §7).

Example: own tiles of 1 value to 4 instances in a row are 0 + 1 + 2 + 3 = 6 hops; the first link
carries 3 values. A shared tile is 3 hops; every link carries 1 value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tilewright.mapper.model.paths.loops import PathLoop, parts, swapped_variables
from tilewright.mapper.model.paths.nest import TensorNest
from tilewright.mapper.model.paths.view import IRRELEVANT
from tilewright.mapper.model.traffic.network import Hops, NetworkLeg, legs_of, physical_stride

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Messages:
    """The messages of one visit of a loop in the nest.

    `hops`: values times links. `farthest`: links of the longest path. `links[dim]`: values on the
    busiest link of a dimension.
    """

    hops: int = 0
    farthest: int = 0
    links: dict[str, int] = field(default_factory=dict)


Turns = Sequence[tuple[_Messages, int]]  # the messages of a turn, and how many turns are equal


@dataclass(frozen=True, slots=True)
class _NetworkLoop:
    """A spatial loop over instances below the network, along dimension `dim`.

    `stride`: links between two neighbouring instances. `served`: instances that one place of a
    distributed source serves, or None. `shared`: all instances get the same tile. `switch`: the
    network is all-to-all.
    """

    dim: str
    stride: int
    served: int | None
    shared: bool
    switch: bool

    def distribute(self, turns: Turns, values: Sequence[int]) -> _Messages:
        """Return the messages that bring each instance its tile, with those of the loops below.

        `turns`: (messages of the loops below, number of instances with equal tiles), in order of
        the instances. `values[i]`: values of a tile of `turns[i]`.
        """
        links = dict(turns[0][0].links)  # the first instance has the largest tile
        hops = sum(messages.hops * often for messages, often in turns)
        sent, link = (
            self._multicast(turns, values[0]) if self.shared else self._unicast(turns, values)
        )
        links[self.dim] = links.get(self.dim, 0) + link
        return _Messages(hops + sent, self._farthest(turns), links)

    def _multicast(self, turns: Turns, values: int) -> tuple[int, int]:
        """Return (values × links, values on the busiest link) of a tile that all instances get."""
        receivers = sum(often for _, often in turns) - 1
        hops = receivers * values * (1 if self.switch else self.stride)
        return hops, values if receivers else 0

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
        """Return the links from one source to `often` instances from number `first` on, summed."""
        if self.switch:
            return often - (first == 0)
        return self.stride * (first * often + often * (often - 1) // 2)

    def _distance(self, number: int) -> int:
        """Return the links from the source (the nearest one) to instance `number`."""
        if self.switch:
            return min(number, 1)
        position = number * self.stride
        if self.served is None or self.shared:
            return position
        return position % self.served if self.stride < self.served else 0

    def _farthest(self, turns: Turns) -> int:
        ends = first = 0
        for messages, often in turns:
            reach = range(first, first + often)
            if self.served is None or self.shared or self.switch:
                reach = reach[-1:]
            ends = max(ends, max(map(self._distance, reach)) + messages.farthest)
            first += often
        return ends


def hops_of_messages(nest: TensorNest) -> list[Hops]:
    """Return the hops of a tensor on each network that it crosses, exact for uneven tiles.

    One result per leg (way from a holder to the next lower one over a network), innermost leg
    first. All rounds of the loops and all dimensions count; `traffic` is the load of the first
    link of each dimension, in hop actions, which is the busiest for every tensor, so that the
    loads of tensors add (theory/model.md §7.2).
    """
    hops = []
    for leg in legs_of(nest):
        messages = _MessageWalk(nest, leg).messages()
        scale = leg.network.scale
        traffic = {dim: values * scale for dim, values in messages.links.items()}
        hops.append(Hops(leg.network, messages.hops * scale, messages.farthest, traffic))
    return hops


class _MessageWalk:
    """Counts the messages of one leg of a tensor over a network, loop by loop from the outermost.

    Visits of a loop with equal tiles are counted once.
    """

    def __init__(self, nest: TensorNest, leg: NetworkLeg) -> None:
        self._tensor = nest.tensor
        self._bounds = nest.view.einsum.bounds
        self._loops = [nest.loops[item] for item in leg.loops]
        self._fixed = swapped_variables(leg.loops, nest.loops)
        self._fanouts = _fanouts(self._loops, nest, leg)
        self._visits: dict[tuple[int, Shape], _Messages] = {}

    def messages(self) -> _Messages:
        """Return the messages of all rounds of the Einsum."""
        return self._visit(0, tuple(self._bounds.values()))

    def _visit(self, position: int, shape: Shape) -> _Messages:
        if position == len(self._loops):
            return _Messages()
        key = (position, shape)
        if key not in self._visits:
            self._visits[key] = self._count(position, shape)
        return self._visits[key]

    def _count(self, position: int, shape: Shape) -> _Messages:
        loop, fanout = self._loops[position], self._fanouts[position]
        axis = list(self._bounds).index(loop.variable)
        sizes = self._sizes(loop, shape[axis])
        tiles = [(*shape[:axis], size, *shape[axis + 1 :]) for size, _ in sizes]
        turns = [
            (self._visit(position + 1, tile), often)
            for tile, (_, often) in zip(tiles, sizes, strict=True)
        ]
        if fanout is not None:
            return fanout.distribute(turns, [self._values(tile) for tile in tiles])
        return _sum_of_turns(turns, in_time=loop.spatial is None)

    def _sizes(self, loop: PathLoop, outer: int) -> tuple[tuple[int, int], ...]:
        if loop.variable in self._fixed:
            return ((loop.tile, loop.turns),)
        return parts(loop, outer)

    def _values(self, shape: Shape) -> int:
        return self._tensor.tile(dict(zip(self._bounds, shape, strict=True)))


def _fanouts(
    loops: Sequence[PathLoop], nest: TensorNest, leg: NetworkLeg
) -> list[_NetworkLoop | None]:
    """Return, per loop, what it sends over the network; None for loops that send nothing.

    Those are temporal loops and spatial loops above the network.
    """
    view, tensor = nest.view, nest.tensor
    switch = leg.network.component.topology == "all_to_all"
    used: dict[tuple[str, str], int] = {}
    fanouts: list[_NetworkLoop | None] = []
    for loop in reversed(loops):
        if loop.spatial is None or view.index[loop.spatial] < leg.place:
            fanouts.append(None)
            continue
        key = (loop.spatial, loop.dim)
        shared = tensor.relevance[loop.variable] == IRRELEVANT
        shared = shared and tensor.name in view.dims[key].may_reuse
        stride = used.get(key, 1)
        served = physical_stride(leg.source, loop, view)
        fanouts.append(_NetworkLoop(loop.dim, stride, served, shared, switch))
        used[key] = stride * loop.turns
    return fanouts[::-1]


def _sum_of_turns(turns: Turns, *, in_time: bool) -> _Messages:
    """Return the messages of all turns of a loop that sends nothing over the network itself.

    Turns in time use the same links one after the other. Turns in space use networks of their own:
    the links of the first one count, which has the largest tile.
    """
    links = dict(turns[0][0].links)
    if in_time:
        links = {dim: sum(m.links[dim] * often for m, often in turns) for dim in links}
    hops = sum(messages.hops * often for messages, often in turns)
    return _Messages(hops, max(messages.farthest for messages, _ in turns), links)
