"""Make the pmappings of copy Einsums: the loops that a copy shares cost it nothing.

Every holder passes every value once, whatever the tiles (copies/copy_einsums.py). So a mapping of a
copy alone costs the same below any loops that leave enough for its lanes. These loops only decide
where its tensors on chip stand, and how much they reserve there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.fusion.copies.copy_nodes import CopySpatialLoop
from tilewright.mapper.fusion.copies.copy_occupancy import CopyOccupancy
from tilewright.mapper.fusion.pmappings.pmapping_table import PmappingGroup
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapping.mapping import Spatial, Temporal
from tilewright.mapper.mapspace.factors import divisors
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.shared.group_pareto import pareto
from tilewright.mapper.workload.einsum import Einsum


def lanes_per_variable(mapping: LoopNest, bounds: Mapping[str, int]) -> dict[str, int]:
    """Return over how many lanes a mapping of one Einsum divides each rank variable; 1: none.

    `bounds`: of the rank variables.
    """
    tile_above, lanes = dict(bounds), dict.fromkeys(bounds, 1)
    for node in mapping.nodes:
        if isinstance(node, Temporal | Spatial):
            if isinstance(node, Spatial):
                lanes[node.rank_variable] *= tile_above[node.rank_variable] // node.tile_shape
            tile_above[node.rank_variable] = node.tile_shape
    return lanes


@dataclass(frozen=True, slots=True)
class CopyPmapping:
    """Mapping of a copy Einsum, as it counts within the mapping of the workload.

    `values`: energy in joule, latency in second, bits in use of the counted memories. `lanes`:
    instances over which each rank variable is divided. `occupancy`: what it takes on chip.
    `branch`: number of its nodes among those of the copy. `shared_lanes`: its spatial loops above
    what it keeps on chip, which other Einsums share.
    """

    values: tuple[float, ...]
    lanes: Mapping[str, int]
    occupancy: CopyOccupancy
    branch: int
    shared_lanes: tuple[CopySpatialLoop, ...] = ()


@dataclass(frozen=True, slots=True)
class CopyLoops:
    """Fused loops above what a copy Einsum keeps on chip, without tile shapes.

    `temporal`: rank variables of the temporal loops, outermost first. `spatial`: the spatial loops,
    which stand below the first `loops_above_lanes` temporal ones. `depths`: number of loops of both
    kinds above each tensor on chip.
    """

    temporal: tuple[str, ...]
    depths: Mapping[str, int]
    loops_above_lanes: int = 0
    spatial: tuple[CopySpatialLoop, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """Rank variable of each loop, temporal and spatial, outermost first."""
        lanes = (loop.variable for loop in self.spatial)
        upper, lower = self._split
        return (*upper, *lanes, *lower)

    def named(self, names: Mapping[str, str]) -> tuple[LoopName, ...]:
        """Return the loops under names common to all Einsums, outermost first.

        Temporal and spatial ones, as they stand. `names`: for each rank variable of the copy Einsum
        its common name.
        """
        spatial = [LoopName(names[loop.variable], loop.dim) for loop in self.spatial]
        upper, lower = ([LoopName(names[v]) for v in variables] for variables in self._split)
        return (*upper, *spatial, *lower)

    @property
    def _split(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The rank variables of the temporal loops above the spatial loops, and of those below."""
        return self.temporal[: self.loops_above_lanes], self.temporal[self.loops_above_lanes :]

    def tiles(self, states: Ints, bounds: Mapping[str, int]) -> Ints:
        """Return the values of each loop's variable below that loop, shape (states, loops).

        `states`: values below each temporal loop, all lanes together, shape (states, temporal
        loops). `bounds`: of the rank variables.
        """
        tile_of = {v: np.full(len(states), bound, np.int64) for v, bound in bounds.items()}
        lanes = dict.fromkeys(bounds, 1)
        tiles: list[Ints] = []
        for column, variable in enumerate(self.variables):
            spatial = column - self.loops_above_lanes
            if 0 <= spatial < len(self.spatial):
                lanes[variable] *= self.spatial[spatial].lanes
            else:
                temporal = column if spatial < 0 else column - len(self.spatial)
                tile_of[variable] = states[:, temporal]
            tiles.append(tile_of[variable] // lanes[variable])
        return np.array(tiles, np.int64).reshape(len(tiles), len(states)).T


class _TilingPairs(NamedTuple):
    """Pair numbers of tilings (choices of tile shapes) with numbers of pmappings.

    Arrays (pairs,).
    """

    tilings: Ints
    pmappings: Ints

    def select(self, chosen: NDArray[np.bool_]) -> _TilingPairs:
        """Return the pairs for which `chosen`, a boolean array of shape (pairs,), is true."""
        return _TilingPairs(self.tilings[chosen], self.pmappings[chosen])


@dataclass(frozen=True)
class CopyPmappingMaker:
    """Put mappings of one copy Einsum below loops that other Einsums may share.

    A copy moves a tensor and computes nothing. It moves each value once whatever loops stand above,
    so that these cost nothing and only decide how much it reserves. `einsum`: the copy. `boundary`:
    (tensor, memory) pairs in which its tensors may stay on chip. `widths`: bits per value there.
    `shareable[T]`: rank variables of loops that may stand above tensor T. `loop_names`: for each
    rank variable its name common to all Einsums. `loops_per_variable`: most loops over one
    variable. `capacities`: bits of the exchange memories; copies keep tensors in the first one.
    """

    einsum: Einsum
    boundary: tuple[TensorPlace, ...]
    widths: Mapping[TensorPlace, float]
    shareable: Mapping[str, frozenset[str]]
    loop_names: Mapping[str, str]
    loops_per_variable: int
    capacities: tuple[float, ...]

    def groups_without_loops(
        self, order: Sequence[str], pmappings: Sequence[CopyPmapping]
    ) -> Iterator[PmappingGroup]:
        """Yield groups of mappings of the copy Einsum with no temporal loop shared with others.

        `order`: its tensors on chip, outermost first. `pmappings`: the mappings to group, by their
        shared spatial loops and by which tensors on chip take no bits. Capacity is not checked
        here.
        """
        for spatial, of_lanes in _group_by_lanes(pmappings):
            depths = dict.fromkeys(order, len(spatial))
            yield from self._groups(CopyLoops((), depths, 0, spatial), of_lanes)

    def groups_below_loops(
        self, order: Sequence[str], reordered: bool, pmappings: Sequence[CopyPmapping]
    ) -> Iterator[PmappingGroup]:
        """Yield groups of mappings of the copy Einsum below temporal loops shared with others.

        `order`: its tensors on chip, outermost first. `reordered`: only groups with a loop between
        these, because without one another order counts the same. `pmappings`: the mappings to
        place; each stands below all lists of one loop or more and all tile shapes that leave enough
        values for its lanes. Those that exceed the first exchange memory are left out.
        """
        bounds = self.einsum.bounds
        deepest = self.shareable[order[-1]] & {v for v, bound in bounds.items() if bound > 1}
        for temporal in _loop_sequences(sorted(deepest), self.loops_per_variable):
            for depth in self._depths(order, temporal, reordered):
                for spatial, of_lanes in _group_by_lanes(pmappings):
                    n_lanes = len(spatial)
                    depths = {order[0]: depth + n_lanes, order[-1]: len(temporal) + n_lanes}
                    for loops_above_lanes in range(depth + 1 if spatial else 1):
                        loops = CopyLoops(temporal, depths, loops_above_lanes, spatial)
                        yield from self._groups(loops, of_lanes)

    def _depths(
        self, order: Sequence[str], temporal: tuple[str, ...], reordered: bool
    ) -> Sequence[int]:
        """Return the possible numbers of temporal loops above the first (outermost) tensor on chip.

        `temporal`: variables of the loops; all of them stand above the last tensor. `reordered`: at
        least one loop must stand between the tensors.
        """
        if len(order) == 1:
            return (len(temporal),)
        first = self.shareable[order[0]]
        deepest = next((i for i, v in enumerate(temporal) if v not in first), len(temporal))
        return range((min(deepest, len(temporal) - 1) if reordered else deepest) + 1)

    def _groups(
        self, loops: CopyLoops, pmappings: Sequence[CopyPmapping]
    ) -> Iterator[PmappingGroup]:
        """Yield one group of pmappings below `loops` for each set of absent tensors.

        Absent: on chip, but takes no bits while the copy runs (CopyOccupancy).
        """
        states = _tilings(loops.temporal, self.einsum.bounds)
        for absent in dict.fromkeys(pmapping.occupancy.absent for pmapping in pmappings):
            with_absent = [
                pmapping for pmapping in pmappings if pmapping.occupancy.absent == absent
            ]
            group = self._group(loops, states, with_absent)
            if group is not None:
                yield group

    def _group(
        self, loops: CopyLoops, states: Ints, pmappings: list[CopyPmapping]
    ) -> PmappingGroup | None:
        """Return the group of pmappings below loops with some tile shapes; None if none fits.

        `states`: values below each temporal loop, shape (tilings, loops). `pmappings`: with the
        same absent tensors. Dominated pmappings of a tiling are left out.
        """
        tiles = loops.tiles(states, self.einsum.bounds)
        absent = pmappings[0].occupancy.absent
        depths = tuple(loops.depths.get(place.tensor, -1) for place in self.boundary)
        sizes = self._sizes(loops, depths, tiles)
        pairs = self._pairs(loops, states, pmappings)
        bits = self._reserved_bits(loops, tiles, pairs, pmappings)
        reserving = [
            i for i, p in enumerate(self.boundary) if depths[i] >= 0 and p.tensor not in absent
        ]
        used = bits[:, len(loops.variables)] + sizes[pairs.tilings][:, reserving].sum(axis=1)
        fits = used <= self.capacities[0]
        fits |= not loops.temporal  # bounds of what a copy costs are taken from these
        pairs, bits = pairs.select(fits), bits[fits]
        if not len(pairs.tilings):
            return None
        costs = np.array([pmapping.values for pmapping in pmappings])[pairs.pmappings]
        values = np.column_stack([costs, bits])
        pareto_rows = pareto(pairs.tilings, values)
        tilings, start = np.unique(pairs.tilings[pareto_rows], return_index=True)
        branches = np.array([p.branch for p in pmappings], np.int64)[pairs.pmappings[pareto_rows]]
        return PmappingGroup(
            loops.named(self.loop_names),
            depths,
            (),
            tiles[tilings],
            sizes[tilings],
            np.append(start, len(pareto_rows)).astype(np.int64),
            values[pareto_rows],
            np.column_stack([np.zeros(len(pareto_rows), np.int64), branches]),
            absent=tuple(i for i, p in enumerate(self.boundary) if p.tensor in absent),
        )

    def _sizes(self, loops: CopyLoops, depths: tuple[int, ...], tiles: Ints) -> Floats:
        """Return the bits of each boundary tensor's tile, 0 if it is not on chip.

        Shape (tilings, boundary). `depths`: loops above each, -1 if not on chip. `tiles`: values
        below each loop, (tilings, loops).
        """
        sizes = np.zeros((len(tiles), len(self.boundary)))
        for column, place in enumerate(self.boundary):
            if depths[column] >= 0:
                values = self._values(place.tensor, loops.variables[: depths[column]], tiles)
                sizes[:, column] = values * self.widths[place]
        return sizes

    def _pairs(self, loops: CopyLoops, states: Ints, pmappings: list[CopyPmapping]) -> _TilingPairs:
        """Return the pairs of tiling and pmapping whose lanes divide the tiles."""
        divides = np.ones((len(states), len(pmappings)), np.bool_)
        for column, variable in enumerate(loops.temporal):
            if variable not in loops.temporal[column + 1 :]:
                lanes = np.array([pmapping.lanes[variable] for pmapping in pmappings])
                divides &= states[:, column, np.newaxis] % lanes == 0
        tilings, numbers = np.nonzero(divides)
        return _TilingPairs(tilings.astype(np.int64), numbers.astype(np.int64))

    def _reserved_bits(
        self, loops: CopyLoops, tiles: Ints, pairs: _TilingPairs, pmappings: list[CopyPmapping]
    ) -> Floats:
        """Return the bits that tiles of the copy's own take, per pair and exchange memory.

        Shape (pairs, memories x (loops + 1)): first the bits that stand above loop 1 to n, last all
        bits.
        """
        variables = loops.variables
        shape = (len(pairs.tilings), len(self.capacities), len(variables) + 1)
        bits = np.zeros(shape)
        for number, pmapping in enumerate(pmappings):
            chosen = np.flatnonzero(pairs.pmappings == number)
            bits[chosen, :, -1] += pmapping.occupancy.fixed_bits
            for tensor, width in pmapping.occupancy.tile_widths:
                depth, own_tiles = loops.depths[tensor], tiles[pairs.tilings][chosen]
                taken = width * self._values(tensor, variables[:depth], own_tiles)
                bits[chosen, 0, depth:] += taken[:, np.newaxis]
        flat: Floats = bits.reshape(shape[0], shape[1] * shape[2])
        return flat

    def _values(self, tensor: str, variables: tuple[str, ...], tiles: Ints) -> Floats:
        """Return the number of values of a tensor below some loops, shape (tilings,).

        With loops above it, all variables are relevant to the tensor.
        """
        if not variables:
            return np.full(len(tiles), _whole_values(self.einsum, tensor))
        values = np.ones(len(tiles))
        for variable, bound in self.einsum.bounds.items():
            columns = [column for column, name in enumerate(variables) if name == variable]
            values *= tiles[:, columns[-1]] if columns else bound
        return values


def _group_by_lanes(
    pmappings: Sequence[CopyPmapping],
) -> list[tuple[tuple[CopySpatialLoop, ...], list[CopyPmapping]]]:
    """Group pmappings that have the same spatial loops shared with others."""
    groups: dict[tuple[CopySpatialLoop, ...], list[CopyPmapping]] = {}
    for pmapping in pmappings:
        groups.setdefault(pmapping.shared_lanes, []).append(pmapping)
    return list(groups.items())


def _whole_values(einsum: Einsum, tensor: str) -> float:
    return float(einsum.access(tensor).tile_size(einsum.bounds))


def _loop_sequences(variables: Sequence[str], repeats: int) -> Iterator[tuple[str, ...]]:
    """Yield all lists of one or more of the variables, each at most `repeats` times."""

    def extend(outer_loops: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for variable in variables:
            if outer_loops.count(variable) < repeats:
                yield (*outer_loops, variable)
                yield from extend((*outer_loops, variable))

    yield from extend(())


def _tilings(variables: tuple[str, ...], bounds: Mapping[str, int]) -> Ints:
    """Return all tile shapes below some loops, shape (tilings, loops).

    The tiles of one variable shrink from loop to loop, each a proper divisor of the one before.
    """
    names = list(dict.fromkeys(variables))
    chains = [list(_tile_chains(bounds[name], variables.count(name))) for name in names]
    tilings = []
    for chosen in product(*chains):
        tiles = {name: iter(chain) for name, chain in zip(names, chosen, strict=True)}
        tilings.append([next(tiles[name]) for name in variables])
    return np.array(tilings, np.int64).reshape(len(tilings), len(variables))


def _tile_chains(outer_tile: int, number: int) -> Iterator[tuple[int, ...]]:
    """Yield tuples of `number` tiles, each a proper divisor of the one before or `outer_tile`."""
    if not number:
        yield ()
        return
    for tile in divisors(outer_tile)[:-1]:
        yield from ((tile, *inner_tiles) for inner_tiles in _tile_chains(tile, number - 1))
