"""The values that move, from the tiles of each rank variable (imperfect.md §2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from tilewright.mapper.model.traffic.padded_spans import Cut, spanned_by_cuts
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.workload.einsum import Affine, TensorAccess

CountedSize = tuple[Floats, Floats]  # how many tiles, and their size
Cuts = tuple[Ints, Ints, Ints]  # bound, period, and tile, as in a Cut


@dataclass(frozen=True, slots=True)
class FormGroup:
    """Index expressions of a tensor that share no variable with its other expressions.

    `variables`: their rank variables; `forms`: the affine expressions. Counts of values of
    different groups multiply. `padded_size`: positions of the rank if it is padded, so that zeros
    beside it do not move; the group is one expression then.
    """

    variables: tuple[str, ...]
    forms: tuple[Affine, ...]
    padded_size: int | None = None

    @property
    def is_single(self) -> bool:
        """Whether the group is one index that is one variable, with factor 1 or -1.

        Each value of the variable is then one of the tensor, so that tile sizes add up.
        """
        form = self.forms[0]
        return len(self.forms) == 1 and form.is_single and abs(form.terms[0][1]) == 1


def groups_of(access: TensorAccess) -> tuple[FormGroup, ...]:
    """Split the index expressions of a tensor into groups without a common variable.

    For `A[m, p + r, r]`: m alone; p + r with r.
    """
    padded = dict(access.clipped)  # their variables stand in no other rank
    groups: list[FormGroup] = []
    for number, (_, form) in enumerate(access.projection):
        names, forms = [name for name, _ in form.terms], [form]
        apart = []
        for group in groups:
            if set(group.variables) & set(names):
                names, forms = [*group.variables, *names], [*group.forms, *forms]
            else:
                apart.append(group)
        variables = tuple(dict.fromkeys(names))
        groups = [*apart, FormGroup(variables, tuple(forms), padded.get(number))]
    return tuple(groups)


def moved_inside(group: FormGroup, cuts: Callable[[str], Cuts]) -> Floats:
    """Return how many values of a padded rank move over all visits, without zeros, per label.

    `group`: its index; `cuts(v)`: how a variable is cut into tiles (theory/model.md §3.7).
    """
    (form,), size = group.forms, group.padded_size
    assert size is not None
    if not form.terms:
        return np.full(1, float(spanned_by_cuts(form, size, ()).inside))
    columns = [cuts(name) for name, _ in form.terms]
    numbers = np.stack([column for cut in columns for column in cut], axis=1)
    distinct, inverse = np.unique(numbers, axis=0, return_inverse=True)
    values = [
        spanned_by_cuts(form, size, tuple(Cut(*row[i : i + 3]) for i in range(0, len(row), 3)))
        for row in distinct.tolist()
    ]
    return np.array([v.inside for v in values], np.float64)[inverse.reshape(-1)]


def moved_values(
    group: FormGroup, sizes: Callable[[str], Sequence[CountedSize]], extent: Callable[[str], Floats]
) -> Floats:
    """Return how many values of a group of indices move over all visits, shape (labels,).

    `sizes(v)`: pairs (number, size) of the different tiles of a variable; `extent(v)`: the sum of
    number times size. Labels are partial mappings (theory/imperfect.md §2).
    """
    if group.is_single:
        return extent(group.variables[0])
    total: Floats = np.zeros(1)
    for chosen in product(*(sizes(v) for v in group.variables)):
        values: Floats = np.ones(1)
        size_of = {v: size for v, (_, size) in zip(group.variables, chosen, strict=True)}
        for often, _ in chosen:
            values = values * often
        for form in group.forms:
            values = values * span(form, size_of)
        total = total + values
    return total


def all_moved(
    groups: Sequence[FormGroup],
    variables: Iterable[str],
    moved: Callable[[FormGroup], Floats],
    visits: Callable[[str], Floats],
) -> Floats:
    """Return how many values of a tensor move over all visits, shape (labels,).

    `groups`: its indices, of which `moved(g)` counts the values; `visits(v)`: those of a variable,
    for each of the Einsum's `variables` that stands in no index.
    """
    total: Floats = np.ones(1)
    for group in groups:
        total = total * moved(group)
    indexed = {v for group in groups for v in group.variables}
    for v in variables:
        if v not in indexed:
            total = total * visits(v)
    return total


def tile_values(access: TensorAccess, sizes: Mapping[str, Any]) -> Floats:
    """Return how many values of a tensor tiles of some sizes span.

    `sizes`: tile sizes in values by rank variable, arrays of one shape, as is the result.
    """
    values: Floats = np.ones(1)
    for _, form in access.projection:
        values = values * span(form, sizes)
    return values


def span(form: Affine, sizes: Mapping[str, Any]) -> Floats:
    """Return the positions that an index expression spans, for tiles of some sizes.

    `sizes`: rank variable to tile sizes in values, shape (labels,); so is the result. Over p = 4
    and r = 3, `2*p + r` spans 9. A label is the tuple of costs of a partial mapping.
    """
    positions: Floats = np.full(1, float(form.point_extent))
    for name, factor in form.terms:
        positions = positions + abs(factor) * (sizes[name] - 1)
    return positions


def least_moved(
    group: FormGroup, bounds: dict[str, int], fewest: Callable[[str], Floats]
) -> Floats:
    """Return a lower bound of the values that move for a group of indices.

    `bounds`: values of each variable; `fewest`: least number of tiles of a variable, by class.
    With each variable in one expression the count is linear in each number of tiles, so that the
    minimum is at a corner of the possible numbers. Without the zeros of a padded rank it is less by
    at most as many as single points read, times the largest factor (theory/model.md §3.7).
    """
    if group.padded_size is not None:
        return _least_inside(group, bounds, fewest)
    if group.is_single:
        return np.full(1, float(bounds[group.variables[0]]))
    if len(group.forms) > 1:
        bound: Floats = np.ones(1)
        for v in group.variables:
            bound = bound * fewest(v)
        return bound
    corners = []
    for ends in product((False, True), repeat=len(group.variables)):
        tiles = {
            v: np.full(1, float(bounds[v])) if full else fewest(v)
            for v, full in zip(group.variables, ends, strict=True)
        }
        corners.append(_linear(group.forms[0], bounds, tiles))
    return reduce(np.minimum, corners)


def _least_inside(
    group: FormGroup, bounds: dict[str, int], fewest: Callable[[str], Floats]
) -> Floats:
    """Return a lower bound of the values of a padded rank that move, without zeros."""
    (form,), size = group.forms, group.padded_size
    assert size is not None
    cuts = tuple(Cut(bounds[name], bounds[name], 1) for name, _ in form.terms)
    inside, points = spanned_by_cuts(form, size, cuts)
    zeros = max((abs(factor) for _, factor in form.terms), default=1) * (points - inside)
    whole = least_moved(FormGroup(group.variables, group.forms), bounds, fewest)
    return np.maximum(whole - zeros, 0.0)


def _linear(form: Affine, bounds: dict[str, int], tiles: dict[str, Floats]) -> Floats:
    """Return the positions that one index expression covers, summed over all visits.

    `bounds`: of the rank variables; `tiles`: number of tiles of each variable.
    """
    total = form.point_extent * _times(tiles, None)
    for name, factor in form.terms:
        total = total + abs(factor) * (bounds[name] - tiles[name]) * _times(tiles, name)
    return total


def _times(tiles: dict[str, Floats], but: str | None) -> Floats:
    result: Floats = np.ones(1)
    for name, count in tiles.items():
        if name != but:
            result = result * count
    return result
