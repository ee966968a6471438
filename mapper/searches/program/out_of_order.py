"""Lanes that stand above a holder of an outer memory, which sees them below itself.

Its tile is larger by the lanes over variables of its tensor, and it is visited less often by those
over others. Where a template leaves a dimension several choices, both are factors of the choice
(templates/lane_variants.py groups them so), and a label carries them until the lanes are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Reservation, Slot
from tilewright.mapper.templates.spatial_choices import Lanes, SpatialLoops
from tilewright.mapper.workload.einsum import TensorAccess

Factors = tuple[tuple[int, tuple[float, ...]], ...]  # slot of a dimension, factor per choice


@dataclass(frozen=True, slots=True)
class LanesSeenBelow:
    """`lanes`: over variables of which no choice is left; `fans`: all their dimensions, by slot."""

    lanes: Lanes = ()
    fans: tuple[tuple[int, SpatialLoops], ...] = ()

    def factors_over(self, variables: frozenset[str]) -> Factors:
        """Return, per dimension and choice, the lanes over some variables beside `lanes`."""
        fixed = {v for v, _ in self.lanes}
        found = []
        for index, fan in self.fans:
            columns = [i for i, v in enumerate(fan.variables) if v in variables - fixed]
            factors = tuple(float(prod(choice[i] for i in columns)) for choice in fan.choices)
            if max(factors) > 1:
                found.append((index, factors))
        return tuple(found)

    def size_factors(self, access: TensorAccess) -> Factors:
        """Return by what the tile of a tensor is larger."""
        return self.factors_over(access.rank_variables)

    def visit_divisors(self, access: TensorAccess, bounds: Sequence[str]) -> Factors:
        """Return by what its visits are fewer, beyond what the larger tile makes up for."""
        return self.factors_over(frozenset(bounds) - access.rank_variables)


def lanes_seen_below(
    problem: Problem, slots: Sequence[Slot], index: int, level: int
) -> LanesSeenBelow:
    """Return the lanes above slot `index` that a holder there, of a memory at `level`, sees below
    itself."""
    fans = [
        (i, slot)
        for i, slot in enumerate(slots[:index])
        if isinstance(slot, SpatialLoops)
        and problem.level(slot.component) > level
        and any(prod(choice) > 1 for choice in slot.choices)
    ]
    shares: dict[str, list[set[int]]] = {}
    for _, fan in fans:
        for column, variable in enumerate(fan.variables):
            shares.setdefault(variable, []).append({choice[column] for choice in fan.choices})
    known = {
        v: prod(next(iter(one)) for one in each)
        for v, each in shares.items()
        if all(len(one) == 1 for one in each)
    }
    lanes = tuple(sorted((v, share) for v, share in known.items() if share > 1))
    return LanesSeenBelow(lanes, tuple(fans))


@dataclass(frozen=True, slots=True)
class OpenReservation:
    """What slot `index` reserves, `bits` per value, is larger by `factors`; `capacity` of all."""

    index: int
    slot: Reservation
    lanes: Lanes
    bits: float
    factors: Factors
    capacity: float


def open_reservations(
    problem: Problem, slots: Sequence[Slot], summed: frozenset[str]
) -> list[OpenReservation]:
    """Return the reservations whose bits depend on lanes that are not chosen yet.

    Only in memories that can overflow, or that are `summed` in any case.
    """
    found = []
    for index, slot in enumerate(slots):
        if not isinstance(slot, Reservation) or not slot.open_dims:
            continue
        early = lanes_seen_below(problem, slots, index, problem.level(slot.component))
        factors = early.size_factors(problem.einsum.access(slot.tensor))
        if factors and (slot.component in summed or _tight(problem, slots, slot)):
            bits, room = (
                problem.value_bits(replace(slot, lanes=(), open_dims=())),
                problem.capacity_bits(slot),
            )
            found.append(OpenReservation(index, slot, early.lanes, bits, factors, room))
    return found


def _tight(problem: Problem, slots: Sequence[Slot], slot: Reservation) -> bool:
    same = [s for s in slots if isinstance(s, Reservation) and s.component == slot.component]
    return problem.can_overflow(tuple(same))
