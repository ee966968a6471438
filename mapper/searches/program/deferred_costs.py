"""Costs that are paid once the lanes of several dimensions are known.

What crosses dimensions that reuse a tensor is its count at the child's tile, divided by the lanes
over irrelevant variables of each of them; first fills of an output are multiplied by lanes instead.
Where no tile of the program shows that (two dimensions reuse different tensors, each dealt below
the other), a label carries the count along: it is charged to a field of its own at the child, every
deal multiplies the field, and above the topmost of these dimensions it is paid: added to what it is
owed to. All of it is linear with factors above 0, so a label that is at least as good in all fields
stays so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.program.charge_sites import ChargeSite, CostTerm, DeferredCharge
from tilewright.mapper.searches.program.out_of_order import OpenReservation, open_reservations
from tilewright.mapper.searches.search_errors import InternalError
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Reservation, Slot
from tilewright.mapper.templates.spatial_choices import SpatialLoops

Values = tuple[float, ...]
Scales = tuple[tuple[int, Values], ...]  # slot, factor per choice


@dataclass(frozen=True, slots=True)
class DeferredCost:
    """One field that carries costs: `adds` (at a slot), `scales` (at a dimension), and the field
    `target` that gets them above the slot `top`.

    `limit`: (bits that the target may hold then, whether nothing above adds to it), if it is room.
    """

    field: int
    target: int
    terms: tuple[tuple[int, CostTerm], ...]
    factors: Scales
    top: int
    limit: tuple[float, bool] | None = None

    @property
    def refunds(self) -> tuple[CostTerm, ...]:
        """What is paid at least: the negative costs, as if at the greatest scales, to `target`."""
        most = prod(max(values) for _, values in self.factors)
        return tuple(
            replace(add, field=self.target, factor=add.factor * most)
            for _, add in self.terms
            if add.factor < 0
        )


def deferred_charges(routes: Iterable[ChargeSite]) -> list[DeferredCharge]:
    """Return what these routes can pay later."""
    return [route.deferral for route in routes if route.deferral is not None]


def deferred_costs(
    problem: Problem,
    fields: LabelFields,
    slots: Sequence[Slot],
    deferrals: Sequence[DeferredCharge],
) -> list[DeferredCost] | None:
    """Return the fields that carry these costs; None if the label has too few of them."""
    energy, calls = iter(fields.deferred_energy), iter(fields.deferred_calls)
    found = []
    for (target, top, scales), adds in sorted(_grouped(problem, slots, deferrals).items()):
        field = next(calls if target else energy, None)
        if field is None:
            return None
        moved = tuple((slot, replace(add, field=field)) for slot, add in adds)
        found.append(DeferredCost(field, target, moved, scales, top))
    return found


def deferred_field_counts(
    problem: Problem, slots: Sequence[Slot], deferrals: Sequence[DeferredCharge]
) -> tuple[int, int]:
    """Return how many fields `debts` needs: for energy, for calls."""
    targets = [target for target, _, _ in _grouped(problem, slots, deferrals)]
    return targets.count(0), len(targets) - targets.count(0)


def _grouped(
    problem: Problem, slots: Sequence[Slot], deferrals: Sequence[DeferredCharge]
) -> dict[tuple[int, int, Scales], list[tuple[int, CostTerm]]]:
    """Group what one field can carry: owed to the same field, above the same slot, scaled alike."""
    groups: dict[tuple[int, int, Scales], list[tuple[int, CostTerm]]] = {}
    for one in deferrals:
        for add in one.terms:
            scales = _scales(problem, slots, one, calls=add.field != 0)
            key = (add.field, min(i for i, _ in one.factors), scales)
            groups.setdefault(key, []).append((one.child, add))
    return groups


def _scales(problem: Problem, slots: Sequence[Slot], one: DeferredCharge, calls: bool) -> Scales:
    """Return per dimension between the child and the topmost reuse what each choice multiplies by.

    `calls`: of one instance, so that lanes at or above its level divide them too.
    """
    factors = dict(one.factors)
    found = []
    for index in range(min(factors), one.child):
        slot = slots[index]
        if not isinstance(slot, SpatialLoops):
            continue
        values = factors.get(index, (1.0,) * len(slot.choices))
        if calls and one.level >= problem.level(slot.component):
            values = tuple(x / prod(c) for x, c in zip(values, slot.choices, strict=True))
        if values != (1.0,) * len(values):
            found.append((index, values))
    return tuple(found)


Rooms = dict[
    tuple[str, int, Scales], list[tuple[int, CostTerm]]
]  # memory, top slot, scales -> adds


def deferred_reservations(
    problem: Problem, fields: LabelFields, slots: Sequence[Slot]
) -> list[DeferredCost]:
    """Return the fields that carry bits of tiles which are larger by lanes still to be chosen.

    InternalError if the label has too few of them.
    """
    rooms = open_reservations(problem, slots, fields.tracked)
    grouped = _by_scales(rooms)
    capacity = {room.slot.component: room.capacity for room in rooms}
    last = {memory: min(top for name, top, _ in grouped if name == memory) for memory in capacity}
    found = []
    for number, ((memory, top, scales), adds) in enumerate(sorted(grouped.items())):
        if number >= len(fields.deferred_bits):
            raise InternalError(f"labels have no field for the bits of {memory} above its lanes")
        own = fields.deferred_bits[number]
        above = any(isinstance(s, Reservation) and s.component == memory for s in slots[:top])
        ends = memory not in fields.tracked and top == last[memory] and not above
        moved = tuple((slot, replace(add, field=own)) for slot, add in adds)
        limit = (capacity[memory], ends)
        found.append(DeferredCost(own, fields.used_bits[memory], moved, scales, top, limit))
    return found


def deferred_reservation_count(
    problem: Problem, slots: Sequence[Slot], summed: frozenset[str]
) -> int:
    """Return how many fields `room_debts` needs."""
    return len(_by_scales(open_reservations(problem, slots, summed)))


def _by_scales(rooms: Sequence[OpenReservation]) -> Rooms:
    groups: Rooms = {}
    for room in rooms:
        key = (room.slot.component, min(i for i, _ in room.factors), room.factors)
        add = CostTerm(0, room.slot.tensor, "tile", room.bits, room.lanes)
        groups.setdefault(key, []).append((room.index, add))
    return groups
