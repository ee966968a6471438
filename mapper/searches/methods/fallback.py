"""Any mapping, good or bad, in hundredths of a second: before, or instead of, a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from math import prod

from tilewright.mapper.explain.existence import Existence
from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.neighbours import moved_tiles
from tilewright.mapper.mapspace.point_capacity import overflow
from tilewright.mapper.mapspace.points import Points, Tiles
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import Budget, OutOfBudget, budget_from
from tilewright.mapper.searches.exact.beam import PATIENCE
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.mapping_scorer import TOLERANCE, MappingScorer
from tilewright.mapper.searches.methods.default_search import DefaultSearch
from tilewright.mapper.searches.methods.exhaustive import costed_or_none, is_better
from tilewright.mapper.searches.result import EinsumMapping, MapspaceResult, SearchStatistics
from tilewright.mapper.templates.slot_sequence import slot_sequence
from tilewright.mapper.templates.slots import Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops
from tilewright.mapper.workload.errors import UnsupportedFeature

_TEMPLATES = 32  # that are tried without a search


@dataclass(frozen=True, slots=True)
class AnyMappingSearch:
    """Takes the first mapping that fits, good or bad; it proves nothing."""

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        """Return a mapping within 0.2 seconds, if one is found, with a bound of 0.

        Copy Einsums have a fast search of their own, which is taken. `goal`, `budget`: for it.
        """
        if space.einsum.is_copy:
            return DefaultSearch().find(space, goal, budget)
        return MapspaceResult(_any_mapping(space, goal), 0.0, False, SearchStatistics(solved=1))


def with_fallback_mapping(result: MapspaceResult, space: Mapspace, goal: Goal) -> MapspaceResult:
    """Add a mapping to the result of a search that its budget ended without one.

    It is sought for 0.2 seconds more; if none is found, the result stays as it is. The lower bound
    is at most the value of the mapping.
    """
    if result.best is not None or result.proven:
        return result
    best = _any_mapping(space, goal)
    if best is None:
        return result
    value = best.value(goal)
    proven = value <= result.lower_bound * (1 + TOLERANCE)
    return replace(result, best=best, lower_bound=min(result.lower_bound, value), proven=proven)


def _any_mapping(space: Mapspace, goal: Goal) -> EinsumMapping | None:
    patience = replace(budget_from(PATIENCE), stops_on_request=False)
    try:
        example = Existence(lambda _: patience.check()).find(space)
    except (OutOfBudget, UnsupportedFeature):
        return _with_unit_tiles(space, goal)
    if example is None:
        return None
    slots = slot_sequence(example.problem, example.template)
    return costed_or_none(MappingScorer(space), assemble(example.problem, slots, example.tiles))


def _with_unit_tiles(space: Mapspace, goal: Goal) -> EinsumMapping | None:
    """Return a mapping whose loops stand as far out as they may, bettered for 0.2 seconds.

    It needs no table of all tiles. Of few templates, so that None says little. A template is a
    mapping without its loops.
    """
    space = space.with_even_tiles if space.uneven else space
    patience = replace(budget_from(PATIENCE), stops_on_request=False)
    for template in islice(space.probe_templates(space.sparse_placements()), _TEMPLATES):
        slots = slot_sequence(space.problem, template)
        points, tiles = Points(space.problem, template, slots), _outermost_loops(space, slots)
        if tiles is None or not _fits(points, tiles):
            continue
        return _bettered(space, points, tiles, goal, patience)
    return None


def _outermost_loops(space: Mapspace, slots: Sequence[Slot]) -> Tiles | None:
    """Return the tile below each slot if each loop stands where one may stand first.

    A dimension gets its fewest lanes, and the loops leave what these need. None if a slot allows a
    loop over one variable only, a dimension has no lanes, or the lanes do not divide the bounds.
    """
    if any(isinstance(slot, SpatialLoops) and not slot.choices for slot in slots):
        return None
    tile, tiles = dict(space.einsum.bounds), []
    lanes_of = [_fewest_lanes(slot) for slot in slots]
    for index, slot in enumerate(slots):
        for name, lanes in lanes_of[index].items():
            tile[name] //= lanes
        below = {name: _lanes_over(name, lanes_of[index:]) for name in _looped_first(slot)}
        if any(tile[name] % lanes for name, lanes in below.items()):
            return None
        tile |= below
        tiles.append(tuple(tile.values()))
    return tuple(tiles) if all(extent == 1 for extent in tile.values()) else None


def _lanes_over(name: str, lanes_of: Sequence[Mapping[str, int]]) -> int:
    """Return the lanes over a rank variable in several dimensions together."""
    return prod(lanes.get(name, 1) for lanes in lanes_of)


def _looped_first(slot: Slot) -> Sequence[str]:
    """Return the rank variables over which a slot has a loop if it has as many as it may."""
    if not isinstance(slot, TemporalLoops):
        return ()
    return slot.variables[:1] if slot.single else slot.variables


def _fewest_lanes(slot: Slot) -> dict[str, int]:
    """Return the fewest lanes of a dimension, by rank variable; {} for other slots."""
    if not isinstance(slot, SpatialLoops):
        return {}
    return dict(zip(slot.variables, min(slot.choices, key=prod), strict=True))


def _fits(points: Points, tiles: Tiles) -> bool:
    return points.refusal(tiles) is None and overflow(points.problem, points.slots, tiles) is None


def _bettered(
    space: Mapspace, points: Points, tiles: Tiles, goal: Goal, patience: Budget
) -> EinsumMapping | None:
    """Take steps to better tiles of the same template, as long as there are any."""
    judge = MappingScorer(space)
    best = costed_or_none(judge, assemble(points.problem, points.slots, tiles))
    untried = moved_tiles(points, tiles)
    with suppress(OutOfBudget):
        while best is not None and (moved := next(untried, None)) is not None:
            patience.check()
            if not _fits(points, moved):
                continue
            mapping = costed_or_none(judge, assemble(points.problem, points.slots, moved))
            if mapping is not None and is_better(mapping, best, goal):
                best, untried = mapping, moved_tiles(points, moved)
    return best
