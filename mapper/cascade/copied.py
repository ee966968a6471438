"""Rows of copies: the loops that a copy shares cost it nothing.

Every holder passes every value once, whatever the tiles (searches/copies.py): a mapping of a copy
alone costs the same below any loops that leave its lanes enough. They decide where its tensors on
chip stand and what they take there, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from tilewright.mapper.cascade.boundary import Place
from tilewright.mapper.cascade.names import LoopName
from tilewright.mapper.cascade.pareto import pareto
from tilewright.mapper.cascade.table import Rows
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.mapping import Mapping as LoopNest
from tilewright.mapper.mapping import Spatial, Temporal
from tilewright.mapper.mapspace.fanout import divisors
from tilewright.mapper.model.occupancy import Occupancy
from tilewright.mapper.searches.kernels import Floats, Ints


@dataclass(frozen=True, slots=True)
class Standing:
    """What a copy takes in the second memory itself, as the model counts it.

    `absent`: its tensors on chip that have no tile of their own while it runs; `tiles`: bits per
    value of what stands where one of them does; `own`: bits below all loops, there and in the
    deeper memories that tensors are exchanged in.
    """

    absent: frozenset[str]
    tiles: tuple[tuple[str, float], ...]
    own: tuple[float, ...]


def standing(
    occupied: Sequence[Occupancy],
    on_chip: Mapping[str, int],
    memories: Sequence[str],
    values: Mapping[str, float],
) -> Standing:
    """Sort what a copy occupies with whole tensors of so many `values` each in some memories.

    `on_chip`: the number of the node of each tensor that it keeps in the first one for others.
    """
    here = [held for held in occupied if held.component == memories[0]]
    present = {t for t, node in on_chip.items() for h in here if h.backing and _is(h, t, node)}
    tensor_at = {node: tensor for tensor, node in on_chip.items()}
    others = [h for h in here if not (h.backing and h.tensor in present)]
    tiles = [
        (tensor_at[h.origin], float(h.bits) / values[tensor_at[h.origin]])
        for h in others
        if h.origin in tensor_at
    ]
    below = [h for h in occupied if h.component in memories[1:]]
    below += [h for h in others if h.origin not in tensor_at]
    own = [sum(float(h.bits) for h in below if h.component == memory) for memory in memories]
    return Standing(frozenset(on_chip) - present, tuple(tiles), tuple(own))


def _is(held: Occupancy, tensor: str, node: int) -> bool:
    return (held.tensor, held.origin) == (tensor, node)


def lanes_in(mapping: LoopNest, bounds: Mapping[str, int]) -> dict[str, int]:
    """Return the lanes that a mapping of one Einsum deals over each variable."""
    above, lanes = dict(bounds), dict.fromkeys(bounds, 1)
    for node in mapping.nodes:
        if isinstance(node, Temporal | Spatial):
            if isinstance(node, Spatial):
                lanes[node.rank_variable] *= above[node.rank_variable] // node.tile_shape
            above[node.rank_variable] = node.tile_shape
    return lanes


@dataclass(frozen=True, slots=True)
class Point:
    """A mapping of a copy: its joule, second and bits in use (Usage.of_points), its lanes per
    variable, what it takes on chip, and the number of its body."""

    cost: tuple[float, ...]
    lanes: Mapping[str, int]
    standing: Standing
    body: int


@dataclass(frozen=True)
class CopyRows:
    """Makes the rows of one copy.

    `widths`: bits of a value of each tensor in the memories; `carried`: variables of the loops
    that may stand above a tensor (Boundaries), `names`: of these loops; `repeats`: how many there
    may be over a variable; `capacities`: bits of the memories that tensors are exchanged in, of
    which copies use the first.
    """

    einsum: Einsum
    boundary: tuple[Place, ...]
    widths: Mapping[Place, float]
    carried: Mapping[str, frozenset[str]]
    names: Mapping[str, str]
    repeats: int
    capacities: tuple[float, ...]

    def plain(self, order: Sequence[str], points: Sequence[Point]) -> Iterator[Rows]:
        """Yield the rows without loops; `order`: the tensors on chip, outermost first."""
        yield from self._made((), dict.fromkeys(order, 0), points)

    def below_loops(
        self, order: Sequence[str], again: bool, points: Sequence[Point]
    ) -> Iterator[Rows]:
        """Yield the rows with loops, of those that can fit; `again`: only those with a loop between
        the tensors on chip."""
        deepest = self.carried[order[-1]] & {v for v, b in self.einsum.bounds.items() if b > 1}
        for loops in _sequences(sorted(deepest), self.repeats):
            first = self.carried[order[0]]
            most = next((i for i, v in enumerate(loops) if v not in first), len(loops))
            last = min(most, len(loops) - 1) if again else most
            for depth in range(last + 1) if len(order) > 1 else (len(loops),):
                yield from self._made(loops, {order[0]: depth, order[-1]: len(loops)}, points)

    def _made(
        self, loops: tuple[str, ...], depths: Mapping[str, int], points: Sequence[Point]
    ) -> Iterator[Rows]:
        tiles = _tiles(loops, self.einsum.bounds)
        for absent in dict.fromkeys(point.standing.absent for point in points):
            some = [point for point in points if point.standing.absent == absent]
            made = self._rows(loops, depths, (tiles, some))
            if made is not None:
                yield made

    def _rows(
        self, loops: tuple[str, ...], depths: Mapping[str, int], what: tuple[Ints, list[Point]]
    ) -> Rows | None:
        """Return the rows of points that hold the same tensors; None: nothing fits."""
        tiles, points = what
        absent = points[0].standing.absent
        depth = tuple(depths.get(place.tensor, -1) for place in self.boundary)
        sizes = np.zeros((len(tiles), len(self.boundary)))
        for column, place in enumerate(self.boundary):
            if depth[column] >= 0:
                values = self._values(place.tensor, loops[: depth[column]], tiles)
                sizes[:, column] = values * self.widths[place]
        held = [i for i, p in enumerate(self.boundary) if depth[i] >= 0 and p.tensor not in absent]
        number, point, bits = self._priced(loops, depths, (tiles, points))
        fits = bits[:, len(loops)] + sizes[number][:, held].sum(axis=1) <= self.capacities[0]
        fits |= not loops  # bounds of what a copy costs are taken from these
        number, point, bits = number[fits], point[fits], bits[fits]
        if not len(number):
            return None
        cost = np.array([one.cost for one in points])[point]
        values = np.column_stack([cost, bits])
        kept = pareto(number, values)
        rows, start = np.unique(number[kept], return_index=True)
        bodies = np.array([one.body for one in points], np.int64)[point[kept]]
        return Rows(
            tuple(LoopName(self.names[v]) for v in loops),
            depth,
            (),
            tiles[rows],
            sizes[rows],
            np.append(start, len(kept)).astype(np.int64),
            values[kept],
            np.column_stack([np.zeros(len(kept), np.int64), bodies]),
            absent=tuple(i for i, p in enumerate(self.boundary) if p.tensor in absent),
        )

    def _priced(
        self, loops: tuple[str, ...], depths: Mapping[str, int], what: tuple[Ints, list[Point]]
    ) -> tuple[Ints, Ints, Floats]:
        """Return the pairs of tiles and points that go together, and per memory the bits above loop
        1 … n and in all of each."""
        tiles, points = what
        free = np.ones((len(tiles), len(points)), np.bool_)
        for column, variable in enumerate(loops):
            if variable not in loops[column + 1 :]:
                lanes = np.array([point.lanes[variable] for point in points])
                free &= tiles[:, column, np.newaxis] % lanes == 0
        number, point = np.nonzero(free)
        bits = np.zeros((len(number), len(self.capacities), len(loops) + 1))
        for place, one in enumerate(points):
            mine = np.flatnonzero(point == place)
            bits[mine, :, -1] += one.standing.own
            for tensor, width in one.standing.tiles:
                depth = depths[tensor]
                taken = width * self._values(tensor, loops[:depth], tiles[number[mine]])
                bits[mine, 0, depth:] += taken[:, np.newaxis]
        flat: Floats = bits.reshape(len(number), -1)
        return number.astype(np.int64), point.astype(np.int64), flat

    def _values(self, tensor: str, loops: tuple[str, ...], tiles: Ints) -> Floats:
        """Return the values of a tensor below some loops: then all variables are relevant to it."""
        if not loops:
            return np.full(len(tiles), _whole(self.einsum, tensor))
        found = np.ones(len(tiles))
        for variable, bound in self.einsum.bounds.items():
            places = [place for place, other in enumerate(loops) if other == variable]
            found *= tiles[:, places[-1]] if places else bound
        return found


def _whole(einsum: Einsum, tensor: str) -> float:
    return float(einsum.access(tensor).tile_size(einsum.bounds))


def _sequences(variables: Sequence[str], repeats: int) -> Iterator[tuple[str, ...]]:
    """Yield the lists of one variable or more, each at most `repeats` times."""

    def extend(done: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for variable in variables:
            if done.count(variable) < repeats:
                yield (*done, variable)
                yield from extend((*done, variable))

    yield from extend(())


def _tiles(loops: tuple[str, ...], bounds: Mapping[str, int]) -> Ints:
    """Return all tiles below some loops, of one variable smaller and smaller; (rows, loops)."""
    names = list(dict.fromkeys(loops))
    ways = [list(_chains(bounds[name], loops.count(name))) for name in names]
    rows = []
    for way in product(*ways):
        left = {name: iter(tiles) for name, tiles in zip(names, way, strict=True)}
        rows.append([next(left[name]) for name in loops])
    return np.array(rows, np.int64).reshape(len(rows), len(loops))


def _chains(above: int, number: int) -> Iterator[tuple[int, ...]]:
    if not number:
        yield ()
        return
    for tile in divisors(above)[:-1]:
        yield from ((tile, *rest) for rest in _chains(tile, number - 1))
