"""The mapspace of one Einsum on one flattened architecture, under all its constraints."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from collections.abc import Mapping as Dict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.counting.repeated_points import Repeats
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.mapspace.locate import MapspacePoint, locate
from tilewright.mapper.mapspace.neighbours import (
    are_neighbours,
    carried_over,
    moved_tiles,
    random_move,
)
from tilewright.mapper.mapspace.point_capacity import overflow
from tilewright.mapper.mapspace.points import Points
from tilewright.mapper.mapspace.suggest import Suggests, suggested_tiles
from tilewright.mapper.mapspace.template_space import TemplateSpace, checked, no_check
from tilewright.mapper.mapspace.uneven_points import UnevenPoints
from tilewright.mapper.templates.slot_sequence import slot_sequence
from tilewright.mapper.workload.errors import InfeasibleMapping

if TYPE_CHECKING:
    from tilewright.mapper.layout.enumeration.banks import Banks
    from tilewright.mapper.layout.enumeration.layout_space import LayoutSpace
    from tilewright.mapper.layout.tiling import Tiling

_TRIES = 10_000
_TO_OTHER_TEMPLATE = 0.1


@dataclass(frozen=True, slots=True)
class MapspaceSize:
    """Number of templates of a mapspace and number of mappings, whether they fit or not.

    A template is a mapping without its loops. `templates`, `points`: the two numbers. `exact`
    False: `points` is an upper bound, because templates share mappings and are too many to be
    listed.
    """

    templates: int
    points: int
    exact: bool = True


@dataclass(slots=True)
class _PointCache:
    """The points of each template, once made, and each template's neighbours, by number."""

    points: tuple[Points, ...] | None = None
    neighbours: dict[int, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Mapspace(TemplateSpace):
    """All mappings of one Einsum on one path of components, under the rules of the files.

    It enumerates, counts, samples and locates mappings. `einsum`, `flat`: computation and path.
    `conventions`: "default" or "accelforge"; under the latter tensors.tile_shape and loop bounds
    on sets of tensors are ignored, no_refetch_from_above leaves spatial loops alone
    (theory/model.md §8.3), a tile keeps its size at the next holder of any tensor (theory/model.md
    §4.1), and a tensor whose first holder is below the outermost memory may come tile by tile.

    `backed`: tensors that the outermost memory must keep. `crowded`: memories that may be too
    small although the tensors of this Einsum fit, since others leave some there. `exchanged`:
    tensors that other Einsums share on chip. `uneven`: rank variables that may have one loop,
    temporal or spatial, whose tiles do not divide the tile above it, so that the last one is
    smaller (theory/imperfect.md §1); under "accelforge" it is their outermost loop
    (theory/imperfect.md §6). `lists_lane_choices`: one template per choice of lanes that a holder
    sees below itself. `chosen_templates`: the only templates, None for all.

    A change makes a new mapspace (`with_flat`, `with_even_tiles`, `with_crowded`, `narrowed`) with
    empty caches. Raises TilewrightError for unknown conventions or uneven variables that the
    Einsum lacks, UnsupportedFeature for uneven variables in sums under "accelforge".
    """

    _point_cache: _PointCache = field(init=False, default_factory=_PointCache, repr=False)

    # ---- layouts

    def layouts(
        self,
        tiling: Tiling | None = None,
        banks: Dict[str, Banks] | None = None,
        lifetimes: Dict[str, tuple[int, int]] | None = None,
    ) -> LayoutSpace:
        """Return the two dimensions that layouts add: shardings of tensors, placements of tiles.

        `tiling`: tiles and number format of shards (None: single f32 scalars); `banks`: of memories
        by name (others: addresses of any byte); `lifetimes`: first and last step in which the tile
        of a tensor is alive (others: step 0).
        """
        from tilewright.mapper.layout.enumeration.layout_space import LayoutSpace
        from tilewright.mapper.layout.tiling import Tiling

        return LayoutSpace(self, tiling or Tiling(), banks or {}, lifetimes or {})

    # ---- points

    @property
    def _points(self) -> tuple[Points, ...]:
        return self.points_within(no_check)

    def points_within(self, check: Callable[[], None]) -> tuple[Points, ...]:
        """Return the points (tile choices) of each template, in the order of the templates.

        `check` is called before each template is made and before each one's points are set up; it
        may raise, for example at the end of a time budget. Raises UnsupportedFeature if there are
        too many choices of lanes (instances of fanouts) to list.
        """
        if self._point_cache.points is None:
            kind, lattice = UnevenPoints if self.uneven else Points, Lattice(self.einsum.bounds)
            problem = self.problem
            self._point_cache.points = tuple(
                kind(problem, template, slot_sequence(problem, template), lattice)
                for template in checked(self.templates_within(check), check)
            )
        return self._point_cache.points

    @cached_property
    def _repeats(self) -> Repeats:
        return Repeats(self._points, self._fits)

    def __iter__(self) -> Iterator[Mapping]:
        """Enumerate the mappings that fit, in a fixed order."""
        return self.mappings_within(no_check)

    def mappings_within(self, check: Callable[[], None]) -> Iterator[Mapping]:
        """Enumerate the mappings that fit their memories, in a fixed order, each once.

        `check` is called again and again and may raise to end the enumeration. Raises
        UnsupportedFeature if there are too many choices of lanes (instances of fanouts) to list.
        """
        for number, points in enumerate(self.points_within(check)):
            for tiles in points:
                check()
                if self._repeats.is_home(point := MapspacePoint(number, tiles)):
                    yield self.mapping_at(point)

    def mapping_at(self, point: MapspacePoint) -> Mapping:
        """Return the mapping of a point (a template with a tile below each slot).

        Its nodes are Storage, Toll, Temporal and Spatial, and a Compute at the end. A template is
        a mapping without its loops.
        """
        return assemble(self.problem, self._points[point.template].slots, point.tiles)

    # ---- size

    @cached_property
    def size(self) -> MapspaceSize:
        """The number of templates and of mappings, whether they fit or not; computed once.

        With uneven variables, raises TilewrightError if there are too many tiles to count. A
        template is a mapping without its loops. Raises UnsupportedFeature if there are too many
        choices of lanes (instances of fanouts) to list.
        """
        counted = [self._repeats.count(number) for number in range(len(self._points))]
        points = sum(count for count, _ in counted)
        return MapspaceSize(len(self.templates), points, all(exact for _, exact in counted))

    @property
    def point_count_bound(self) -> int:
        """An upper bound of the number of mappings, fast: points that share a mapping count each.

        With uneven variables, raises TilewrightError if there are too many tiles to count. A point
        is one choice of all tile sizes of a template (a mapping without loops). Raises
        UnsupportedFeature if there are too many choices of lanes (instances of fanouts) to list.
        """
        return sum(points.count for points in self._points)

    def count_fitting(self, limit: int = 1_000_000) -> int | None:
        """Return the exact number of mappings that fit their memories; None if that takes long.

        `limit`: steps of counting at most. Where no memory can overflow, the result is
        `size.points`. Raises UnsupportedFeature if there are too many choices of lanes (instances
        of fanouts) to list.
        """
        total = 0
        for number in range(len(self._points)):
            count, steps = self._repeats.count_fitting(number, limit)
            limit -= steps
            if count is None or limit < 0:
                return None
            total += count
        return total

    # ---- random and proposed points

    def sample(self, rng: random.Random) -> Mapping:
        """Draw a mapping that fits; points with tiles that fit are equally likely.

        A point is one choice of all tile sizes of a template (a mapping without loops). Raises
        InfeasibleMapping if there is no point or none of 10,000 draws fits; UnsupportedFeature if
        there are too many choices of lanes (instances of fanouts) to list.
        """
        return self.mapping_at(self.draw(rng))

    def draw(self, rng: random.Random, tries: int = _TRIES) -> MapspacePoint:
        """Draw a point uniformly from those that fit and are the canonical one of their mapping.

        A point is a template with a tile below each slot. At most `tries` draws are made. Raises
        InfeasibleMapping if there is no point or none of the draws fits. A template is a mapping
        without its loops. Raises UnsupportedFeature if there are too many choices of lanes
        (instances of fanouts) to list.
        """
        counts = [points.count for points in self._points]
        if not sum(counts):
            raise self._empty()
        for _ in range(tries):
            ticket = rng.randrange(sum(counts))
            number = 0
            while ticket >= counts[number]:
                ticket -= counts[number]
                number += 1
            point = MapspacePoint(number, self._points[number].sample(rng))
            if self._fits(point) and self._repeats.is_home(point):
                return point
        raise InfeasibleMapping(
            f"none of {tries} random mappings of {self.einsum.name} fits its memories",
            instead="use the dynamic search, which finds one or proves that there is none",
        )

    def suggest(self, trial: Suggests) -> Mapping:
        """Build a mapping from the choices of a trial, for example of Optuna.

        The trial is asked for a number "template" and for a share between 0 and 1 per tile, each
        scaled to what is legal at that place. A template is a mapping without its loops; a point
        is one choice of all tile sizes of a template. Raises InfeasibleMapping, with numbers, if
        the tiles overfill a memory or break a tile_shape, or if there is no point at all;
        UnsupportedFeature if there are too many choices of lanes (instances of fanouts) to list.
        """
        usable = [i for i, points in enumerate(self._points) if points.count]
        if not usable:
            raise self._empty()
        chosen = usable[trial.suggest_int("template", 0, len(usable) - 1)]
        point = MapspacePoint(chosen, suggested_tiles(self._points[chosen], trial, str(chosen)))
        reason = self._refusal(point)
        if reason is not None:
            raise InfeasibleMapping(f"the mapping does not fit: {reason}")
        return self.mapping_at(point)

    def _empty(self) -> InfeasibleMapping:
        return InfeasibleMapping(
            f"the constraints leave no mapping of {self.einsum.name} at all",
            instead="relax loop_bounds, tile_shape, keep or the fanouts",
        )

    # ---- neighbours

    def neighbours(self, mapping: Mapping) -> Iterator[Mapping]:
        """Yield the mappings one step away from a mapping, each once: in its template, then others.

        In the same template (the mapping without its loops) one prime factor of a loop moves to
        another slot, one tile of a variable that may be uneven changes, or a dimension takes other
        lanes. Then comes one mapping of each template with one holder more or less, or two holders
        swapped, whose tiles are as near as possible. A slot is a place of a template for loops, a
        fill or a reserved tile; a lane is one instance along a dimension of a fanout. Raises
        InfeasibleMapping if `mapping` is not in the mapspace; UnsupportedFeature if there are too
        many choices of lanes (instances of fanouts) to list.
        """
        points = self._locate(mapping)
        if isinstance(points, str):
            raise InfeasibleMapping(
                f"not a mapping of this mapspace: {points}", instead="a mapping that it contains"
            )
        alike = self._repeats.passing_alike(mapping, points)
        start = self._repeats.first_fitting(alike or points)
        seen = {str(self.mapping_at(start))}  # distinct points may print as one mapping
        for point in dict.fromkeys(map(self._repeats.home, self.neighbour_points(start))):
            neighbour = self.mapping_at(point)
            if str(neighbour) not in seen:
                seen.add(str(neighbour))
                yield neighbour

    def neighbour_points(self, point: MapspacePoint) -> Iterator[MapspacePoint]:
        """Yield the points one step away from a point whose tiles fit, in a fixed order.

        First those of the same template (one prime factor of a loop moves, or one dimension takes
        other lanes), then one of each template that differs by a holder more or less or by two
        swapped. A template is a mapping without its loops; a point is one choice of all tile sizes
        of a template; a lane is one instance along a dimension of a fanout.
        """
        points = self._points[point.template]
        for tiles in moved_tiles(points, point.tiles):
            if self._fits(moved := MapspacePoint(point.template, tiles)):
                yield moved
        for number in self._neighbour_templates(point.template):
            carried = carried_over(points, point.tiles, self._points[number])
            if carried is not None and self._fits(moved := MapspacePoint(number, carried)):
                yield moved

    def random_neighbour(self, point: MapspacePoint, rng: random.Random) -> MapspacePoint | None:
        """Return a random point one step from `point`, in one of ten cases in another template.

        None if the draw leads to no point, or to one that does not fit its memories: try again. A
        template is a mapping without its loops; a point is one choice of all tile sizes of a
        template.
        """
        points = self._points[point.template]
        number, tiles = point.template, None
        templates = self._neighbour_templates(number)
        if templates and rng.random() < _TO_OTHER_TEMPLATE:
            number = rng.choice(templates)
            tiles = carried_over(points, point.tiles, self._points[number])
        else:
            tiles = random_move(points, point.tiles, rng)
        if tiles is None or not self._fits(moved := MapspacePoint(number, tiles)):
            return None
        return moved

    def _neighbour_templates(self, number: int) -> tuple[int, ...]:
        neighbours = self._point_cache.neighbours
        if number not in neighbours:
            template = self.templates[number]
            neighbours[number] = tuple(
                i
                for i, candidate in enumerate(self.templates)
                if are_neighbours(template, candidate)
            )
        return neighbours[number]

    # ---- membership

    def contains(self, mapping: Mapping) -> str | None:
        """Return None if `mapping` is in the mapspace, else in words why it is not.

        Reasons: holders or their order are excluded, a loop stands where the mapspace has an equal
        mapping instead, or a tile_shape or capacity is broken. Raises UnsupportedFeature if there
        are too many choices of lanes (instances of fanouts) to list.
        """
        points = self._locate(mapping)
        if isinstance(points, str):
            return points
        return self._refusal(self._repeats.first_fitting(points))

    def _fits(self, point: MapspacePoint) -> bool:
        return self._refusal(point) is None

    def _refusal(self, point: MapspacePoint) -> str | None:
        """Return which tile_shape or capacity a point breaks, in words; None if it is legal."""
        refused = self._points[point.template].refusal(point.tiles)
        if refused is not None:
            return refused
        excess = overflow(self.problem, self._points[point.template].slots, point.tiles)
        if excess is None:
            return None
        memory, bits_of, size = excess
        listed = ", ".join(f"{tensor} {bits:g}" for tensor, bits in bits_of.items())
        return f"{memory} needs {sum(bits_of.values()):g} bits ({listed}), its size is {size:g}"

    def _locate(self, mapping: Mapping) -> tuple[MapspacePoint, ...] | str:
        candidates = [(points.template, points.slots) for points in self._points]
        return locate(self.problem, candidates, mapping)
