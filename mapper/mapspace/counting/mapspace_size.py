"""Count mapspaces under many sets of rules: exactly where that is fast, else at least so many."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from tilewright.arch.components.components import Memory
from tilewright.mapper.mapspace.counting.closed_form import ClosedFormCounts, CountCache
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.templates.placement import Placement
from tilewright.mapper.templates.problem import Problem

COUNTING = 20_000_000  # steps of counting the points that fit, per size: less than a second
LARGEST = 3e7  # work of counting the points, per size: less than a second
LARGEST_OF_ONE = 1e9  # the same where one size is asked for: a few seconds
MOST_PLACEMENTS = 20_000  # that are looked at, per size: less than two seconds
_SLOTS = 20  # of a template, about
_TEMPLATES = 1000  # that are made to be counted one by one


@dataclass(frozen=True, slots=True)
class CountedSizes:
    """Numbers of templates, of points, and of points that fit all capacities, of some mapspaces.

    A template says what each memory holds; a point adds a tile below each slot. Fields are exact
    numbers, or None if there are too many to count. `at_least`, `at_most`: bounds of the three
    numbers; None: no upper bound is known.
    """

    templates: int | None
    points: int | None
    fitting: int | None
    at_least: tuple[int, int, int] = (0, 0, 0)
    at_most: tuple[int | None, int | None, int | None] = (None, None, None)


@dataclass(frozen=True, slots=True)
class _CountedPlacements:
    """Numbers of templates, points and fitting points of some placements.

    `exact`: per number whether it is exact; else it is a lower bound. `most_points`: upper bound of
    the points if they are not exact; None: none is known.
    """

    counted: tuple[int, int, int]
    exact: tuple[bool, bool, bool] = (True, True, True)
    most_points: int | None = None

    def most(self, number: int) -> int | None:
        """Return an upper bound of a number: 0 templates, 1 points, 2 those that fit."""
        known = (n for n in range(min(number, 1), number + 1) if self.exact[n])
        bounds = [self.counted[n] for n in known]
        if number and self.most_points is not None:
            bounds.append(self.most_points)
        return min(bounds, default=None)


class _Sum(NamedTuple):
    """A sum of numbers: its value if it is exact, a lower and an upper bound. None: not known."""

    exact: int | None
    least: int
    most: int | None


def _summed(sizes: Sequence[_CountedPlacements], number: int) -> _Sum:
    """Return the sum of a number: 0 templates, 1 points, 2 those that fit."""
    least = sum(size.counted[number] for size in sizes)
    is_exact = all(size.exact[number] for size in sizes)
    bounds = [size.most(number) for size in sizes]
    known = [bound for bound in bounds if bound is not None]
    most = sum(known) if len(known) == len(bounds) else None
    return _Sum(least if is_exact else None, least, most)


class MapspaceSizes:
    """Counts mapspaces of one Einsum under many sets of rules, each different set once.

    Used to explain which constraint removes how many mappings.
    """

    def __init__(self) -> None:
        self._memo = CountCache()
        self._known: dict[Hashable, list[_CountedPlacements]] = {}
        self._problems: dict[Hashable, Problem] = {}

    def of(self, spaces: Sequence[Mapspace], work: float = LARGEST) -> CountedSizes:
        """Return the summed size of some mapspaces of the Einsum.

        Mapspaces with mappings in common count these more than once. A number is None if it is not
        exact for one of them. `work`: most work of counting the points of what is new.
        """
        sizes = [size for space in spaces for size in self._of(space, work)]
        templates, points, fitting = (_summed(sizes, number) for number in range(3))
        return CountedSizes(
            templates.exact,
            points.exact,
            fitting.exact,
            (templates.least, points.least, fitting.least),
            (templates.most, points.most, fitting.most),
        )

    def _of(self, space: Mapspace, work: float) -> list[_CountedPlacements]:
        placements = tuple(islice(space.all_placements(), MOST_PLACEMENTS + 1))
        key, dims = _key_of(space, placements), _dims_of(space)
        if key not in self._known:
            space.problem.share_spatial_choices(self._problems.setdefault(dims, space.problem))
            self._known[key] = _parts(space, placements, self._memo, work)
            if len(placements) > MOST_PLACEMENTS:
                self._known[key].append(_CountedPlacements((0, 0, 0), (False, False, False)))
        return self._known[key]


def _key_of(space: Mapspace, placements: Sequence[Placement]) -> Hashable:
    """Return a key of the rules on which a mapspace's size depends, for one Einsum and path."""
    sizes = tuple((c.name, c.size) for c in space.problem.components if isinstance(c, Memory))
    rules = tuple(
        tuple(
            (r.no_refetch_from_above, r.no_resend_to_below, r.tensor_order_options,
             r.force_memory_hierarchy_order, r.tile_shape)
            for r in placement.rules
        )
        for placement in placements
    )  # fmt: skip
    return tuple(p.kept_tensors for p in placements), rules, sizes, _dims_of(space)


def _dims_of(space: Mapspace) -> Hashable:
    return tuple((c.name, c.spatial) for c in space.problem.components)


def _parts(
    space: Mapspace, placements: Sequence[Placement], memo: CountCache, work: float
) -> list[_CountedPlacements]:
    counts = ClosedFormCounts(space.problem, memo)
    if not counts.is_possible:
        return [_one_by_one(space, placements, work)]
    plain: list[tuple[int, int, int]] = []
    uncounted: list[Placement] = []
    for placement in placements:
        template = space.first_template(placement)
        if template is None:
            continue
        if counts.is_plain(placement, template):
            templates, points = counts.count(placement, template)
            plain.append((templates, points, points))
        else:
            uncounted.append(placement)
    sums = [sum(column) for column in zip(*plain, strict=True)] or [0, 0, 0]
    counted = [_CountedPlacements((sums[0], sums[1], sums[2]))]
    return [*counted, _one_by_one(space, uncounted, work)] if uncounted else counted


def _one_by_one(
    space: Mapspace, placements: Sequence[Placement], work: float
) -> _CountedPlacements:
    """Count the templates of some placements one after the other; bounds if they are many."""
    templates = list(islice(space.each_template(placements), _TEMPLATES + 1))
    if len(templates) > _TEMPLATES:
        return _CountedPlacements((len(templates), 0, 0), (False, False, False))
    narrowed = space.narrowed(templates)
    if _work(narrowed) > work:
        return _CountedPlacements((len(templates), 0, 0), (True, False, False))
    size, fitting = narrowed.size, narrowed.count_fitting(COUNTING)
    points = size.points if size.exact else fitting or 0
    return _CountedPlacements(
        (len(templates), points, fitting or 0),
        (True, size.exact, fitting is not None),
        size.points,
    )


def _work(space: Mapspace) -> float:
    """Return the estimated work of counting a mapspace's points: tile shapes times slots."""
    if not space.templates:
        return 0.0
    lanes = sum(len(loops.choices) for loops in space.problem.spatial_loops(space.templates[0]))
    states = float(Lattice(space.einsum.bounds).size)
    return states * len(space.templates) * (_SLOTS + lanes)
