"""Rows of copies: the loops that a copy shares cost it nothing.

Every holder passes every value once, whatever the tiles (copies/copy_einsums.py): a mapping of a
copy alone costs the same below any loops that leave its lanes enough. They decide where its tensors
on chip stand and what they take there, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.fusion.copies.copy_nodes import CopySpatialLoop
from tilewright.mapper.fusion.join.group_pareto import pareto
from tilewright.mapper.fusion.pmappings.pmapping_table import PmappingGroup
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapping.mapping import Spatial, Temporal
from tilewright.mapper.model.occupancy import Occupancy
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.templates.spatial_choices import divisors
from tilewright.mapper.workload.einsum import Einsum


@dataclass(frozen=True, slots=True)
class CopyOccupancy:
    """What a copy takes in the second memory itself, as the model counts it.

    `absent`: its tensors on chip that have no tile of their own while it runs; `tiles`: bits per
    value of what stands where one of them does; `own`: bits below all loops, there and in the
    deeper memories that tensors are exchanged in.
    """

    absent: frozenset[str]
    tile_widths: tuple[tuple[str, float], ...]
    fixed_bits: tuple[float, ...]


def copy_occupancy(
    occupied: Sequence[Occupancy],
    on_chip: Mapping[str, int],
    memories: Sequence[str],
    values: Mapping[str, float],
) -> CopyOccupancy:
    """Sort what a copy occupies with whole tensors of so many `values` each in some memories.

    `on_chip`: the number of the node of each tensor that it keeps in the first one for others.
    """
    here = [held for held in occupied if held.component == memories[0]]
    present = {
        t for t, node in on_chip.items() for h in here if h.backing and _is_held_at(h, t, node)
    }
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
    return CopyOccupancy(frozenset(on_chip) - present, tuple(tiles), tuple(own))


def _is_held_at(held: Occupancy, tensor: str, node: int) -> bool:
    return (held.tensor, held.origin) == (tensor, node)


def lanes_per_variable(mapping: LoopNest, bounds: Mapping[str, int]) -> dict[str, int]:
    """Return the lanes that a mapping of one Einsum deals over each variable."""
    above, lanes = dict(bounds), dict.fromkeys(bounds, 1)
    for node in mapping.nodes:
        if isinstance(node, Temporal | Spatial):
            if isinstance(node, Spatial):
                lanes[node.rank_variable] *= above[node.rank_variable] // node.tile_shape
            above[node.rank_variable] = node.tile_shape
    return lanes


@dataclass(frozen=True, slots=True)
class CopyPmapping:
    """A mapping of a copy: its joule, second and bits in use (Usage.of_points), its lanes per
    variable, what it takes on chip, the number of its body, and the `shared` ones of its lanes,
    which stand above what it keeps on chip."""

    values: tuple[float, ...]
    lanes: Mapping[str, int]
    occupancy: CopyOccupancy
    branch: int
    shared_lanes: tuple[CopySpatialLoop, ...] = ()


@dataclass(frozen=True, slots=True)
class CopyLoops:
    """What stands above what a copy keeps on chip: loops in time over variables, outermost first,
    and `shared` lanes below the first `above` of them. `depths`: of the tensors on chip, in both.
    """

    temporal: tuple[str, ...]
    depths: Mapping[str, int]
    loops_above_lanes: int = 0
    spatial: tuple[CopySpatialLoop, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of all loops, outermost first."""
        lanes = (lane.variable for lane in self.spatial)
        return (
            *self.temporal[: self.loops_above_lanes],
            *lanes,
            *self.temporal[self.loops_above_lanes :],
        )

    def named(self, names: Mapping[str, str]) -> tuple[LoopName, ...]:
        """Return the names of all loops."""
        turns = [LoopName(names[variable]) for variable in self.temporal]
        lanes = [LoopName(names[lane.variable], lane.dim) for lane in self.spatial]
        return (*turns[: self.loops_above_lanes], *lanes, *turns[self.loops_above_lanes :])

    def tiles(self, states: Ints, bounds: Mapping[str, int]) -> Ints:
        """Return the tiles below all loops; `states`: below those in time, all lanes together."""
        left = {v: np.full(len(states), bound, np.int64) for v, bound in bounds.items()}
        lanes = dict.fromkeys(bounds, 1)
        found: list[Ints] = []
        for column, variable in enumerate(self.variables):
            dealt = column - self.loops_above_lanes
            if 0 <= dealt < len(self.spatial):
                lanes[variable] *= self.spatial[dealt].lanes
            else:
                left[variable] = states[:, column if dealt < 0 else column - len(self.spatial)]
            found.append(left[variable] // lanes[variable])
        return np.array(found, np.int64).reshape(len(found), len(states)).T


@dataclass(frozen=True)
class CopyPmappingMaker:
    """Makes the rows of one copy.

    `widths`: bits of a value of each tensor in the memories; `carried`: variables of the loops
    that may stand above a tensor (Boundaries), `names`: of these loops; `repeats`: how many there
    may be over a variable; `capacities`: bits of the memories that tensors are exchanged in, of
    which copies use the first.
    """

    einsum: Einsum
    boundary: tuple[TensorPlace, ...]
    widths: Mapping[TensorPlace, float]
    shareable: Mapping[str, frozenset[str]]
    loop_names: Mapping[str, str]
    loops_per_variable: int
    capacities: tuple[float, ...]

    def groups_without_loops(
        self, order: Sequence[str], points: Sequence[CopyPmapping]
    ) -> Iterator[PmappingGroup]:
        """Yield the rows without loops in time; `order`: the tensors on chip, outermost first."""
        for shared, some in _group_by_lanes(points):
            yield from self._groups(
                CopyLoops((), dict.fromkeys(order, len(shared)), 0, shared), some
            )

    def groups_below_loops(
        self, order: Sequence[str], again: bool, points: Sequence[CopyPmapping]
    ) -> Iterator[PmappingGroup]:
        """Yield the rows with loops, of those that can fit; `again`: only those with a loop between
        the tensors on chip."""
        deepest = self.shareable[order[-1]] & {v for v, b in self.einsum.bounds.items() if b > 1}
        for turns in _loop_sequences(sorted(deepest), self.loops_per_variable):
            first = self.shareable[order[0]]
            most = next((i for i, v in enumerate(turns) if v not in first), len(turns))
            last = min(most, len(turns) - 1) if again else most
            for depth in range(last + 1) if len(order) > 1 else (len(turns),):
                for shared, some in _group_by_lanes(points):
                    lanes = len(shared)
                    depths = {order[0]: depth + lanes, order[-1]: len(turns) + lanes}
                    for above in range(depth + 1 if shared else 1):
                        yield from self._groups(CopyLoops(turns, depths, above, shared), some)

    def _groups(self, nest: CopyLoops, points: Sequence[CopyPmapping]) -> Iterator[PmappingGroup]:
        states = _tilings(nest.temporal, self.einsum.bounds)
        for absent in dict.fromkeys(point.occupancy.absent for point in points):
            some = [point for point in points if point.occupancy.absent == absent]
            made = self._group(nest, (states, some))
            if made is not None:
                yield made

    def _group(
        self, nest: CopyLoops, what: tuple[Ints, list[CopyPmapping]]
    ) -> PmappingGroup | None:
        """Return the rows of points that hold the same tensors; None: nothing fits."""
        states, points = what
        loops, tiles = nest.variables, nest.tiles(states, self.einsum.bounds)
        absent = points[0].occupancy.absent
        depth = tuple(nest.depths.get(place.tensor, -1) for place in self.boundary)
        sizes = np.zeros((len(tiles), len(self.boundary)))
        for column, place in enumerate(self.boundary):
            if depth[column] >= 0:
                values = self._values(place.tensor, loops[: depth[column]], tiles)
                sizes[:, column] = values * self.widths[place]
        held = [i for i, p in enumerate(self.boundary) if depth[i] >= 0 and p.tensor not in absent]
        number, point = self._pairs(nest, states, points)
        bits = self._reserved_bits(nest, (tiles[number], point), points)
        fits = bits[:, len(loops)] + sizes[number][:, held].sum(axis=1) <= self.capacities[0]
        fits |= not nest.temporal  # bounds of what a copy costs are taken from these
        number, point, bits = number[fits], point[fits], bits[fits]
        if not len(number):
            return None
        cost = np.array([one.values for one in points])[point]
        values = np.column_stack([cost, bits])
        kept = pareto(number, values)
        rows, start = np.unique(number[kept], return_index=True)
        bodies = np.array([one.branch for one in points], np.int64)[point[kept]]
        return PmappingGroup(
            nest.named(self.loop_names),
            depth,
            (),
            tiles[rows],
            sizes[rows],
            np.append(start, len(kept)).astype(np.int64),
            values[kept],
            np.column_stack([np.zeros(len(kept), np.int64), bodies]),
            absent=tuple(i for i, p in enumerate(self.boundary) if p.tensor in absent),
        )

    def _pairs(
        self, nest: CopyLoops, states: Ints, points: list[CopyPmapping]
    ) -> tuple[Ints, Ints]:
        """Return the pairs of tiles and points that go together."""
        free = np.ones((len(states), len(points)), np.bool_)
        for column, variable in enumerate(nest.temporal):
            if variable not in nest.temporal[column + 1 :]:
                lanes = np.array([point.lanes[variable] for point in points])
                free &= states[:, column, np.newaxis] % lanes == 0
        number, point = np.nonzero(free)
        return number.astype(np.int64), point.astype(np.int64)

    def _reserved_bits(
        self, nest: CopyLoops, pairs: tuple[Ints, Ints], points: list[CopyPmapping]
    ) -> Floats:
        """Return, per memory, the bits above loop 1 … n and in all; `pairs`: tiles, points."""
        tiles, point = pairs
        loops = nest.variables
        bits = np.zeros((len(point), len(self.capacities), len(loops) + 1))
        for place, one in enumerate(points):
            mine = np.flatnonzero(point == place)
            bits[mine, :, -1] += one.occupancy.fixed_bits
            for tensor, width in one.occupancy.tile_widths:
                depth = nest.depths[tensor]
                taken = width * self._values(tensor, loops[:depth], tiles[mine])
                bits[mine, 0, depth:] += taken[:, np.newaxis]
        flat: Floats = bits.reshape(len(point), bits.shape[1] * bits.shape[2])
        return flat

    def _values(self, tensor: str, loops: tuple[str, ...], tiles: Ints) -> Floats:
        """Return the values of a tensor below some loops: then all variables are relevant to it."""
        if not loops:
            return np.full(len(tiles), _whole_values(self.einsum, tensor))
        found = np.ones(len(tiles))
        for variable, bound in self.einsum.bounds.items():
            places = [place for place, other in enumerate(loops) if other == variable]
            found *= tiles[:, places[-1]] if places else bound
        return found


def _group_by_lanes(
    points: Sequence[CopyPmapping],
) -> list[tuple[tuple[CopySpatialLoop, ...], list[CopyPmapping]]]:
    """Group points by the lanes that others share."""
    found: dict[tuple[CopySpatialLoop, ...], list[CopyPmapping]] = {}
    for point in points:
        found.setdefault(point.shared_lanes, []).append(point)
    return list(found.items())


def _whole_values(einsum: Einsum, tensor: str) -> float:
    return float(einsum.access(tensor).tile_size(einsum.bounds))


def _loop_sequences(variables: Sequence[str], repeats: int) -> Iterator[tuple[str, ...]]:
    """Yield the lists of one variable or more, each at most `repeats` times."""

    def extend(done: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for variable in variables:
            if done.count(variable) < repeats:
                yield (*done, variable)
                yield from extend((*done, variable))

    yield from extend(())


def _tilings(loops: tuple[str, ...], bounds: Mapping[str, int]) -> Ints:
    """Return all tiles below some loops, of one variable smaller and smaller; (rows, loops)."""
    names = list(dict.fromkeys(loops))
    ways = [list(_tile_chains(bounds[name], loops.count(name))) for name in names]
    rows = []
    for way in product(*ways):
        left = {name: iter(tiles) for name, tiles in zip(names, way, strict=True)}
        rows.append([next(left[name]) for name in loops])
    return np.array(rows, np.int64).reshape(len(rows), len(loops))


def _tile_chains(above: int, number: int) -> Iterator[tuple[int, ...]]:
    if not number:
        yield ()
        return
    for tile in divisors(above)[:-1]:
        yield from ((tile, *rest) for rest in _tile_chains(tile, number - 1))
