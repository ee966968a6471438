"""Make variants of a template, one per choice of those lanes on which its slots depend.

Two kinds of slots depend on lanes chosen elsewhere. A memory spread over the grid of an Array has
the capacity of the places at work, and the spatial loops over the grid, below it, decide how many
these are. A holder below spatial loops of a deeper level than its own (a hierarchy out of order, or
a tensor that is first held below the loops) sees the tiles of all these lanes together
(docs/conventions.md §8, §9).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import NamedTuple

from tilewright.mapper.model.occupancy.distributed import grid_of, places_at_work
from tilewright.mapper.model.paths.view import Count
from tilewright.mapper.templates.placement import LaneRestriction, Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.spatial_choices import Choice, DimName, Lanes, SpatialLoops
from tilewright.mapper.workload.einsum import TensorAccess
from tilewright.mapper.workload.errors import UnsupportedFeature

MAX_VARIANTS = 20_000

_Groups = Sequence[tuple[Choice, ...]]  # choices that make no difference to any slot, together


class _Restrictable(NamedTuple):
    """A dimension whose lanes decide some slot, with its choices in groups of equal effect."""

    loops: SpatialLoops
    groups: _Groups


def with_lanes(problem: Problem, template: Template) -> Iterator[Template]:
    """Yield `template`, or one variant per choice of the lanes on which its slots depend.

    A lane is one instance along a dimension of a fanout. Lanes decide slots in two cases: a memory
    spread over an Array has the capacity of the instances at work, and a holder written below
    spatial loops of a deeper component sees the tiles of all these lanes together. Each variant
    restricts each such dimension to choices that have the same effect. A slot is a place of a
    template (a mapping without loops) for loops, a fill or a reserved tile.

    Raises UnsupportedFeature if there are more than 20,000 variants, unless not even one value of
    each tensor fits the memories (then nothing is yielded), and for uneven tiles over lanes above
    a holder of an outer memory.
    """
    options = _options(problem, template)
    count = prod(len(option.groups) for option in options)
    if count > MAX_VARIANTS:
        if not problem.fits_single_values(template):
            return
        raise UnsupportedFeature(
            f"{count} choices of lanes decide the capacity of memories, or the tiles of holders"
            " that stand below lanes of a deeper level",
            instead="narrow loop_bounds, reuse or min_usage of these dimensions, or"
            " force_memory_hierarchy_order: true for the memories",
        )
    yield from _variants(template, options)


def some_lanes(problem: Problem, template: Template) -> Iterator[Template]:
    """Yield few variants of a template, with the first and last choice of lanes of each dimension.

    Only dimensions whose lanes (instances along a fanout) decide a slot are restricted. A mapping
    found in one of these variants proves that a mapping exists; none found proves nothing. Raises
    UnsupportedFeature for uneven tiles over lanes above a holder of an outer memory. A template is
    a mapping without its loops; a slot is a place of a template for loops, a fill or a reserved
    tile.
    """
    yield from _variants(
        template,
        [
            _Restrictable(loops, groups[:: max(1, len(groups) - 1)])
            for loops, groups in _options(problem, template)
        ],
    )


def _variants(template: Template, options: Sequence[_Restrictable]) -> Iterator[Template]:
    restrictions = [
        [LaneRestriction(loops.component, loops.name, group) for group in groups]
        for loops, groups in options
    ]
    for chosen in product(*restrictions):
        yield replace(template, lane_restrictions=chosen)


def _options(problem: Problem, template: Template) -> list[_Restrictable]:
    """Return the dimensions whose lanes decide some slot, with their choices in groups."""
    grouped = (
        (loops, _groups(problem, template, loops)) for loops in problem.spatial_loops(template)
    )
    return [_Restrictable(loops, groups) for loops, groups in grouped if groups is not None]


def _groups(problem: Problem, template: Template, loops: SpatialLoops) -> _Groups | None:
    """Group the choices of a dimension by their effect on slots; None if they have none."""
    if not loops.choices:
        return None
    holders_below = early_holders(problem, template, problem.level(loops.component))
    if holders_below:
        return _groups_above(problem, template, loops, holders_below)
    if len(loops.choices) == 1 or not _feeds_places(problem, template, loops):
        return None
    groups: dict[int, list[Choice]] = {}
    for choice in loops.choices:
        groups.setdefault(prod(choice), []).append(choice)
    return [tuple(group) for _, group in sorted(groups.items())]


def _groups_above(
    problem: Problem, template: Template, loops: SpatialLoops, holders_below: Sequence[int]
) -> _Groups:
    """Group the choices of a dimension that stands above holders of outer memories.

    `holders_below`: their numbers. Only one lane is left where one of them is among adjacent
    holders. UnsupportedFeature if the dimension may loop over an uneven variable.
    """
    adjacent = {i for group in template.adjacent for i in group.members}
    if adjacent & set(holders_below):  # its tile does not shrink: another order stands for the rest
        one_lane = tuple(c for c in loops.choices if prod(c) == 1)
        return [one_lane] if one_lane else []
    if problem.uneven & set(loops.variables):
        raise UnsupportedFeature(
            f"uneven tiles of {', '.join(loops.variables)} over lanes of {loops.component} above"
            " holders of an outer memory",
            instead="even tiles, or force_memory_hierarchy_order: true",
        )
    if problem.groups_lane_choices:
        return _groups_by_effect(problem, template, loops, holders_below)
    return [(choice,) for choice in loops.choices]


def _groups_by_effect(
    problem: Problem, template: Template, loops: SpatialLoops, holders_below: Sequence[int]
) -> _Groups:
    """Group the choices of a dimension that multiply the counts of the same slots.

    `holders_below`: numbers of the holders whose counts it may change. Whether lanes run over a
    variable decides which loops may stand between them and the holders. How many do multiplies the
    tile of a tensor and divides its visits, unless it sees the variable through a window, or one
    that skips.
    """
    accesses = [problem.einsum.access(template.holders[i].tensor) for i in holders_below]
    relevant = [v for v in loops.variables if any(v in a.rank_variables for a in accesses)]
    windows = [v for v in relevant if _is_window(accesses, v)]
    feeds_places = _feeds_places(problem, template, loops)

    def effect(choice: Choice) -> tuple[object, ...]:
        """Return a key, equal for choices that multiply the same counts."""
        lanes, total = dict(zip(loops.variables, choice, strict=True)), prod(choice)
        distributed = tuple(lanes[v] > 1 for v in relevant)
        seen = tuple(lanes[v] for v in windows)
        return total > 1, feeds_places and total, distributed, seen

    groups: dict[object, list[Choice]] = {}
    for choice in loops.choices:
        groups.setdefault(effect(choice), []).append(choice)
    return [tuple(group) for group in groups.values()]


def _is_window(accesses: Sequence[TensorAccess], variable: str) -> bool:
    """Tell whether a tensor sees a variable through a window, or through one that skips."""
    return any(not a.is_plain(variable) for a in accesses if variable in a.rank_variables)


def _feeds_places(problem: Problem, template: Template, loops: SpatialLoops) -> bool:
    """Tell whether the template holds a tensor in a memory spread along this dimension."""
    names = {holder.component for holder in (*template.holders, *template.tolls)}
    for level, component in enumerate(problem.components):
        grid = grid_of(problem.components, level)
        if component.name not in names or grid is None or grid.name != loops.component:
            continue
        only_whole_places = problem.conventions.whole_places or component.physical_fanout == 1
        fewest = 2 if only_whole_places else 1
        if any(d.name == loops.name and d.fanout >= fewest for d in component.physical_spatial):
            return True
    return False


def swapped_variables(
    problem: Problem, template: Template, dims: Sequence[SpatialLoops]
) -> list[set[str]]:
    """Return, for each gap below a holder, the variables that may have no temporal loop there.

    One set per holder of the template, outermost first; the gap is the place between that holder
    and the next. A holder of an outer memory written below spatial loops of a deeper component
    sees these loops below the temporal loops of the gaps between. Over a variable relevant to its
    tensor the two cannot change places, so that variable is excluded there. `dims`: the spatial
    loops with the choices that the template leaves. A template is a mapping without its loops.
    """
    swapped: list[set[str]] = [set() for _ in template.holders]
    for loops in dims:
        level = problem.level(loops.component)
        for index in early_holders(problem, template, level):
            access = problem.einsum.access(template.holders[index].tensor)
            distributed = {v for v in _first_lanes(loops) if access.relevance(v) != "irrelevant"}
            for gap in range(_first_at(problem, template, level), index):
                swapped[gap] |= distributed
    return swapped


def early_holders(problem: Problem, template: Template, level: int) -> tuple[int, ...]:
    """Return the numbers of the holders that stand below spatial loops of a deeper component.

    `level`: place of the component with these spatial loops on the path, 0 for the outermost. A
    result is a holder of a component above `level` that the template orders after some holder at
    or below `level` (its hierarchy is out of order). Ascending; numbers count the holders from 0
    at the outermost. A template is a mapping without its loops.
    """
    holders = template.holders
    first = _first_at(problem, template, level)
    return tuple(
        i for i in range(first, len(holders)) if problem.level(holders[i].component) < level
    )


def _first_at(problem: Problem, template: Template, level: int) -> int:
    """Return the number of the first holder of a component at or below `level`.

    The spatial loops of that level stand right above it. The number of holders if there is none.
    """
    holders = template.holders
    return next(
        (i for i, h in enumerate(holders) if problem.level(h.component) >= level), len(holders)
    )


def remaining_choices(template: Template, dims: Sequence[SpatialLoops]) -> tuple[SpatialLoops, ...]:
    """Return the spatial dimensions with only those choices of lanes that the template admits.

    `dims`: the spatial dimensions from the outermost memory to the Compute; each lists its legal
    choices, and a choice gives the lanes of each rank variable. Where the template has a lane
    restriction for a dimension, the choices of that restriction, some of the legal ones, are
    returned; other dimensions come back unchanged, in order. A template is a mapping without its
    loops. It restricts lanes where the order of its holders is right for these lanes only.
    """
    if not template.lane_restrictions:
        return tuple(dims)
    choices_left = {
        (restriction.component, restriction.dim): restriction.choices
        for restriction in template.lane_restrictions
    }
    return tuple(
        replace(loops, choices=choices_left.get(loops.dim, loops.choices)) for loops in dims
    )


@dataclass(frozen=True, slots=True)
class LanesSeenBelow:
    """Spatial loops written above a holder that act on its tile as if they stood below it.

    The holder belongs to an outer memory, the loops to a deeper component; the memory then holds
    the tiles of all these lanes. `lanes`: pairs (rank variable, product of lanes above 1) of
    dimensions with a single choice; `open_dims`: pairs (component, dimension) whose lanes are not
    chosen yet. False as a truth value if there are neither.
    """

    lanes: Lanes = ()
    open_dims: tuple[DimName, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.lanes or self.open_dims)


def lanes_seen_below(
    problem: Problem, template: Template, dims: Sequence[SpatialLoops]
) -> tuple[LanesSeenBelow, ...]:
    """Return, for each holder, the spatial loops written above it that multiply its tile.

    They are those of deeper components above a holder of an outer memory. `dims`: the dimensions
    with the choices that the template leaves. Variables irrelevant to the holder's tensor are
    listed, too. A template is a mapping without its loops.
    """
    lanes: list[dict[str, int]] = [{} for _ in template.holders]
    open_dims: list[list[DimName]] = [[] for _ in template.holders]
    for loops in dims:
        for index in early_holders(problem, template, problem.level(loops.component)):
            if len(loops.choices) > 1:
                open_dims[index].append(loops.dim)
                continue
            for variable, number in _first_lanes(loops).items():
                lanes[index][variable] = lanes[index].get(variable, 1) * number
    return tuple(
        LanesSeenBelow(tuple(sorted(chosen.items())), tuple(names))
        for chosen, names in zip(lanes, open_dims, strict=True)
    )


def _first_lanes(loops: SpatialLoops) -> dict[str, int]:
    """Return the lanes per variable of a dimension's first choice, where there are several.

    All choices that a template leaves have lanes over the same of the variables that matter.
    """
    choice = loops.choices[0] if loops.choices else (1,) * len(loops.variables)
    return {v: lanes for v, lanes in zip(loops.variables, choice, strict=True) if lanes > 1}


def working_places(problem: Problem, dims: Sequence[SpatialLoops]) -> dict[str, Count]:
    """Return how many instances of each memory spread over an Array are at work, by its name.

    The spatial loops over the Array decide it; each of `dims` is taken with its first choice of
    lanes. How instances count, whole ones or the fraction in use, is set by the conventions of the
    problem.
    """
    used: dict[DimName, Count] = {
        loops.dim: prod(loops.choices[0])
        for loops in dims
        if loops.choices and prod(loops.choices[0]) > 1
    }
    return places_at_work(problem.components, used, problem.conventions.places)
