"""The parts of a mapspace that are searched at a time: a template, or one class of its lanes.

A bound of the energy assumes some choice of lanes, and a bound of the steps assumes one. Where the
two differ, their product is far below every mapping. The choices of a dimension are therefore
sorted into classes, and both bounds taken of one class at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from operator import truediv

from tilewright.mapper.searches.program.out_of_order import check_order
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slot_sequence import slot_sequence
from tilewright.mapper.templates.slots import Slot
from tilewright.mapper.templates.spatial_choices import SpatialLoops

MOST_PARTS = 5_000  # that are looked at one by one
MOST_COMBINATIONS = 50_000


@dataclass(frozen=True, slots=True)
class SearchPart:
    """A template, or its mappings with one class of lanes, searched at a time.

    `slots`: of the template, outermost first; its dimensions may have only some of their choices.
    A template is a mapping without its loops; a lane is one instance along a dimension of a
    fanout.
    """

    template: Template
    slots: tuple[Slot, ...]


def whole_parts(problem: Problem, templates: Iterable[Template]) -> Iterator[SearchPart]:
    """Yield each template that has legal lanes in every dimension, as one part.

    A template is a mapping without its loops; a lane is one instance along a dimension of a
    fanout. Raises UnsupportedFeature if a holder stands below lanes of a deeper component.
    """
    for template in templates:
        slots = slot_sequence(problem, template)
        if all(slot.choices for slot in slots if isinstance(slot, SpatialLoops)):
            check_order(problem, slots)
            yield SearchPart(template, slots)


def classes_of(part: SearchPart, number: int) -> list[SearchPart]:
    """Split a part by classes of the lanes of one dimension; each mapping is in one of them.

    `number`: of the dimension, 0 for the outermost; the part itself if there are not so many. A
    lane is one instance along a dimension of a fanout.
    """
    places = [place for place, slot in enumerate(part.slots) if isinstance(slot, SpatialLoops)]
    if number >= len(places):
        return [part]
    place, loops = places[number], part.slots[places[number]]
    assert isinstance(loops, SpatialLoops)
    outer_slots, inner_slots = part.slots[:place], part.slots[place + 1 :]
    return [
        SearchPart(
            part.template, (*outer_slots, replace(loops, choices=tuple(choices)), *inner_slots)
        )
        for choices in choice_classes(loops)
    ]


def choice_classes(loops: SpatialLoops) -> list[list[tuple[int, ...]]]:
    """Group the choices of lanes of a dimension, variable by variable, by powers of two.

    Lanes of 1, 2, 3 to 4, 5 to 8 and so on are alike. A lane is one instance along a dimension of
    a fanout.
    """
    groups: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for choice in loops.choices:
        groups.setdefault(tuple((n - 1).bit_length() for n in choice), []).append(choice)
    return [choices for _, choices in sorted(groups.items())]


def least_steps(problem: Problem, slots: Sequence[Slot]) -> float:
    """Return a lower bound of the steps in time of all mappings with these slots.

    Each variable takes its bound over its lanes, rounded up where remainders are exact. A slot is
    a place of a template (a mapping without loops) for loops, a fill or a reserved tile; a lane is
    one instance along a dimension of a fanout.
    """
    bounds = tuple(problem.einsum.bounds.values())
    share = whole_share if problem.conventions.exact_remainders else truediv
    dims = [slot for slot in slots if isinstance(slot, SpatialLoops)]
    reached = {(1,) * len(bounds)}
    for dim in dims:
        chosen = [dict(zip(dim.variables, choice, strict=True)) for choice in widest(dim.choices)]
        if len(reached) * len(chosen) > MOST_COMBINATIONS:
            most_lanes = prod(max(map(prod, loops.choices)) for loops in dims)
            return prod(bounds) / most_lanes
        reached = {
            _lanes_used(problem.einsum.bounds, used, lanes) for used in reached for lanes in chosen
        }
    return float(
        min(
            prod(share(b, lanes) for b, lanes in zip(bounds, used, strict=True)) for used in reached
        )
    )


def _lanes_used(
    bounds: Mapping[str, int], used: Sequence[int], more: Mapping[str, int]
) -> tuple[int, ...]:
    """Return the lanes over each variable with those of one more dimension, at most its bound."""
    return tuple(
        min(bound, lanes * more.get(v, 1))
        for (v, bound), lanes in zip(bounds.items(), used, strict=True)
    )


def widest(choices: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Leave out choices of lanes that another one exceeds in one variable and equals else.

    The other has the next larger number of lanes of that variable.
    """
    all_choices, following = set(choices), []
    for column in zip(*choices, strict=True):
        numbers = sorted(set(column))
        following.append(dict(pairwise(numbers)))

    def is_topped(choice: tuple[int, ...]) -> bool:
        return any(
            (*choice[:v], following[v].get(n), *choice[v + 1 :]) in all_choices
            for v, n in enumerate(choice)
        )

    return [choice for choice in choices if not is_topped(choice)]


def whole_share(values: int, lanes: int) -> int:
    """Return the values of the lane with the most values: ceil(values / lanes)."""
    return -(-values // lanes)
