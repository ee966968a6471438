"""One template made ready for the uneven search: what may happen at each slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod

from tilewright.arch.components.components import Comparison, Memory
from tilewright.mapper.mapspace.points import reserved_bits
from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.uneven.costs.slot_charges import (
    ChargeBound,
    ChargeCompiler,
    SlotCharge,
)
from tilewright.mapper.searches.uneven.costs.tile_candidates import Tail, TailSlot
from tilewright.mapper.searches.uneven.costs.tile_chains import ALL, CountKind
from tilewright.mapper.searches.uneven.costs.uneven_messages import LaneCrossing, crossings_of
from tilewright.mapper.searches.uneven.search_parts import SearchPart, least_steps
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem, required_tile_shape
from tilewright.mapper.templates.slots import Reservation, Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops


@dataclass(frozen=True, slots=True)
class CapacityCheck:
    """A reservation that is checked: `field` sums the bits (None: alone in its memory); `last`: no
    other reservation of the memory below, and nothing asks for the sum at the end."""

    slot: Reservation
    size: float
    field: int | None
    is_last: bool


@dataclass(frozen=True, slots=True)
class TemplatePlan:
    """What the search needs of a template. `bills[i]` and `pins[i]` hold above slot i (one more:
    at the Compute); `tails[i][v]`: hosts of variable v below slot i; `needed[i][v]`: kinds of
    count that slot i or a later one asks for; `lanes[i]`: the most lanes from slot i on, and
    `most[i][v]` those of one variable; `fewest`: steps of every mapping; `steps`: the kinds whose
    extents are the steps (None: steps do not matter); `ways[i]`: what travels through slot i."""

    template: Template
    slots: tuple[Slot, ...]
    charges: tuple[tuple[SlotCharge, ...], ...]
    pins: tuple[tuple[Comparison, ...], ...]
    capacity_checks: tuple[CapacityCheck | None, ...]
    tails: tuple[tuple[Tail, ...], ...]
    needed_kinds: tuple[tuple[frozenset[CountKind], ...], ...]
    most_lanes: tuple[float, ...]
    most_lanes_of: tuple[tuple[int, ...], ...]
    fewest_steps: float
    charge_bounds: tuple[ChargeBound, ...]
    step_kinds: tuple[CountKind, ...] | None
    crossings: Mapping[int, tuple[LaneCrossing, ...]]

    def forgotten_variables(self, index: int) -> list[int]:
        """Return the variables of which a kind of count is no longer needed once slot `index`, or
        the Compute, has been paid."""
        if index + 1 >= len(self.needed_kinds):
            return []
        return [
            v
            for v, kinds in enumerate(self.needed_kinds[index])
            if kinds != self.needed_kinds[index + 1][v]
        ]


def make_plan(problem: Problem, fields: LabelFields, part: SearchPart, timed: bool) -> TemplatePlan:
    """Prepare a part. `timed`: steps and calls matter, not only the energy."""
    template, slots, bounds = part.template, part.slots, problem.einsum.bounds
    biller = ChargeCompiler(problem, fields, template, slots)
    at_slot = biller.charges()
    bills = tuple(at_slot.get(i, ()) for i in range(len(slots) + 1))
    pins = tuple(required_tile_shape(problem, template, slot) for slot in slots)
    steps = biller.step_kinds() if timed else None
    pinned = {v for pin in pins for comparison in pin for v in comparison.rank_variables}
    lanes, most = [1.0], [(1,) * len(bounds)]
    for slot in reversed(slots):
        all_ = max(map(prod, slot.choices)) if isinstance(slot, SpatialLoops) else 1
        lanes.append(lanes[-1] * all_)
        each = [_most_lanes(slot, v) if isinstance(slot, SpatialLoops) else 1 for v in bounds]
        most.append(tuple(n * one for n, one in zip(most[-1], each, strict=True)))
    return TemplatePlan(
        template,
        slots,
        bills,
        (*pins, ()),
        tuple(_capacity_check(problem, fields, slots, i) for i in range(len(slots))),
        _tails(problem, slots, timed or problem.has_networks, pinned),
        _needed_kinds(problem, bills, steps),
        tuple(reversed(lanes)),
        tuple(reversed(most)),
        least_steps(problem, slots),
        tuple(biller.charge_bounds()),
        steps,
        crossings_of(problem, fields, template, slots) if problem.has_networks else {},
    )


def _capacity_check(
    problem: Problem, fields: LabelFields, slots: Sequence[Slot], index: int
) -> CapacityCheck | None:
    slot = slots[index]
    if not isinstance(slot, Reservation):
        return None
    memory = problem.holder(slot.component)
    assert isinstance(memory, Memory)
    same = [
        (i, s)
        for i, s in enumerate(slots)
        if isinstance(s, Reservation) and s.component == slot.component
    ]
    if slot.component in fields.tracked:
        return CapacityCheck(
            slot, float(memory.size), fields.used_bits[slot.component], is_last=False
        )
    whole_bits = sum(reserved_bits(problem, s, problem.einsum.bounds) for _, s in same)
    if memory.size == inf or whole_bits <= memory.size:
        return None
    field = fields.used_bits[slot.component] if len(same) > 1 else None
    return CapacityCheck(slot, float(memory.size), field, index == same[-1][0])


def _tails(
    problem: Problem, slots: Sequence[Slot], timed: bool, pinned: set[str]
) -> tuple[tuple[Tail, ...], ...]:
    rows: list[tuple[Tail, ...]] = []
    for v in problem.einsum.bounds:
        distributed = [
            i for i, s in enumerate(slots) if isinstance(s, SpatialLoops) and _most_lanes(s, v) > 1
        ]
        tail: Tail = ()
        row = [tail]
        for index in range(len(slots) - 1, 0, -1):
            slot = slots[index]
            if isinstance(slot, SpatialLoops) and _most_lanes(slot, v) > 1:
                tail = (TailSlot("lanes", _most_lanes(slot, v), _fewest_lanes(slot, v)), *tail)
            elif isinstance(slot, TemporalLoops) and v in slot.variables:
                below_lanes = timed and any(i < index for i in distributed)
                keeps_all = v not in problem.uneven or v in pinned or below_lanes
                tail = (TailSlot("all" if keeps_all else "thin"), *tail)
            row.append(tail)
        rows.append(tuple(reversed(row)))
    return tuple(zip(*rows, strict=True))


def _fewest_lanes(loops: SpatialLoops, variable: str) -> int:
    place = loops.variables.index(variable)
    return min(choice[place] for choice in loops.choices)


def _most_lanes(loops: SpatialLoops, variable: str) -> int:
    if variable not in loops.variables:
        return 1
    place = loops.variables.index(variable)
    return max(choice[place] for choice in loops.choices)


def _needed_kinds(
    problem: Problem, bills: Sequence[Sequence[SlotCharge]], steps: tuple[CountKind, ...] | None
) -> tuple[tuple[frozenset[CountKind], ...], ...]:
    """Return, per slot, the kinds of each variable that the bills from there on ask for."""
    variables = range(len(problem.einsum.bounds))
    asked = [{ALL} if steps is None else {ALL, steps[v]} for v in variables]
    rows = []
    for charges_above in reversed(bills):
        for bill in charges_above:
            for v in variables:
                asked[v].add(bill.count.kinds[v])
        rows.append(tuple(frozenset(kinds) for kinds in asked))
    return tuple(reversed(rows))
