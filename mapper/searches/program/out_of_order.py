"""Model holders of an outer memory that stand below spatial loops of a deeper component.

A holder of a memory at level 1 may stand below spatial loops of level 2 in a template. Each
instance of the memory then feeds all these lanes: the tile of the holder is larger by the lanes
over variables of its tensor, and it is visited less often by the lanes over other variables. Where
a template leaves a dimension several choices, both numbers are factors of the choice
(templates/lane_variants.py groups the choices so), and a label carries the cost until the lanes are
known (deferred_costs.py).

Example: 4 lanes over n and 2 over k above a holder of A[m, k]. Its tile is 2 times larger, and it
is visited 4 times less often.

Where the conventions do not let loops sink, a holder sees exactly the lanes of its own level and of
the levels above it; the dynamic program models no other order, and `check_order` refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Fill, Reservation, Slot, reservations_in
from tilewright.mapper.templates.spatial_choices import Lanes, SpatialLoops
from tilewright.mapper.workload.errors import UnsupportedFeature

Factors = tuple[tuple[int, tuple[float, ...]], ...]  # slot of a dimension, factor per choice


@dataclass(frozen=True, slots=True)
class LanesBelowHolder:
    """Spatial loops written above a holder that act on its tile as if they stood below it.

    They belong to a deeper component than the holder. `lanes`: pairs (variable, lanes) of
    variables with the same lanes in every choice. `spatial_loops`: pairs (slot, dimension) of them
    all. False as a truth value if there are none. A slot is a place of a template (a mapping
    without loops) for loops, a fill or a reserved tile.
    """

    lanes: Lanes = ()
    spatial_loops: tuple[tuple[int, SpatialLoops], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.lanes or self.spatial_loops)

    def factors_over(self, variables: frozenset[str]) -> Factors:
        """Return (slot, lanes over some variables for each choice) per dimension.

        Lanes over variables of a tensor make its tile larger, those over others divide its visits.
        Variables whose lanes are fixed (in `lanes`) do not count; dimensions without effect are
        left out. A slot is a place of a template (a mapping without loops) for loops, a fill or a
        reserved tile; a lane is one instance along a dimension of a fanout.
        """
        fixed = {v for v, _ in self.lanes}
        factors = []
        for slot, loops in self.spatial_loops:
            per_choice = tuple(map(float, loops.lanes_over(variables - fixed)))
            if max(per_choice) > 1:
                factors.append((slot, per_choice))
        return tuple(factors)


NO_LANES_SEEN_BELOW = LanesBelowHolder()


def lanes_seen_below(
    problem: Problem, slots: Sequence[Slot], slot: int, level: int
) -> LanesBelowHolder:
    """Return the lanes above a slot that a holder there acts upon as if they stood below.

    `level`: place on the path of the holder's memory; lanes of deeper components count. A slot is
    a place of a template (a mapping without loops) for loops, a fill or a reserved tile; a lane is
    one instance along a dimension of a fanout.
    """
    spatial_loops = [
        (i, loops)
        for i, loops in enumerate(slots[:slot])
        if isinstance(loops, SpatialLoops)
        and problem.level(loops.component) > level
        and loops.has_lanes
    ]
    fixed = _fixed_lanes([loops for _, loops in spatial_loops])
    lanes = tuple(sorted((v, number) for v, number in fixed.items() if number > 1))
    return LanesBelowHolder(lanes, tuple(spatial_loops))


def _fixed_lanes(spatial_loops: Sequence[SpatialLoops]) -> Mapping[str, int]:
    """Return lanes per variable for the variables with the same lanes in all choices."""
    numbers: dict[str, list[set[int]]] = {}
    for loops in spatial_loops:
        for variable in loops.variables:
            numbers.setdefault(variable, []).append(set(loops.lanes_of(variable)))
    return {
        v: prod(next(iter(lanes)) for lanes in by_dimension)
        for v, by_dimension in numbers.items()
        if all(len(lanes) == 1 for lanes in by_dimension)
    }


@dataclass(frozen=True, slots=True)
class OpenReservation:
    """A tile to be held whose size depends on lanes that are still to be chosen.

    `index`, `slot`: number of the slot, and the reservation. `bits`: per value of its tile, which
    is larger by the fixed `lanes` (pairs of variable and number) and by `factors` (pairs of slot
    and factor per choice). `capacity`: bits of the memory. A lane is one instance along a
    dimension of a fanout.
    """

    index: int
    slot: Reservation
    lanes: Lanes
    bits: float
    factors: Factors
    capacity: float


def open_reservations(
    problem: Problem, slots: Sequence[Slot], tracked: frozenset[str]
) -> list[OpenReservation]:
    """Return the reservations whose bits depend on lanes that are not chosen yet.

    Only in memories that can overflow, or that are `tracked`: their usage is asked for in any
    case. A lane is one instance along a dimension of a fanout.
    """
    reservations = []
    for index, slot in enumerate(slots):
        if not isinstance(slot, Reservation) or not slot.open_dims:
            continue
        seen_below = lanes_seen_below(problem, slots, index, problem.level(slot.component))
        factors = seen_below.factors_over(problem.einsum.access(slot.tensor).rank_variables)
        together = tuple(reservations_in(slots, slot.component).values())
        if factors and (slot.component in tracked or problem.can_overflow(together)):
            bits = problem.value_bits(replace(slot, lanes=(), open_dims=()))
            capacity = problem.capacity_bits(slot)
            reservations.append(
                OpenReservation(index, slot, seen_below.lanes, bits, factors, capacity)
            )
    return reservations


def check_order(problem: Problem, slots: Sequence[Slot]) -> None:
    """Raise UnsupportedFeature if a holder stands below lanes of a deeper component.

    Lanes are instances of a fanout. For conventions under which the dynamic program models no such
    order.
    """
    misplaced = below_deeper_lanes(problem, slots)
    if misplaced is not None:
        slot, level = misplaced
        raise UnsupportedFeature(
            f"{slot.tensor} in {slot.component} stands below lanes of"
            f" {problem.components[level].name}, a lower level",
            instead="set force_memory_hierarchy_order: true on one of the two memories,"
            " or use the exhaustive search",
        )


def below_deeper_lanes(problem: Problem, slots: Sequence[Slot]) -> tuple[Fill, int] | None:
    """Return the first holder below lanes of a deeper component, and the latter's level.

    None if there is none. The level is the deepest so far on the path, 0 for the outermost. A lane
    is one instance along a dimension of a fanout.
    """
    deepest = -1
    for slot in slots:
        if isinstance(slot, SpatialLoops) and slot.has_lanes:
            deepest = max(deepest, problem.level(slot.component))
        elif isinstance(slot, Fill) and problem.level(slot.component) < deepest:
            return slot, deepest
    return None
