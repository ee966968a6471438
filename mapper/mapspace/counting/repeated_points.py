"""Points that stand for the same mapping: which of them is meant, and how many mappings there are.

A mapping does not say how long the tiles of a holder shrink below it; the loops do. So points of
one template may share a mapping (distinct_points.py), and templates with and without runs of
holders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from tilewright.mapper.mapping.mapping import Mapping, Spatial, Temporal, Toll
from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.counting.count_fitting import count_fitting
from tilewright.mapper.mapspace.counting.count_fitting_walked import tight, walk_fitting
from tilewright.mapper.mapspace.counting.distinct_points import count_distinct, may_repeat
from tilewright.mapper.mapspace.locate import MapspacePoint, locate
from tilewright.mapper.mapspace.points import Points

_Passed = tuple[str, str, frozenset[tuple[str, int]]]  # Toll, tensor, tiles
LISTED = 20_000  # points that are looked at one by one to count them


class Repeats:
    """Tells the mappings of some templates apart; `fits`: the tiles at a place are legal."""

    def __init__(self, points: Sequence[Points], fits: Callable[[MapspacePoint], bool]) -> None:
        self._points = points
        self._fits = fits

    @cached_property
    def _siblings(self) -> dict[int, tuple[int, ...]]:
        """Templates of which points may stand for one mapping, by the number of each of them."""
        groups: dict[object, list[int]] = {}
        for number, points in enumerate(self._points):
            template = points.template
            groups.setdefault(
                (template.placement, template.holders, template.tolls, template.lane_restrictions),
                [],
            ).append(number)
        return {
            number: tuple(group)
            for group in groups.values()
            for number in group
            if len(group) > 1 or may_repeat(self._points[number].slots)
        }

    def home(self, place: MapspacePoint, fitting: bool = True) -> MapspacePoint:
        """Return the place that is meant by the mapping at a place: the first one that fits.

        Not `fitting`: the first one.
        """
        group = self._siblings.get(place.template)
        if group is None:
            return place
        points = self._points[place.template]
        slots = [(self._points[i].template, self._points[i].slots) for i in group]
        mapping = assemble(points.problem, points.slots, place.tiles)
        located = locate(points.problem, slots, mapping)
        if isinstance(located, str):
            return place
        places = tuple(MapspacePoint(group[point.template], point.tiles) for point in located)
        places = self.passing_alike(mapping, places) or (place,)
        return self.first_fitting(places) if fitting else places[0]

    def passing_alike(
        self, mapping: Mapping, places: tuple[MapspacePoint, ...]
    ) -> tuple[MapspacePoint, ...]:
        """Return the places at which tensors pass Tolls as in `mapping`.

        A Toll may be written further up than where a place has it: that is another mapping.
        """
        passed = _tolls(mapping)
        if not passed:
            return places
        return tuple(place for place in places if self._tolls_at(place) == passed)

    def _tolls_at(self, place: MapspacePoint) -> frozenset[_Passed]:
        points = self._points[place.template]
        return _tolls(assemble(points.problem, points.slots, place.tiles))

    def first_fitting(self, places: Sequence[MapspacePoint]) -> MapspacePoint:
        """Return the first place at which the tiles fit, the first one if they never do."""
        return next((place for place in places if self._fits(place)), places[0])

    def is_home(self, place: MapspacePoint, fitting: bool = True) -> bool:
        """Tell whether a place is the one meant by its mapping."""
        return self.home(place, fitting) == place

    def count(self, number: int) -> tuple[int, bool]:
        """Return how many mappings a template adds before capacity is looked at.

        And whether that is exact or at most so many.
        """
        points = self._points[number]
        if not self._repeats(number):
            return points.count, True
        if self._counts_alone(number):
            return count_distinct(points), True
        if not self._few:
            return points.count, False
        every = (MapspacePoint(number, tiles) for tiles in points.without_capacity())
        return sum(self.is_home(place, fitting=False) for place in every), True

    def count_fitting(self, number: int, limit: int) -> tuple[int | None, int]:
        """Return how many mappings that fit a template adds, and the steps; None: too many."""
        points = self._points[number]
        if not self._repeats(number):
            return (walk_fitting if points.problem.uneven else count_fitting)(points, limit)
        if self._counts_alone(number) and not tight(points):
            return count_distinct(points), 1
        if not self._few:
            return None, 0
        return sum(self.is_home(MapspacePoint(number, tiles)) for tiles in points), points.count

    @cached_property
    def _few(self) -> bool:
        """Whether the points of templates that may share mappings can be looked at one by one."""
        return sum(self._points[number].count for number in self._siblings) <= LISTED

    def _repeats(self, number: int) -> bool:
        return number in self._siblings and self._points[number].count > 0

    def _counts_alone(self, number: int) -> bool:
        return len(self._siblings[number]) == 1 and not self._points[number].problem.uneven


def _tolls(mapping: Mapping) -> frozenset[_Passed]:
    """Return which tensors pass which Tolls under which tiles."""
    shape: dict[str, int] = {}
    crossings: set[_Passed] = set()
    for node in mapping.nodes:
        if isinstance(node, Temporal | Spatial):
            shape[node.rank_variable] = node.tile_shape
        elif isinstance(node, Toll):
            tiles = frozenset(shape.items())
            crossings |= {(node.component, tensor, tiles) for tensor in node.tensors}
    return frozenset(crossings)
