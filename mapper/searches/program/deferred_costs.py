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

from tilewright.mapper.searches.exact.label_fields import Fields
from tilewright.mapper.searches.program.charge_sites import Add, Deferral, Route
from tilewright.mapper.searches.program.out_of_order import Room, open_rooms
from tilewright.mapper.searches.search_errors import InternalError
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Reservation, Slot
from tilewright.mapper.templates.spatial_choices import SpatialLoops

Values = tuple[float, ...]
Scales = tuple[tuple[int, Values], ...]  # slot, factor per choice


@dataclass(frozen=True, slots=True)
class Debt:
    """One field that carries costs: `adds` (at a slot), `scales` (at a dimension), and the field
    `target` that gets them above the slot `top`.

    `limit`: (bits that the target may hold then, whether nothing above adds to it), if it is room.
    """

    field: int
    target: int
    adds: tuple[tuple[int, Add], ...]
    scales: Scales
    top: int
    limit: tuple[float, bool] | None = None

    @property
    def refunds(self) -> tuple[Add, ...]:
        """What is paid at least: the negative costs, as if at the greatest scales, to `target`."""
        most = prod(max(values) for _, values in self.scales)
        return tuple(
            replace(add, field=self.target, factor=add.factor * most)
            for _, add in self.adds
            if add.factor < 0
        )


def deferred(routes: Iterable[Route]) -> list[Deferral]:
    """Return what these routes can pay later."""
    return [route.deferral for route in routes if route.deferral is not None]


def debts(
    problem: Problem, fields: Fields, slots: Sequence[Slot], deferrals: Sequence[Deferral]
) -> list[Debt] | None:
    """Return the fields that carry these costs; None if the label has too few of them."""
    energy, calls = iter(fields.owed), iter(fields.owed_calls)
    found = []
    for (target, top, scales), adds in sorted(_grouped(problem, slots, deferrals).items()):
        field = next(calls if target else energy, None)
        if field is None:
            return None
        moved = tuple((slot, replace(add, field=field)) for slot, add in adds)
        found.append(Debt(field, target, moved, scales, top))
    return found


def counts(
    problem: Problem, slots: Sequence[Slot], deferrals: Sequence[Deferral]
) -> tuple[int, int]:
    """Return how many fields `debts` needs: for energy, for calls."""
    targets = [target for target, _, _ in _grouped(problem, slots, deferrals)]
    return targets.count(0), len(targets) - targets.count(0)


def _grouped(
    problem: Problem, slots: Sequence[Slot], deferrals: Sequence[Deferral]
) -> dict[tuple[int, int, Scales], list[tuple[int, Add]]]:
    """Group what one field can carry: owed to the same field, above the same slot, scaled alike."""
    groups: dict[tuple[int, int, Scales], list[tuple[int, Add]]] = {}
    for one in deferrals:
        for add in one.adds:
            scales = _scales(problem, slots, one, calls=add.field != 0)
            key = (add.field, min(i for i, _ in one.fans), scales)
            groups.setdefault(key, []).append((one.child, add))
    return groups


def _scales(problem: Problem, slots: Sequence[Slot], one: Deferral, calls: bool) -> Scales:
    """Return per dimension between the child and the topmost reuse what each choice multiplies by.

    `calls`: of one instance, so that lanes at or above its level divide them too.
    """
    factors = dict(one.fans)
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


Rooms = dict[tuple[str, int, Scales], list[tuple[int, Add]]]  # memory, top slot, scales -> adds


def room_debts(problem: Problem, fields: Fields, slots: Sequence[Slot]) -> list[Debt]:
    """Return the fields that carry bits of tiles which are larger by lanes still to be chosen.

    InternalError if the label has too few of them.
    """
    rooms = open_rooms(problem, slots, fields.summed)
    grouped = _by_scales(rooms)
    capacity = {room.slot.component: room.capacity for room in rooms}
    last = {memory: min(top for name, top, _ in grouped if name == memory) for memory in capacity}
    found = []
    for number, ((memory, top, scales), adds) in enumerate(sorted(grouped.items())):
        if number >= len(fields.owed_room):
            raise InternalError(f"labels have no field for the bits of {memory} above its lanes")
        own = fields.owed_room[number]
        above = any(isinstance(s, Reservation) and s.component == memory for s in slots[:top])
        ends = memory not in fields.summed and top == last[memory] and not above
        moved = tuple((slot, replace(add, field=own)) for slot, add in adds)
        limit = (capacity[memory], ends)
        found.append(Debt(own, fields.room[memory], moved, scales, top, limit))
    return found


def count_rooms(problem: Problem, slots: Sequence[Slot], summed: frozenset[str]) -> int:
    """Return how many fields `room_debts` needs."""
    return len(_by_scales(open_rooms(problem, slots, summed)))


def _by_scales(rooms: Sequence[Room]) -> Rooms:
    groups: Rooms = {}
    for room in rooms:
        key = (room.slot.component, min(i for i, _ in room.factors), room.factors)
        add = Add(0, room.slot.tensor, "tile", room.bits, room.lanes)
        groups.setdefault(key, []).append((room.index, add))
    return groups
