"""Points that share a mapping: the canonical one of them, and the number of mappings.

A mapping does not say how long the tiles of a holder shrink below it; the loops do. So points of
one template may share a mapping (distinct_points.py), and so may templates with and without
adjacent holders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from tilewright.mapper.mapping.mapping import Mapping, Spatial, Temporal, TollNode
from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.counting.count_fitting import count_fitting
from tilewright.mapper.mapspace.counting.count_fitting_walked import tight, walk_fitting
from tilewright.mapper.mapspace.counting.distinct_points import count_distinct, may_repeat
from tilewright.mapper.mapspace.locate import MapspacePoint, locate, loops_and_holders
from tilewright.mapper.mapspace.points import Points

_Passed = tuple[str, str, frozenset[tuple[str, int]]]  # Toll, tensor, tiles
LISTED = 20_000  # points that are listed to count their mappings


class Repeats:
    """Finds out which points of some templates stand for the same mapping, and counts mappings.

    A point is a template with a tile below each slot; its mapping does not say above which loop a
    tile is reserved, so several points may have one mapping. The canonical point is the first of
    them that fits. `points`: the points of each template; `fits`: tells whether a point obeys
    capacities and tile_shape. A template is a mapping without its loops.
    """

    def __init__(self, points: Sequence[Points], fits: Callable[[MapspacePoint], bool]) -> None:
        self._points = points
        self._fits = fits

    @cached_property
    def _siblings(self) -> dict[int, tuple[int, ...]]:
        """Templates whose points may share mappings with each template, by its number.

        The same holders in the same order, with other adjacent holders. Templates without any are
        left out.
        """
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
        """Return the canonical point among all points with the same mapping as `place`.

        That is the first one that fits the memories and tile_shape, or the first of all if
        `fitting` is False or none fits. Most points are their own canonical point. A point is one
        choice of all tile sizes of a template (a mapping without loops).
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
        located_places = (MapspacePoint(group[point.template], point.tiles) for point in located)
        places = tuple(p for p in located_places if self._shares(p, place, mapping))
        places = self.passing_alike(mapping, places) or (place,)
        return self.first_fitting(places) if fitting else places[0]

    def _shares(self, candidate: MapspacePoint, place: MapspacePoint, mapping: Mapping) -> bool:
        """Tell whether the point `candidate` may be listed instead of `place`, of the same mapping.

        It may if both are of one template, which orders the loops of a gap as it likes. In another
        template that order may decide how far adjacent holders shrink (theory/lattice.md §2.3), so
        there the mapping must have the same loops in the same order.
        """
        if candidate.template == place.template:
            return True
        return loops_and_holders(self._mapping_at(candidate)) == loops_and_holders(mapping)

    def _mapping_at(self, place: MapspacePoint) -> Mapping:
        points = self._points[place.template]
        return assemble(points.problem, points.slots, place.tiles)

    def passing_alike(
        self, mapping: Mapping, places: tuple[MapspacePoint, ...]
    ) -> tuple[MapspacePoint, ...]:
        """Return those of some points at which tensors pass Tolls at the same places as a mapping.

        The place of a Toll crossing (under which tiles) is part of a mapping. May be empty. A
        point is one choice of all tile sizes of a template (a mapping without loops).
        """
        passed = _tolls(mapping)
        if not passed:
            return places
        return tuple(place for place in places if self._tolls_at(place) == passed)

    def _tolls_at(self, place: MapspacePoint) -> frozenset[_Passed]:
        return _tolls(self._mapping_at(place))

    def first_fitting(self, places: Sequence[MapspacePoint]) -> MapspacePoint:
        """Return the first point whose tiles fit memories and tile_shape, the first one if none do.

        `places` must not be empty. A point is one choice of all tile sizes of a template (a
        mapping without loops).
        """
        return next((place for place in places if self._fits(place)), places[0])

    def is_home(self, place: MapspacePoint, fitting: bool = True) -> bool:
        """Tell whether a point is the canonical one of its mapping, so that it is to be counted.

        `fitting`: prefer points that fit the memories, as at `home`.
        """
        return self.home(place, fitting) == place

    def count(self, number: int) -> tuple[int, bool]:
        """Return (number of mappings of template `number`, whether that is exact), fitting or not.

        Mappings that an earlier template has already are not counted. If not exact, the number is
        an upper bound: the templates share mappings and have more than 20,000 points, too many to
        list. A template is a mapping without its loops; a point is one choice of all tile sizes of
        a template.
        """
        points = self._points[number]
        if not self._repeats(number):
            return points.count, True
        if self._counts_alone(number):
            return count_distinct(points), True
        if not self._can_list:
            return points.count, False
        all_points = (MapspacePoint(number, tiles) for tiles in points.without_capacity())
        return sum(self.is_home(place, fitting=False) for place in all_points), True

    def count_fitting(self, number: int, limit: int) -> tuple[int | None, int]:
        """Return (number of fitting mappings of template `number`, steps of counting).

        Mappings that an earlier template has already are not counted. The number is None if it
        takes more than `limit` steps, or if templates share mappings and have too many points to
        list. A template is a mapping without its loops; a point is one choice of all tile sizes of
        a template.
        """
        points = self._points[number]
        if not self._repeats(number):
            return (walk_fitting if points.problem.uneven else count_fitting)(points, limit)
        if self._counts_alone(number) and not tight(points):
            return count_distinct(points), 1
        if not self._can_list:
            return None, 0
        return sum(self.is_home(MapspacePoint(number, tiles)) for tiles in points), points.count

    @cached_property
    def _can_list(self) -> bool:
        """Whether the points of templates that may share mappings are few enough to list."""
        return sum(self._points[number].count for number in self._siblings) <= LISTED

    def _repeats(self, number: int) -> bool:
        return number in self._siblings and self._points[number].count > 0

    def _counts_alone(self, number: int) -> bool:
        return len(self._siblings[number]) == 1 and not self._points[number].problem.uneven


def _tolls(mapping: Mapping) -> frozenset[_Passed]:
    """Return the Toll crossings of a mapping: (Toll, tensor, tiles above it)."""
    shape: dict[str, int] = {}
    crossings: set[_Passed] = set()
    for node in mapping.nodes:
        if isinstance(node, Temporal | Spatial):
            shape[node.rank_variable] = node.tile_shape
        elif isinstance(node, TollNode):
            tiles = frozenset(shape.items())
            crossings |= {(node.component, tensor, tiles) for tensor in node.tensors}
    return frozenset(crossings)
