"""The lattice of tile shapes: all vectors of divisors of the rank variables' bounds.

A state is a vector of exponents, one per (rank variable, prime); its index is mixed-radix, so one
step along an axis multiplies one tile by one prime (lattice.md §1.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from tilewright.arch.components.components import Comparison
from tilewright.mapper.mapspace.factors import factorise, valuation
from tilewright.mapper.model.traffic.padded_spans import Cut, spanned_by_cuts
from tilewright.mapper.templates.spatial_choices import compares
from tilewright.mapper.workload.einsum import Affine, TensorAccess

Block = tuple[slice, ...]  # of an array of the lattice's shape


@dataclass(frozen=True)
class LatticeAxis:
    """One axis of the lattice of tiles: the power of one prime in one rank variable's tile.

    `variable`: its number; `prime`: the prime factor of its bound; `radix`: how many exponents
    there are, 0 to radix - 1; `stride`: what an exponent higher by one adds to a tile's index.
    """

    variable: int
    prime: int
    radix: int
    stride: int


_SPARE_COLUMNS = 4
MOST_DIMENSIONS = 32  # of a numpy array


class Lattice:
    """All tiles whose extents divide the bounds of the rank variables, numbered from 0.

    The index of a tile, its state, is a mixed-radix number of the exponents of its prime factors:
    0 is the tile of one value, `size` - 1 the whole iteration space. Example: bounds m = 4, n = 3
    give 3 * 2 = 6 states. `variables` and `bounds` keep the order of the Einsum; `axes`: one per
    pair of variable and prime; `shape`: the number of exponents per axis (theory/lattice.md §1.1).
    """

    def __init__(self, bounds: Mapping[str, int]) -> None:
        self.variables = tuple(bounds)
        self.bounds = tuple(bounds.values())
        radices = [
            (index, prime, exponent + 1)
            for index, bound in enumerate(self.bounds)
            for prime, exponent in factorise(bound)
        ]
        stride = 1
        axes: list[LatticeAxis] = []
        for index, prime, radix in reversed(radices):
            axes.append(LatticeAxis(index, prime, radix, stride))
            stride *= radix
        self.axes = tuple(reversed(axes))
        self.size = stride
        self.shape = tuple(axis.radix for axis in self.axes)
        self._shifts: dict[object, NDArray[np.int64]] = {}
        self._admitted: dict[Comparison, NDArray[np.bool_]] = {}

    @cached_property
    def digits(self) -> NDArray[np.int64]:
        """Exponents of the prime factors of all tiles, int64, shape (states, axes).

        A state is the index of a tile; an axis is a pair of rank variable and prime.
        """
        states = np.arange(self.size, dtype=np.int64)
        digits = np.empty((self.size, len(self.axes)), np.int64)
        for column, axis in enumerate(self.axes):
            digits[:, column] = states // axis.stride % axis.radix
        return digits

    @property
    def table_bytes(self) -> int:
        """Bytes of `digits` and `tiles`, and of some more columns while they are made."""
        return 8 * self.size * (len(self.axes) + len(self.bounds) + _SPARE_COLUMNS)

    @cached_property
    def tiles(self) -> NDArray[np.int64]:
        """Sizes of all tiles, in values, int64, shape (states, rank variables).

        A state is the index of a tile.
        """
        tiles = np.ones((self.size, len(self.bounds)), np.int64)
        for column, axis in enumerate(self.axes):
            powers = np.array([axis.prime**e for e in range(axis.radix)], np.int64)
            tiles[:, axis.variable] *= powers[self.digits[:, column]]
        return tiles

    def admitted(self, comparisons: Iterable[Comparison]) -> NDArray[np.bool_]:
        """Return for each state whether its tile satisfies all comparisons, bool, shape (states,).

        A comparison limits the extents of some rank variables, each or their product. The arrays
        are cached.
        """
        admitted = np.ones(self.size, np.bool_)
        for comparison in comparisons:
            if comparison not in self._admitted:
                self._admitted[comparison] = self._compared(comparison)
            admitted &= self._admitted[comparison]
        return admitted

    def _compared(self, comparison: Comparison) -> NDArray[np.bool_]:
        columns = [i for i, v in enumerate(self.variables) if v in comparison.rank_variables]
        exact = np.int64 if prod(self.bounds) < 2**62 else np.object_
        tiles = self.tiles[:, columns].astype(exact)
        if comparison.operator.startswith("product"):
            tiles = tiles.prod(axis=1, keepdims=True)
        satisfied: NDArray[np.bool_] = compares(comparison)(tiles, comparison.value).all(axis=1)
        return satisfied.astype(np.bool_)

    def axes_of(self, variables: Sequence[str]) -> list[LatticeAxis]:
        """Return the axes (pairs of variable and prime factor of its bound) of some variables."""
        chosen = {self.variables.index(v) for v in variables}
        return [axis for axis in self.axes if axis.variable in chosen]

    def exponents(self, tile: Sequence[int]) -> NDArray[np.int64]:
        """Return the exponents of a tile's prime factors, one per axis of the lattice.

        `tile`: an extent per rank variable; each must be positive and divide its bound.
        """
        return np.array([valuation(tile[a.variable], a.prime) for a in self.axes], np.int64)

    def offset(self, exponents: NDArray[np.int64]) -> int:
        """Return the index (state) of a tile given by its exponents, one per axis.

        It is also the difference of two states whose exponents differ by that much.
        """
        return sum(int(e) * a.stride for e, a in zip(exponents, self.axes, strict=True))

    def shifts(
        self, variables: tuple[str, ...], choices: tuple[tuple[int, ...], ...]
    ) -> NDArray[np.int64]:
        """Return the exponents of the primes of choices of lanes, int64, shape (choices, axes).

        `choices[i]`: lanes (instances) of each of `variables`. To distribute a tile over lanes
        subtracts these exponents from those of the tile.
        """
        key = (variables, choices)
        if key not in self._shifts:
            shift = np.zeros((len(choices), len(self.axes)), np.int64)
            for column, axis in enumerate(self.axes):
                name = self.variables[axis.variable]
                if name in variables:
                    lanes = [choice[variables.index(name)] for choice in choices]
                    exponent_of = {n: valuation(n, axis.prime) for n in set(lanes)}
                    shift[:, column] = [exponent_of[n] for n in lanes]
            self._shifts[key] = shift
        return self._shifts[key]

    def meeting(self, shift: NDArray[np.int64]) -> tuple[Block, Block]:
        """Return (tiles that some lanes divide, tiles of one such lane) as blocks of slices.

        `shift`: exponents of the lanes, one per axis. Both blocks select entries in the same order
        from an array of the lattice's `shape`: with E exponents along an axis and a shift of e,
        exponents e to E - 1 in the first and 0 to E - 1 - e in the second.
        """
        above = tuple(slice(int(e), None) for e in shift)
        return above, tuple(slice(0, r - int(e)) for e, r in zip(shift, self.shape, strict=True))

    def reach(self, variables: Sequence[str], lanes: Sequence[int]) -> NDArray[np.int64]:
        """Return, per state, the state whose tile is smaller by the given factors, shape (states,).

        `lanes[i]`: factor of `variables[i]`. -1 where the factors do not divide the tile.
        """
        smaller = dict.fromkeys(self.variables, 1) | dict(zip(variables, lanes, strict=True))
        exponents = self.exponents(list(smaller.values()))
        if len(self.shape) > MOST_DIMENSIONS:
            possible = (self.digits >= exponents).all(axis=1)
            return np.where(possible, np.arange(self.size) - self.offset(exponents), -1)
        reached = np.full(self.shape, -1, np.int64)
        if all(e < radix for e, radix in zip(exponents.tolist(), self.shape, strict=True)):
            above, below = self.meeting(exponents)
            reached[above] = np.arange(self.size).reshape(self.shape)[below]
        return reached.reshape(-1)

    def occupancy(
        self, access: TensorAccess, lanes: Mapping[str, int] | None = None
    ) -> NDArray[np.float64]:
        """Return the number of a tensor's values that each tile touches, float64, shape (states,).

        Windows count with their overlap (theory/model.md §1.3). `lanes`: rank variable to the
        number of tiles side by side, which are counted together.
        """
        side_by_side = lanes or {}
        size = np.ones(self.size)
        for _, form in access.projection:
            extent = np.full(self.size, float(form.point_extent))
            for name, factor in form.terms:
                tile = self.tiles[:, self.variables.index(name)] * side_by_side.get(name, 1)
                extent += abs(factor) * (tile - 1)
            size *= extent
        return size

    def moved_inside(self, access: TensorAccess, lanes: Mapping[str, int]) -> NDArray[np.float64]:
        """Return how many values move into all tiles, without zeros of padded ranks.

        Shape (states,), float64: tile times loops above it, as `occupancy` times `visits`, but of
        a padded rank what the tiles span inside it (theory/model.md §3.7). `lanes`: rank variable
        to the number of tiles side by side, which are counted together, once for each of them.
        """
        clipped = dict(access.clipped)
        forms = [form for _, form in access.projection]
        inside = [self._moved_inside(forms[i], size, lanes) for i, size in clipped.items()]
        rest = tuple(r for i, r in enumerate(access.projection) if i not in clipped)
        values = self.occupancy(replace(access, projection=rest, padded=()), lanes)
        done = {name for i in clipped for name, _ in forms[i].terms}
        for index, (name, bound) in enumerate(zip(self.variables, self.bounds, strict=True)):
            if name not in done:
                values *= bound / self.tiles[:, index]
        for factor in inside:
            values *= factor
        return values

    def _moved_inside(
        self, form: Affine, size: int, lanes: Mapping[str, int]
    ) -> NDArray[np.float64]:
        """Return what the tiles span inside one rank, times lanes that stand side by side."""
        columns = [self.variables.index(name) for name, _ in form.terms]
        tiles, number = np.unique(self.tiles[:, columns], axis=0, return_inverse=True)
        side = [lanes.get(name, 1) for name, _ in form.terms]
        bounds = [self.bounds[column] for column in columns]
        values = [_spanned_inside(form, size, bounds, tile, side) for tile in tiles.tolist()]
        return np.array(values, np.float64)[number.reshape(-1)]

    def visits(self, access: TensorAccess, relevances: Sequence[str]) -> NDArray[np.float64]:
        """Return the number of iterations of loops above each tile, float64, shape (states,).

        It is the product of bound / tile over the variables whose relevance to the tensor
        ("relevant", "partial" or "irrelevant") is in `relevances`.
        """
        count = np.ones(self.size)
        for index, (name, bound) in enumerate(zip(self.variables, self.bounds, strict=True)):
            if access.relevance(name) in relevances:
                count *= bound / self.tiles[:, index]
        return count


def _spanned_inside(
    form: Affine, size: int, bounds: Sequence[int], tile: Sequence[int], lanes: Sequence[int]
) -> float:
    """Return what all tiles span inside a rank, where so many stand side by side, times these.

    Tiles side by side that do not divide the bounds are those of no mapping: all counts there.
    """
    together = [extent * n for extent, n in zip(tile, lanes, strict=True)]
    if any(bound % extent for bound, extent in zip(bounds, together, strict=True)):
        names = [name for name, _ in form.terms]
        whole = form.extent(dict(zip(names, together, strict=True)))
        return float(whole * prod(b // e for b, e in zip(bounds, tile, strict=True)))
    cuts = tuple(Cut(b, b, extent) for b, extent in zip(bounds, together, strict=True))
    return float(spanned_by_cuts(form, size, cuts).inside * prod(lanes))
