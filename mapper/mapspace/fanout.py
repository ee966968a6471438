"""Spatial choices: how the rank variables are dealt over one dimension of a fanout."""

from __future__ import annotations

import operator as op
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tilewright.arch.components import Comparison, SpatialDim
from tilewright.mapper.einsum import Einsum

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": op.eq,
    "<=": op.le,
    ">=": op.ge,
    "<": op.lt,
    ">": op.gt,
}
_ROUNDING = 1e-9  # usage is a quotient of small integers; the file's min_usage is a float


@dataclass(frozen=True, slots=True)
class Fan:
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
        compare = _COMPARE[comparison.operator.removeprefix("product")]
        return compare(prod(targets), comparison.value)
    return all(_COMPARE[comparison.operator](value, comparison.value) for value in targets)


def usage(dim: SpatialDim, lanes: int) -> float:
    """Return the used fraction of a dimension (accelforge.md §2.7)."""
    return lanes / dim.fanout * dim.usage_scale


def free_variables(dim: SpatialDim, einsum: Einsum, banned: frozenset[str]) -> tuple[str, ...]:
    """Return the variables that may be dealt over `dim`: `reuse` and `banned` exclude some."""
    reused = [access for access in einsum.accesses if access.tensor in dim.reuse]
    taken = banned.union(*(access.rank_variables for access in reused))
    return tuple(v for v in einsum.bounds if v not in taken)


def lane_choices(
    dim: SpatialDim, einsum: Einsum, variables: tuple[str, ...], bounds: Sequence[Comparison]
) -> tuple[tuple[int, ...], ...]:
    """Enumerate the perfect factors of `variables` that the fanout and its loop `bounds` admit."""
    lists = [divisors(einsum.bounds[v]) for v in variables]

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


def apply_min_usage(dims: list[tuple[SpatialDim, Fan]], einsum: Einsum) -> tuple[Fan, ...]:
    """Keep the choices that reach min_usage; where none can, those of the highest usage.

    `dims` run from the outermost to the innermost. The innermost dimension decides first, and the
    others choose from what it left of each rank variable (accelforge.md §2.7, lattice-dp.md §5).
    """
    if einsum.is_copy or all(dim.min_usage <= 0 for dim, _ in dims):
        return tuple(fan for _, fan in dims)
    reached: set[tuple[int, ...]] = {(1,) * len(einsum.bounds)}
    kept: list[Fan] = []
    for dim, fan in reversed(dims):
        steps = [
            (lanes, spent, usage(dim, prod(lanes)))
            for lanes in fan.choices
            for spent in reached
            if _fits(fan, lanes, spent, einsum)
        ]
        best = max((used for _, _, used in steps), default=0.0)
        floor = min(dim.min_usage, best) - _ROUNDING
        steps = [step for step in steps if step[2] >= floor]
        reached = {_spend(fan, lanes, spent, einsum) for lanes, spent, _ in steps}
        alive = {lanes for lanes, _, _ in steps}
        choices = tuple(lanes for lanes in fan.choices if lanes in alive)
        kept.append(Fan(fan.component, fan.name, fan.variables, choices))
    return tuple(reversed(kept))


def _spend(
    fan: Fan, lanes: tuple[int, ...], spent: tuple[int, ...], einsum: Einsum
) -> tuple[int, ...]:
    factors = dict(zip(fan.variables, lanes, strict=True))
    return tuple(used * factors.get(v, 1) for v, used in zip(einsum.bounds, spent, strict=True))


def _fits(fan: Fan, lanes: tuple[int, ...], spent: tuple[int, ...], einsum: Einsum) -> bool:
    after = _spend(fan, lanes, spent, einsum)
    return all(bound % used == 0 for bound, used in zip(einsum.bounds.values(), after, strict=True))
