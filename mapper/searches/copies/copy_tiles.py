"""Lanes and tiles of a copy Einsum, of which most cost the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import prod

from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapspace.assemble import Tile, assemble
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.slot_sequence import slot_sequence
from tilewright.mapper.templates.slots import Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops

FEW = 4  # variables that repeat values: 16 sets of them
Extents = dict[str, int]
Lanes = dict[SpatialLoops, Extents]
Choose = Callable[[list[SpatialLoops], Extents], Iterator[Lanes]]


def subsets(names: frozenset[str]) -> Iterator[frozenset[str]]:
    """Yield the subsets of some names, the largest first; of many names only all and none."""
    ordered = sorted(names)
    sizes = range(len(names), -1, -1) if len(names) <= FEW else (len(names), 0)
    return (frozenset(chosen) for size in sizes for chosen in combinations(ordered, size))


def mappings_of(
    space: Mapspace, template: Template, choose_lanes: Choose, uncut_variables: frozenset[str]
) -> Iterator[Mapping]:
    """Yield the mappings of a template with these lanes, whose loops cut no `uncut_variables`."""
    slots = slot_sequence(space.problem, template)
    dimensions = [slot for slot in slots if isinstance(slot, SpatialLoops)]
    for lanes in choose_lanes(dimensions, dict(space.einsum.bounds)):
        yield assemble(space.problem, slots, tuple(_tiles(space, slots, lanes, uncut_variables)))


def fewest_and_most_lanes(dimensions: list[SpatialLoops], bounds: Extents) -> Iterator[Lanes]:
    """Yield two choices of lanes: the fewest, then the most, in each dimension in turn.

    One that does not exist is left out. `bounds`: of the rank variables.
    """
    for pick in (min, max):
        extents, chosen = dict(bounds), {}
        for loops in dimensions:
            fitting = _fitting_lanes(loops, extents)
            if not fitting:
                break
            chosen[loops] = pick(fitting, key=_lanes_and_variables)
            extents = _extents_below(extents, chosen[loops])
        else:
            yield chosen


def _lanes_and_variables(lanes: Extents) -> tuple[int, int]:
    """Return (product of the lanes, number of variables with more than one lane)."""
    return prod(lanes.values()), sum(n > 1 for n in lanes.values())


def has_fewest_lanes(loops: SpatialLoops, chosen: Extents) -> bool:
    """Tell whether a dimension uses the fewest lanes it can, over one variable at most."""
    number, variables = _lanes_and_variables(chosen)
    return variables <= 1 and number == min(prod(choice) for choice in loops.choices)


def lane_choices(dimensions: list[SpatialLoops], extents: Extents) -> Iterator[Lanes]:
    """Yield all choices of lanes that divide the extents of the rank variables."""
    if not dimensions:
        yield {}
        return
    for lanes in _fitting_lanes(dimensions[0], extents):
        for inner_lanes in lane_choices(dimensions[1:], _extents_below(extents, lanes)):
            yield {dimensions[0]: lanes, **inner_lanes}


def _fitting_lanes(loops: SpatialLoops, extents: Extents) -> list[Extents]:
    named = (dict(zip(loops.variables, choice, strict=True)) for choice in loops.choices)
    return [lanes for lanes in named if all(extents[v] % n == 0 for v, n in lanes.items())]


def _extents_below(extents: Extents, lanes: Extents) -> Extents:
    return {v: extent // lanes.get(v, 1) for v, extent in extents.items()}


def _tiles(
    space: Mapspace, slots: Sequence[Slot], lanes_of: Lanes, uncut_variables: frozenset[str]
) -> Iterator[Tile]:
    """Yield the tile below each slot of a mapping with given lanes.

    The iterations left to temporal loops stand at the first slot that can have them; those of
    `uncut_variables` at the last one.
    """
    iterations = dict(space.einsum.bounds)
    for lanes in lanes_of.values():
        iterations = _extents_below(iterations, lanes)
    last_slot = _last_loop_slots(slots)
    shape = dict(space.einsum.bounds)
    for number, slot in enumerate(slots):
        if isinstance(slot, SpatialLoops):
            shape = _extents_below(shape, lanes_of[slot])
        for v in slot.variables if isinstance(slot, TemporalLoops) else ():
            if v not in uncut_variables or last_slot[v] == number:
                shape[v] //= iterations.get(v, 1)
                iterations[v] = 1
        yield tuple(shape.values())


def _last_loop_slots(slots: Sequence[Slot]) -> dict[str, int]:
    """Return, per variable, the last slot that can have a temporal loop over it."""
    return {
        v: number
        for number, slot in enumerate(slots)
        if isinstance(slot, TemporalLoops)
        for v in slot.variables
    }
