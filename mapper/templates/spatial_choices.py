"""Spatial choices: which rank variables are distributed over a dimension of a fanout, and how far.

A choice gives each variable a number of lanes (instances along the dimension); their product is at
most the fanout. For a fanout of 4, m = 4 and n = 2 the choices over (m, n) are (1, 1), (1, 2),
(2, 1), (2, 2) and (4, 1), less what loop_bounds, reuse and min_usage exclude.
"""

from __future__ import annotations

import operator as op
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Any

from tilewright.arch.components.components import Comparison, SpatialDim
from tilewright.mapper.mapspace.factors import divisors
from tilewright.mapper.model.conventions import Conventions
from tilewright.mapper.workload.einsum import Einsum

_COMPARE: dict[str, Callable[[Any, float], Any]] = {
    "==": op.eq,
    "<=": op.le,
    ">=": op.ge,
    "<": op.lt,
    ">": op.gt,
}
_ROUNDING = 1e-9  # usage is a quotient of small integers; the file's min_usage is a float

Lanes = tuple[tuple[str, int], ...]  # rank variable, number of lanes
DimName = tuple[str, str]  # component, dimension
Choice = tuple[int, ...]  # lanes of one dimension, per variable
Extents = tuple[int, ...]  # one per rank variable; negative: an uneven loop is already below


@dataclass(frozen=True, slots=True)
class SpatialLoops:
    """The spatial loops over one dimension of a fanout, with all choices of lanes it may take.

    `component`, `name`: the component and the dimension; `variables`: rank variables that may be
    distributed; `choices[i][j]`: lanes (instances) over which choice i spreads `variables[j]`. For
    a fanout of 4 the choice (2, 2) over (m, n) uses all four instances.
    """

    component: str
    name: str
    variables: tuple[str, ...]
    choices: tuple[Choice, ...]

    @property
    def dim(self) -> DimName:
        """The component and the name of the dimension."""
        return self.component, self.name

    @property
    def has_lanes(self) -> bool:
        """Whether some choice uses more than one lane (instance along the dimension)."""
        return any(prod(choice) > 1 for choice in self.choices)

    def lanes_of(self, variable: str) -> tuple[int, ...]:
        """Return the lanes (instances) over a rank variable in each choice; (1,) if it has none."""
        if variable not in self.variables:
            return (1,)
        place = self.variables.index(variable)
        return tuple(choice[place] for choice in self.choices)

    def lanes_over(self, variables: Container[str]) -> tuple[int, ...]:
        """Return, for each choice, the product of the lanes (instances) over some variables."""
        chosen = tuple(i for i, v in enumerate(self.variables) if v in variables)
        return _products(self.choices, chosen)


@lru_cache(maxsize=4096)  # templates of an Einsum ask for few, tens of thousands of times
def _products(choices: tuple[Choice, ...], places: tuple[int, ...]) -> tuple[int, ...]:
    """Return, per choice, the product of the lanes at some places."""
    return tuple(prod(choice[i] for i in places) for choice in choices)


def holds(comparison: Comparison, values: Mapping[str, int]) -> bool:
    """Tell whether one value per rank variable satisfies a comparison of an architecture file.

    `values`: rank variable to a tile extent or a number of lanes. Operators "<=", "==" and so on
    apply to each of `comparison.rank_variables`; with the prefix "product" to their product.
    """
    targets = [value for name, value in values.items() if name in comparison.rank_variables]
    if comparison.operator.startswith("product"):
        targets = [prod(targets)]
    return all(compares(comparison)(value, comparison.value) for value in targets)


def compares(comparison: Comparison) -> Callable[[Any, float], Any]:
    """Return a function (number or array, limit) -> bool or array for the operator of a comparison.

    The prefix "product" is ignored: the caller multiplies the values first.
    """
    return _COMPARE[comparison.operator.removeprefix("product")]


def usage(dim: SpatialDim, lanes: int) -> float:
    """Return the used fraction of a dimension: lanes / fanout * usage_scale (theory/model.md §8.2).

    `lanes`: instances along the dimension that work.
    """
    return lanes / dim.fanout * dim.usage_scale


def free_variables(dim: SpatialDim, einsum: Einsum, banned: frozenset[str]) -> tuple[str, ...]:
    """Return the rank variables that may be distributed over a fanout dimension.

    Those of tensors named in the dimension's `reuse` (all its instances must share one tile of
    them) and those in `banned` may not. In the order of the Einsum's bounds.
    """
    reused = [access for access in einsum.accesses if access.tensor in dim.reuse]
    excluded = banned.union(*(access.rank_variables for access in reused))
    return tuple(v for v in einsum.bounds if v not in excluded)


