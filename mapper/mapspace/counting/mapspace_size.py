"""Count mapspaces under many sets of rules: exactly where that is fast, else at least so many."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import islice

from tilewright.arch.components.components import Memory
from tilewright.mapper.mapspace.counting.closed_form import ClosedFormCounts, CountCache
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.templates.placement import Placement
from tilewright.mapper.templates.problem import Problem

COUNTING = 20_000_000  # steps of counting the points that fit, per size: less than a second
LARGEST = 3e7  # work of counting the points, per size: less than a second
_SLOTS = 20  # of a template, about
_TEMPLATES = 1000  # that are made to be counted one by one


@dataclass(frozen=True, slots=True)
class CountedSizes:
    """Numbers of templates, of points, and of points that fit all capacities, of some mapspaces.

    A template says what each memory holds; a point adds a tile below each slot. Fields are exact
    numbers, or None if there are too many to count. `at_least`: lower bounds of the three numbers.
    """

    templates: int | None
    points: int | None
    fitting: int | None
    at_least: tuple[int, int, int] = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class _CountedPlacements:
    """Numbers of templates, points and fitting points of some placements.

    `exact`: per number whether it is exact; else it is a lower bound.
    """

    counted: tuple[int, int, int]
    exact: tuple[bool, bool, bool] = (True, True, True)


class MapspaceSizes:
    """Counts mapspaces of one Einsum under many sets of rules, each different set once.

    Used to explain which constraint removes how many mappings.
    """

    def __init__(self) -> None:
        self._memo = CountCache()
        self._known: dict[Hashable, list[_CountedPlacements]] = {}
        self._problems: dict[Hashable, Problem] = {}

    def of(self, spaces: Sequence[Mapspace]) -> CountedSizes:
        """Return the summed size of some mapspaces of the Einsum.

        Mapspaces with mappings in common count these more than once. A number is None if it is not
        exact for one of them.
        """
        sizes = [size for space in spaces for size in self._of(space)]
        sums = [sum(size.counted[i] for size in sizes) for i in range(3)]
        exact = [all(size.exact[i] for size in sizes) for i in range(3)]
        exact_sums = [total if sure else None for total, sure in zip(sums, exact, strict=True)]
        return CountedSizes(
            exact_sums[0], exact_sums[1], exact_sums[2], (sums[0], sums[1], sums[2])
        )

    def _of(self, space: Mapspace) -> list[_CountedPlacements]:
        key, dims = _key_of(space), _dims_of(space)
        if key not in self._known:
            space.problem.share_spatial_choices(self._problems.setdefault(dims, space.problem))
            self._known[key] = _parts(space, self._memo)
        return self._known[key]


def _key_of(space: Mapspace) -> Hashable:
    """Return a key of the rules on which a mapspace's size depends, for one Einsum and path."""
    sizes = tuple((c.name, c.size) for c in space.problem.components if isinstance(c, Memory))
    rules = tuple(
        tuple(
            (r.no_refetch_from_above, r.no_resend_to_below, r.tensor_order_options,
             r.force_memory_hierarchy_order, r.tile_shape)
            for r in placement.rules
        )
        for placement in space.placements
    )  # fmt: skip
    return tuple(p.kept_tensors for p in space.placements), rules, sizes, _dims_of(space)


def _dims_of(space: Mapspace) -> Hashable:
    return tuple((c.name, c.spatial) for c in space.problem.components)


def _parts(space: Mapspace, memo: CountCache) -> list[_CountedPlacements]:
    counts = ClosedFormCounts(space.problem, memo)
    plain: list[tuple[int, int, int]] = []
    uncounted: list[Placement] = []
    for placement in space.placements:
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
    return [*counted, _one_by_one(space, uncounted)] if uncounted else counted


def _one_by_one(space: Mapspace, placements: Sequence[Placement]) -> _CountedPlacements:
    """Count the templates of some placements one after the other; lower bounds if they are many."""
    templates = list(islice(space.each_template(placements), _TEMPLATES + 1))
    if len(templates) > _TEMPLATES:
        return _CountedPlacements((len(templates), 0, 0), (False, False, False))
    narrowed = space.narrowed(templates)
    if _work(narrowed) > LARGEST:
        return _CountedPlacements((len(templates), 0, 0), (True, False, False))
    size, fitting = narrowed.size, narrowed.count_fitting(COUNTING)
    points = size.points if size.exact else fitting or 0
    return _CountedPlacements(
        (len(templates), points, fitting or 0), (True, size.exact, fitting is not None)
    )


def _work(space: Mapspace) -> float:
    """Return the estimated work of counting a mapspace's points: tile shapes times slots."""
    if not space.templates:
        return 0.0
    lanes = sum(len(loops.choices) for loops in space.problem.spatial_loops(space.templates[0]))
    states = float(Lattice(space.einsum.bounds).size)
    return states * len(space.templates) * (_SLOTS + lanes)
