"""Spatial choices: how the rank variables are dealt over one dimension of a fanout."""

from __future__ import annotations

import operator as op
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Any

from tilewright.arch.components.components import Comparison, SpatialDim
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


@dataclass(frozen=True, slots=True)
class SpatialLoops:
    """Dimension `name` of `component`; `choices[i]` gives the lanes of each of `variables`."""

    component: str
    name: str
    variables: tuple[str, ...]
    choices: tuple[tuple[int, ...], ...]


def divisors(number: int) -> tuple[int, ...]:
    """Return the divisors of `number`, ascending."""
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return tuple(sorted({*small, *(number // d for d in small)}))


def holds(comparison: Comparison, values: Mapping[str, int]) -> bool:
    """Check a comparison on one value per rank variable; its product forms multiply them."""
    targets = [value for name, value in values.items() if name in comparison.rank_variables]
    if comparison.operator.startswith("product"):
        targets = [prod(targets)]
    return all(compares(comparison)(value, comparison.value) for value in targets)


def compares(comparison: Comparison) -> Callable[[Any, float], Any]:
    """Return how a comparison compares a number, or an array, with its value."""
    return _COMPARE[comparison.operator.removeprefix("product")]


def usage(dim: SpatialDim, lanes: int) -> float:
    """Return the used fraction of a dimension (model.md §8.2)."""
    return lanes / dim.fanout * dim.usage_scale


def free_variables(dim: SpatialDim, einsum: Einsum, banned: frozenset[str]) -> tuple[str, ...]:
    """Return the variables that may be dealt over `dim`: `reuse` and `banned` exclude some."""
    reused = [access for access in einsum.accesses if access.tensor in dim.reuse]
    taken = banned.union(*(access.rank_variables for access in reused))
    return tuple(v for v in einsum.bounds if v not in taken)


def bounds_in_effect(
    dim: SpatialDim,
    einsum: Einsum,
    conventions: Conventions,
    banned: frozenset[str] = frozenset(),
) -> tuple[Comparison, ...]:
    """Return the loop bounds of `dim` that restrict its lanes.

    As in AccelForge, a bound on a set of tensors selects nothing, and loops that `reuse` or a bound
    of one removes, or that are `banned`, are no target of the others (model.md §8.2).
    """
    if conventions.all_loop_bounds:
        return dim.loop_bounds
    bounds = [bound for bound in dim.loop_bounds if not bound.of_tensors]
    removing = [b for b in bounds if b.value == 1 and b.operator.endswith(("==", "<="))]
    removed = set(einsum.bounds) - set(free_variables(dim, einsum, banned))
    removed.update(*(bound.rank_variables for bound in removing))
    rest = [
        replace(bound, rank_variables=bound.rank_variables - removed)
        for bound in bounds
        if bound not in removing
    ]
    own = frozenset(einsum.bounds)
    return (*removing, *(bound for bound in rest if bound.rank_variables & own))


def lane_choices(
    dim: SpatialDim,
    einsum: Einsum,
    variables: tuple[str, ...],
    bounds: Sequence[Comparison],
    uneven: frozenset[str] = frozenset(),
) -> tuple[tuple[int, ...], ...]:
    """Enumerate the lanes of `variables` that the fanout and its loop `bounds` admit.

    They are perfect factors, except over the variables that may be `uneven`.
    """
    lists = [
        range(1, min(einsum.bounds[v], dim.fanout) + 1)
        if v in uneven
        else divisors(einsum.bounds[v])
        for v in variables
    ]

    def extend(chosen: tuple[int, ...], lanes: int) -> Iterator[tuple[int, ...]]:
        if len(chosen) == len(lists):
            yield chosen
            return
        for factor in lists[len(chosen)]:
            if lanes * factor > dim.fanout or usage(dim, lanes * factor) > 1 + _ROUNDING:
                break
            yield from extend((*chosen, factor), lanes * factor)

    def admitted(chosen: tuple[int, ...]) -> bool:
        values = dict.fromkeys(einsum.bounds, 1) | dict(zip(variables, chosen, strict=True))
        return all(holds(bound, values) for bound in bounds)

    return tuple(chosen for chosen in extend((), 1) if admitted(chosen))


@dataclass(frozen=True, slots=True)
class Dim:
    """A dimension with its choices before min_usage; `level`: its component's place on the path."""

    level: int
    dim: SpatialDim
    fan: SpatialLoops


Wholes = Mapping[str, tuple[int, ...]]
NONE: Wholes = MappingProxyType({})
Room = Callable[[int, Mapping[str, int]], bool]  # (level, tile of the lanes below it) -> it fits


class Unlimited:
    """Room without a limit that notes the largest extents asked for at each level."""

    def __init__(self) -> None:
        self.widest: dict[int, dict[str, int]] = {}

    def __call__(self, level: int, tile: Mapping[str, int]) -> bool:
        seen = self.widest.setdefault(level, dict(tile))
        for variable, extent in tile.items():
            seen[variable] = max(seen[variable], extent)
        return True

    def within(self, room: Room) -> bool:
        """Tell whether `room` would have let pass everything that was asked for."""
        return all(room(level, tile) for level, tile in self.widest.items())


def apply_min_usage(
    dims: Sequence[Dim], einsum: Einsum, room: Room, wholes: Wholes = NONE
) -> tuple[SpatialLoops, ...]:
    """Keep the choices that reach min_usage; where none can, those of the highest usage.

    `dims` run from the outermost to the innermost. The innermost dimension decides first, and the
    others choose from what it left of each rank variable (model.md §8.2, lattice.md §8).
    `room` tells whether the memory of a level can hold the tiles that the lanes below it work on:
    lanes that no tile can feed do not count as reachable. `wholes`: the tiles of each uneven
    variable that an uneven loop may cut.
    """
    plain = tuple(dim.fan for dim in dims)
    floors = [0.0] * len(dims)
    if einsum.is_copy or all(dim.dim.min_usage <= 0 for dim in dims):
        return plain
    alive: list[set[tuple[int, ...]]] | None = None
    for index in range(len(dims) - 1, -1, -1):
        if dims[index].dim.min_usage <= 0:
            continue
        for floor in _floors(dims[index]):
            floors[index] = floor
            alive = _alive(dims, einsum, room, floors, wholes)
            if alive is not None:
                break
        if alive is None:
            return plain  # nothing fits whatever the lanes
    if wholes:
        return tuple(_above_floor(one, floor) for one, floor in zip(dims, floors, strict=True))
    assert alive is not None
    return tuple(
        replace(fan, choices=tuple(c for c in fan.choices if c in kept))
        for fan, kept in zip(plain, alive, strict=True)
    )


def _above_floor(one: Dim, floor: float) -> SpatialLoops:
    """Return the dimension with the choices of at least a usage."""
    kept = [c for c in one.fan.choices if usage(one.dim, prod(c)) >= floor - _ROUNDING]
    return replace(one.fan, choices=tuple(kept))


def _floors(one: Dim) -> list[float]:
    """Return the usages to ask for in turn: min_usage, then what lies below it, down to all."""
    used = {usage(one.dim, prod(choice)) for choice in one.fan.choices}
    below = sorted((u for u in used if u < one.dim.min_usage - _ROUNDING), reverse=True)
    return [one.dim.min_usage, *below]


def _alive(
    dims: Sequence[Dim],
    einsum: Einsum,
    room: Room,
    floors: Sequence[float],
    wholes: Wholes,
) -> list[set[tuple[int, ...]]] | None:
    """Return the choices of each dimension that the inner ones leave; None if one has none.

    With uneven variables, of which there are many choices, only one lane stands for a dimension
    that need not reach any usage: more lanes need larger tiles, so that no other choice fits then.
    """
    reached: set[tuple[int, ...]] = {(1,) * len(einsum.bounds)}
    alive: list[set[tuple[int, ...]]] = []
    depth = max((one.level for one in dims), default=0) + 1
    for index in range(len(dims) - 1, -1, -1):
        one = dims[index]
        reached = _fitting(einsum, room, reached, range(one.level, depth))
        depth = min(depth, one.level)
        steps = [
            (lanes, after)
            for lanes in _asked(one, floors[index], uneven=bool(wholes))
            for spent in reached
            for after in _spend(one.fan, lanes, spent, (einsum, wholes))
        ]
        reached = {after for _, after in steps}
        alive.append({lanes for lanes, _ in steps})
    if not _fitting(einsum, room, reached, range(depth)):
        return None
    return alive[::-1]


def _asked(one: Dim, floor: float, *, uneven: bool) -> Sequence[tuple[int, ...]]:
    single = (1,) * len(one.fan.variables)
    if uneven and floor <= 0 and single in one.fan.choices:
        return (single,)
    return _above_floor(one, floor).choices


def _fitting(
    einsum: Einsum, room: Room, reached: set[tuple[int, ...]], levels: range
) -> set[tuple[int, ...]]:
    named = {spent: dict(zip(einsum.bounds, map(abs, spent), strict=True)) for spent in reached}
    return {s for s in reached if all(room(level, named[s]) for level in levels)}


def _spend(
    fan: SpatialLoops, lanes: tuple[int, ...], spent: tuple[int, ...], rules: tuple[Einsum, Wholes]
) -> Iterator[tuple[int, ...]]:
    """Yield the extents that lanes reach from those below them; negative: an uneven loop is used.

    `rules`: the Einsum, and what its uneven loops may cut.
    """
    einsum, wholes = rules
    factors = dict(zip(fan.variables, lanes, strict=True))
    options = [
        _extents(used, factors.get(v, 1), bound, wholes.get(v, ()))
        for (v, bound), used in zip(einsum.bounds.items(), spent, strict=True)
    ]
    yield from product(*options)


@cache
def _extents(used: int, lanes: int, bound: int, wholes: tuple[int, ...]) -> list[int]:
    """Return the extents of one variable that `lanes` tiles of extent `used` can make up."""
    after = used * lanes
    if used < 0 or not wholes:
        return [after] if bound % after == 0 else []
    found = [after] if after <= bound else []
    found += [-whole for whole in wholes if whole % used and -(-whole // used) == lanes]
    return found