def bounds_in_effect(
    dim: SpatialDim,
    einsum: Einsum,
    conventions: Conventions,
    banned: frozenset[str] = frozenset(),
) -> tuple[Comparison, ...]:
    """Return those loop_bounds of a dimension that restrict how many lanes a variable takes.

    Under the default conventions that is all of them. Under "accelforge", a bound on a set of
    tensors is dropped, and variables that `reuse`, `banned` or a bound of one lane removes are
    taken out of the other bounds (theory/model.md §8.2). `banned`: rank variables without a
    spatial loop here.
    """
    if conventions.all_loop_bounds:
        return dim.loop_bounds
    bounds = [bound for bound in dim.loop_bounds if not bound.of_tensors]
    removing = [b for b in bounds if b.value == 1 and b.operator.endswith(("==", "<="))]
    removed = set(einsum.bounds) - set(free_variables(dim, einsum, banned))
    removed.update(*(bound.rank_variables for bound in removing))
    restricting = [
        replace(bound, rank_variables=bound.rank_variables - removed)
        for bound in bounds
        if bound not in removing
    ]
    variables = frozenset(einsum.bounds)
    return (*removing, *(bound for bound in restricting if bound.rank_variables & variables))


def lane_choices(
    dim: SpatialDim,
    einsum: Einsum,
    variables: tuple[str, ...],
    bounds: Sequence[Comparison],
    uneven: frozenset[str] = frozenset(),
) -> tuple[Choice, ...]:
    """Enumerate the lanes (instances) that each variable may take along one fanout dimension.

    Result: tuples with one number per item of `variables`, whose product is at most the fanout (and
    whose usage is at most 1) and that satisfy `bounds`. Lanes divide the variable's bound, except
    over the variables in `uneven`, which take any number up to the bound and the fanout.
    """
    factors = [
        range(1, min(einsum.bounds[v], dim.fanout) + 1)
        if v in uneven
        else divisors(einsum.bounds[v])
        for v in variables
    ]

    def extend(chosen: Choice, lanes: int) -> Iterator[Choice]:
        if len(chosen) == len(factors):
            yield chosen
            return
        for factor in factors[len(chosen)]:
            if lanes * factor > dim.fanout or usage(dim, lanes * factor) > 1 + _ROUNDING:
                break
            yield from extend((*chosen, factor), lanes * factor)

    def admitted(chosen: Choice) -> bool:
        values = dict.fromkeys(einsum.bounds, 1) | dict(zip(variables, chosen, strict=True))
        return all(holds(bound, values) for bound in bounds)

    return tuple(chosen for chosen in extend((), 1) if admitted(chosen))


@dataclass(frozen=True, slots=True)
class PathDimension:
    """A fanout dimension of the path with its choices of lanes before min_usage is applied.

    `level`: position of its component on the path, 0 for the outermost; `dim`: the dimension as in
    the architecture file; `loops`: its variables and choices of lanes.
    """

    level: int
    dim: SpatialDim
    loops: SpatialLoops


CuttableTiles = Mapping[str, tuple[int, ...]]  # uneven variable -> tiles an uneven loop may cut
NO_CUTTABLE_TILES: CuttableTiles = MappingProxyType({})
TileFits = Callable[[int, Mapping[str, int]], bool]  # (level, tile of the lanes below it) -> bool


class UnlimitedCapacity:
    """A capacity check that always passes and remembers the largest tiles it was asked about.

    Used to find spatial choices once without regard to capacity. `widest`: level of the path to
    the largest extent, in values, asked for per rank variable.
    """

    def __init__(self) -> None:
        self.widest: dict[int, dict[str, int]] = {}

    def __call__(self, level: int, tile: Mapping[str, int]) -> bool:
        widest = self.widest.setdefault(level, dict(tile))
        for variable, extent in tile.items():
            widest[variable] = max(widest[variable], extent)
        return True

    def within(self, fits: TileFits) -> bool:
        """Tell whether `fits` accepts the largest tile remembered at each level.

        If so, a search with `fits` finds the same choices as the one without limits did. `fits`:
        (level of the path, extent per rank variable) -> bool.
        """
        return all(fits(level, tile) for level, tile in self.widest.items())


def apply_min_usage(
    dims: Sequence[PathDimension],
    einsum: Einsum,
    fits: TileFits,
    cuttable: CuttableTiles = NO_CUTTABLE_TILES,
) -> tuple[SpatialLoops, ...]:
    """Keep the lanes that reach min_usage of each dimension; else those of the highest usage.

    `dims`: from the outermost to the innermost. The innermost decides first, the outer ones choose
    from what it left of each rank variable (theory/model.md §8.2, theory/lattice.md §8). `fits`:
    (level, extent per rank variable) -> whether the memory of that level can hold the tiles that
    feed the lanes below; lanes that no tile can feed do not count. `cuttable`: tiles that an
    uneven loop may cut, by variable. If no lanes fit at all, and for copy Einsums, all choices
    stay.
    """
    if einsum.is_copy or all(dim.dim.min_usage <= 0 for dim in dims):
        return tuple(dim.loops for dim in dims)
    return _MinUsage(dims, einsum, fits, cuttable).choices()


