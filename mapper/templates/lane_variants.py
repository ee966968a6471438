"""Templates whose slots depend on lanes that stand elsewhere: one variant for each of these.

A memory that is spread over the grid of an Array has as much room as the places that work, and how
many do depends on the lanes of the grid, below it. A holder that stands below lanes of a deeper
level than its own (a hierarchy out of order, or a tensor that is first held below the lanes) sees
the tiles of all these lanes together (docs/conventions.md §8, §9).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING, overload

from tilewright.mapper.model.distributed import (
    at_least_one,
    grid_of,
    in_proportion,
    places_at_work,
)
from tilewright.mapper.model.view import Count
from tilewright.mapper.searches.search_errors import UnsupportedFeature
from tilewright.mapper.templates.placement import LaneRestriction, Template
from tilewright.mapper.templates.spatial_choices import SpatialLoops

if TYPE_CHECKING:
    from tilewright.mapper.templates.problem import Problem

MAX_VARIANTS = 20_000

Lanes = tuple[tuple[str, int], ...]  # rank variable, lanes
DimName = tuple[str, str]  # component, dimension

Choice = tuple[int, ...]  # lanes of a dimension, per variable


def with_lanes(problem: Problem, template: Template) -> Iterator[Template]:
    """Yield `template`, or one variant for each choice of the lanes that its slots depend on.

    UnsupportedFeature if these are too many; none then if nothing of the template ever fits.
    """
    options = _options(problem, template)
    count = prod(len(groups) for _, groups in options)
    if count > MAX_VARIANTS:
        if not problem.fits_single_values(template):
            return
        raise UnsupportedFeature(
            f"{count} choices of lanes decide the room of memories, or the tiles of holders that"
            " stand below lanes of a deeper level",
            instead="narrow loop_bounds, reuse or min_usage of these dimensions, or"
            " force_memory_hierarchy_order: true for the memories",
        )
    yield from _variants(template, options)


def some_lanes(problem: Problem, template: Template) -> Iterator[Template]:
    """Yield the variants with the first and the last choice of each dimension."""
    options = _options(problem, template)
    yield from _variants(
        template, [(fan, groups[:: max(1, len(groups) - 1)]) for fan, groups in options]
    )


_Groups = Sequence[tuple[Choice, ...]]


def _variants(
    template: Template, options: Sequence[tuple[SpatialLoops, _Groups]]
) -> Iterator[Template]:
    dealt = [
        [LaneRestriction(fan.component, fan.name, group) for group in groups]
        for fan, groups in options
    ]
    for chosen in product(*dealt):
        yield replace(template, lane_restrictions=chosen)


def _options(problem: Problem, template: Template) -> list[tuple[SpatialLoops, _Groups]]:
    """Return the dimensions whose lanes decide something, with the choices that are told apart."""
    found = ((fan, _groups(problem, template, fan)) for fan in problem.spatial_loops(template))
    return [(fan, groups) for fan, groups in found if groups is not None]


class _Alone(Sequence[tuple[Choice, ...]]):
    """Each choice as a group of its own, made when it is looked at."""

    def __init__(self, choices: Sequence[Choice]) -> None:
        self._choices = choices

    def __len__(self) -> int:
        return len(self._choices)

    @overload
    def __getitem__(self, index: int) -> tuple[Choice, ...]: ...

    @overload
    def __getitem__(self, index: slice) -> _Alone: ...

    def __getitem__(self, index: int | slice) -> tuple[Choice, ...] | _Alone:
        if isinstance(index, slice):
            return _Alone(self._choices[index])
        return (self._choices[index],)


def _groups(problem: Problem, template: Template, fan: SpatialLoops) -> _Groups | None:
    """Return the choices that make no difference to any slot, together; None: none of them does."""
    if not fan.choices:
        return None
    early = early_holders(problem, template, problem.level(fan.component))
    if early:
        runs = [i for run in template.adjacent for i in range(run.first, run.last + 1)]
        if set(early) & set(runs):  # its tile does not shrink: another order stands for the rest
            alone = tuple(c for c in fan.choices if prod(c) == 1)
            return [alone] if alone else []
        if problem.uneven & set(fan.variables):
            raise UnsupportedFeature(
                f"uneven tiles of {', '.join(fan.variables)} over lanes of {fan.component} above"
                " holders of an outer memory",
                instead="even tiles, or force_memory_hierarchy_order: true",
            )
        return (
            _alike(problem, template, fan, early)
            if problem.groups_lane_choices
            else _Alone(fan.choices)
        )
    if len(fan.choices) == 1 or not _feeds_places(problem, template, fan):
        return None
    groups: dict[int, list[Choice]] = {}
    for choice in fan.choices:
        groups.setdefault(prod(choice), []).append(choice)
    return [tuple(group) for _, group in sorted(groups.items())]


def _alike(
    problem: Problem, template: Template, fan: SpatialLoops, early: Sequence[int]
) -> _Groups:
    """Group the choices that are factors of the same slots.

    Whether lanes run over a variable decides which loops may stand between them and the holders;
    how many do multiplies the tile of a tensor and divides its visits, unless it sees the variable
    through a window, or one that skips.
    """
    accesses = [problem.einsum.access(template.holders[i].tensor) for i in early]
    matters = [v for v in fan.variables if any(v in a.rank_variables for a in accesses)]
    windows = [
        v for v in matters if not all(a.is_plain(v) for a in accesses if v in a.rank_variables)
    ]
    feeds = _feeds_places(problem, template, fan)
    groups: dict[object, list[Choice]] = {}
    for choice in fan.choices:
        lanes = dict(zip(fan.variables, choice, strict=True))
        over = tuple(lanes[v] > 1 for v in matters)
        total = prod(choice)
        key = (total > 1, feeds and total, over, tuple(lanes[v] for v in windows))
        groups.setdefault(key, []).append(choice)
    return [tuple(group) for group in groups.values()]


def _feeds_places(problem: Problem, template: Template, fan: SpatialLoops) -> bool:
    """Tell whether the template holds something in a memory spread along this dimension."""
    held = {holder.component for holder in (*template.holders, *template.tolls)}
    for level, component in enumerate(problem.components):
        grid = grid_of(problem.components, level)
        if component.name in held and grid is not None and grid.name == fan.component:
            least = 2 if problem.conventions.whole_places or component.physical_fanout == 1 else 1
            if fan.name in {d.name for d in component.physical_spatial if d.fanout >= least}:
                return True
    return False


def swapped_variables(
    problem: Problem, template: Template, fans: Sequence[SpatialLoops]
) -> list[set[str]]:
    """Return, per gap below a holder, the variables that no temporal loop there may have.

    A holder below the gap and below lanes of a deeper level sees the lanes below the loop; over a
    variable that matters to its tensor the two cannot change places (model/nest.py).
    """
    found: list[set[str]] = [set() for _ in template.holders]
    for fan in fans:
        level = problem.level(fan.component)
        for index in early_holders(problem, template, level):
            access = problem.einsum.access(template.holders[index].tensor)
            taken = {v for v in _dealt(fan) if access.relevance(v) != "irrelevant"}
            for gap in range(_first_at(problem, template, level), index):
                found[gap] |= taken
    return found


def early_holders(problem: Problem, template: Template, level: int) -> tuple[int, ...]:
    """Return the holders that stand below the lanes of a component at `level`, a deeper one."""
    holders = template.holders
    first = _first_at(problem, template, level)
    return tuple(
        i for i in range(first, len(holders)) if problem.level(holders[i].component) < level
    )


def _first_at(problem: Problem, template: Template, level: int) -> int:
    """Return the first holder at or below `level`: lanes of that level stand right above it."""
    holders = template.holders
    return next(
        (i for i, h in enumerate(holders) if problem.level(h.component) >= level), len(holders)
    )


def remaining_choices(template: Template, fans: Sequence[SpatialLoops]) -> tuple[SpatialLoops, ...]:
    """Return the dimensions with the choices that the template leaves them."""
    if not template.lane_restrictions:
        return tuple(fans)
    only = {(dealt.component, dealt.dim): dealt.choices for dealt in template.lane_restrictions}
    return tuple(
        replace(fan, choices=only.get((fan.component, fan.name), fan.choices)) for fan in fans
    )


@dataclass(frozen=True, slots=True)
class Above:
    """Lanes written above a holder that it sees below it: chosen, and still to be chosen."""

    lanes: Lanes = ()
    under: tuple[DimName, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.lanes or self.under)


def lanes_above(
    problem: Problem, template: Template, fans: Sequence[SpatialLoops]
) -> tuple[Above, ...]:
    """Return, per holder, the lanes written above it that it sees below it, over all variables."""
    lanes: list[dict[str, int]] = [{} for _ in template.holders]
    under: list[list[DimName]] = [[] for _ in template.holders]
    for fan in fans:
        for index in early_holders(problem, template, problem.level(fan.component)):
            if len(fan.choices) > 1:
                under[index].append((fan.component, fan.name))
                continue
            for variable, share in _dealt(fan).items():
                lanes[index][variable] = lanes[index].get(variable, 1) * share
    return tuple(
        Above(tuple(sorted(known.items())), tuple(open_))
        for known, open_ in zip(lanes, under, strict=True)
    )


def _dealt(fan: SpatialLoops) -> dict[str, int]:
    """Return the lanes of the first choice of a dimension; none if no lanes are legal there.

    All choices that a template leaves have lanes over the same variables, of those that matter.
    """
    choice = fan.choices[0] if fan.choices else (1,) * len(fan.variables)
    return {v: lanes for v, lanes in zip(fan.variables, choice, strict=True) if lanes > 1}


def working_places(problem: Problem, fans: Sequence[SpatialLoops]) -> dict[str, Count]:
    """Return how many places of each distributed memory work; see model/distributed.py."""
    used: dict[tuple[str, str], Count] = {
        (fan.component, fan.name): prod(fan.choices[0])
        for fan in fans
        if fan.choices and prod(fan.choices[0]) > 1
    }
    rule = at_least_one if problem.conventions.whole_places else in_proportion
    return places_at_work(problem.components, used, rule)