class _MinUsage:
    """Finds the highest usage up to its min_usage that each dimension can reach, innermost first.

    Usage: lanes / fanout * usage_scale.
    """

    def __init__(
        self,
        dims: Sequence[PathDimension],
        einsum: Einsum,
        fits: TileFits,
        cuttable: CuttableTiles,
    ) -> None:
        self._dims = dims
        self._einsum = einsum
        self._fits = fits
        self._cuttable = cuttable
        self._usages = [0.0] * len(dims)  # required of each dimension so far

    def choices(self) -> tuple[SpatialLoops, ...]:
        """Return the dimensions with the choices that are left.

        All choices if no lanes fit at all.
        """
        reachable: list[set[Choice]] = []
        for index in range(len(self._dims) - 1, -1, -1):
            if self._dims[index].dim.min_usage <= 0:
                continue
            highest = self._raise_usage(index)
            if highest is None:
                return tuple(dim.loops for dim in self._dims)
            reachable = highest
        if self._cuttable:
            usages = zip(self._dims, self._usages, strict=True)
            return tuple(_with_usage(dim, required) for dim, required in usages)
        return tuple(
            replace(dim.loops, choices=tuple(c for c in dim.loops.choices if c in reached))
            for dim, reached in zip(self._dims, reachable, strict=True)
        )

    def _raise_usage(self, index: int) -> list[set[Choice]] | None:
        """Require the highest usage of dimension `index` that leaves all dimensions some choice.

        Return the choices left to each dimension; None if there is no such usage.
        """
        for required in _usages_to_try(self._dims[index]):
            self._usages[index] = required
            reachable = self._reachable()
            if reachable is not None:
                return reachable
        return None

    def _reachable(self) -> list[set[Choice]] | None:
        """Return the choices of each dimension that fit together with choices of the others.

        None if there is no combination that fits the memories and divides the bounds.
        """
        extents: set[Extents] = {(1,) * len(self._einsum.bounds)}
        reachable: list[set[Choice]] = []
        depth = max((dim.level for dim in self._dims), default=0) + 1
        for index in range(len(self._dims) - 1, -1, -1):
            dim = self._dims[index]
            extents = self._fitting(extents, range(dim.level, depth))
            depth = min(depth, dim.level)
            steps = [
                (lanes, extent_above)
                for lanes in self._candidates(index)
                for extent_below in extents
                for extent_above in self._extents_above(dim.loops, lanes, extent_below)
            ]
            extents = {extent_above for _, extent_above in steps}
            reachable.append({lanes for lanes, _ in steps})
        if not self._fitting(extents, range(depth)):
            return None
        return reachable[::-1]

    def _candidates(self, index: int) -> Sequence[Choice]:
        """Return the choices of dimension `index` that reach the usage required of it so far.

        With uneven variables, of which there are many choices, one lane stands for a dimension that
        need not reach any usage: more lanes need larger tiles, so that no other choice fits if this
        one does not.
        """
        dim, required = self._dims[index], self._usages[index]
        one_lane = (1,) * len(dim.loops.variables)
        if self._cuttable and required <= 0 and one_lane in dim.loops.choices:
            return (one_lane,)
        return _with_usage(dim, required).choices

    def _fitting(self, extents: set[Extents], levels: range) -> set[Extents]:
        names = self._einsum.bounds
        tiles = {extent: dict(zip(names, map(abs, extent), strict=True)) for extent in extents}
        return {
            extent
            for extent in extents
            if all(self._fits(level, tiles[extent]) for level in levels)
        }

    def _extents_above(
        self, loops: SpatialLoops, lanes: Choice, extents_below: Extents
    ) -> Iterator[Extents]:
        """Yield the tile extents above a dimension, for some lanes and the extents below it."""
        factors = dict(zip(loops.variables, lanes, strict=True))
        options = [
            _extents(used, factors.get(v, 1), bound, self._cuttable.get(v, ()))
            for (v, bound), used in zip(self._einsum.bounds.items(), extents_below, strict=True)
        ]
        yield from product(*options)


def _with_usage(dim: PathDimension, required: float) -> SpatialLoops:
    """Return the dimension with only the choices whose usage is at least `required`."""
    loops = dim.loops
    chosen = [c for c in loops.choices if usage(dim.dim, prod(c)) >= required - _ROUNDING]
    return replace(loops, choices=tuple(chosen))


def _usages_to_try(dim: PathDimension) -> list[float]:
    """Return min_usage, then the usages of the choices below it, descending."""
    usages = {usage(dim.dim, prod(choice)) for choice in dim.loops.choices}
    lower_usages = sorted((u for u in usages if u < dim.dim.min_usage - _ROUNDING), reverse=True)
    return [dim.dim.min_usage, *lower_usages]


@cache
def _extents(used: int, lanes: int, bound: int, cuttable: tuple[int, ...]) -> list[int]:
    """Return the extents above `lanes` tiles of extent `used` along one variable.

    `bound`: of the variable; `cuttable`: tiles that an uneven loop may cut. E.g. 3 lanes of tiles
    of 2 make 6, or 5 if an uneven loop may cut 5, which is returned as -5: above it no other uneven
    loop may stand.
    """
    even = used * lanes
    if used < 0 or not cuttable:
        return [even] if bound % even == 0 else []
    extents = [even] if even <= bound else []
    extents += [-tile for tile in cuttable if tile % used and -(-tile // used) == lanes]
    return extents
