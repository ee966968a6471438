"""One template compiled for the uneven search: charges, capacity checks and loops at each slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod

from tilewright.arch.components.components import Comparison, Memory
from tilewright.mapper.mapspace.point_capacity import reserved_bits
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
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.required_tile_shape import required_tile_shape
from tilewright.mapper.templates.slots import Reservation, Slot, TemporalLoops, reservations_in
from tilewright.mapper.templates.spatial_choices import SpatialLoops


@dataclass(frozen=True, slots=True)
class CapacityCheck:
    """A reserved tile whose memory can overflow.

    `slot`: the reservation; `size`: bits of the memory. `field`: column of a label (a partial
    mapping's tuple of costs) that sums the bits in use, None if this is the memory's only
    reservation. `is_last`: no reservation of the memory follows, and the sum is not read at the
    end.
    """

    slot: Reservation
    size: float
    field: int | None
    is_last: bool


@dataclass(frozen=True, slots=True)
class TemplatePlan:
    """A template, or a part of its mappings, compiled for the search with uneven tiles.

    Slots are numbered from 0 at the outermost. `charges[i]`, `pins[i]`: costs and tile_shape
    conditions above slot i (the last entry: at the Compute). `capacity_checks[i]`: of slot i, if
    it is a reservation whose memory can overflow. `tails[i][v]`: the slots below slot i that can
    loop over variable number v. `needed_kinds[i][v]`: which counts of tiles of v slot i or a later
    one needs. `most_lanes[i]`: the most lanes (instances) from slot i on; `most_lanes_of[i][v]`:
    those of one variable. `fewest_steps`: lower bound of the steps in time of every mapping.
    `charge_bounds`: lower bounds of the energy of costs. `step_kinds`: counts of tiles whose
    extents multiply to the steps (None: steps do not matter). `crossings[i]`: tensors that a
    network sends through the lanes of slot i. A template is a mapping without its loops.
    """

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
        """Return the rank variables with some count of tiles that no charge below needs.

        Slot `index` is the last that needs it; after it, partial mappings that differ in that
        count alone are the same. Variables are given by number. A slot is a place of a template (a
        mapping without loops) for loops, a fill or a reserved tile.
        """
        if index + 1 >= len(self.needed_kinds):
            return []
        return [
            v
            for v, kinds in enumerate(self.needed_kinds[index])
            if kinds != self.needed_kinds[index + 1][v]
        ]


def make_plan(problem: Problem, fields: LabelFields, part: SearchPart, timed: bool) -> TemplatePlan:
    """Compile a part (a template, or its mappings with one class of lanes) for the uneven search.

    `fields`: columns of the labels (cost tuples); `timed`: steps and calls matter, not energy
    alone. A template is a mapping without its loops; a lane is one instance along a dimension of a
    fanout. Raises UnsupportedFeature for uneven variables on networks that cannot be counted.
    """
    template, slots = part.template, part.slots
    compiler = ChargeCompiler(problem, fields, template, slots)
    by_slot = compiler.charges()
    charges = tuple(by_slot.get(i, ()) for i in range(len(slots) + 1))
    pins = tuple(required_tile_shape(problem, template, slot) for slot in slots)
    step_kinds = compiler.step_kinds() if timed else None
    pinned = {v for pin in pins for comparison in pin for v in comparison.rank_variables}
    return TemplatePlan(
        template,
        slots,
        charges,
        (*pins, ()),
        tuple(_capacity_check(problem, fields, slots, i) for i in range(len(slots))),
        _tails(problem, slots, timed or problem.has_networks, pinned),
        _needed_kinds(problem, charges, step_kinds),
        _lanes_from(slots),
        _lanes_per_variable_from(tuple(problem.einsum.bounds), slots),
        least_steps(problem, slots),
        tuple(compiler.charge_bounds()),
        step_kinds,
        crossings_of(problem, fields, template, slots) if problem.has_networks else {},
    )


def _lanes_from(slots: Sequence[Slot]) -> tuple[float, ...]:
    """Return the most lanes from each slot on; the last entry is 1, at the Compute."""
    lanes = [1.0]
    for slot in reversed(slots):
        most_lanes = max(map(prod, slot.choices)) if isinstance(slot, SpatialLoops) else 1
        lanes.append(lanes[-1] * most_lanes)
    return tuple(reversed(lanes))


def _lanes_per_variable_from(
    variables: Sequence[str], slots: Sequence[Slot]
) -> tuple[tuple[int, ...], ...]:
    """Return the most lanes of each variable from each slot on."""
    lanes = [(1,) * len(variables)]
    for slot in reversed(slots):
        if isinstance(slot, SpatialLoops):
            most_lanes = [max(slot.lanes_of(v)) for v in variables]
            lanes.append(tuple(n * m for n, m in zip(lanes[-1], most_lanes, strict=True)))
        else:
            lanes.append(lanes[-1])
    return tuple(reversed(lanes))


def _capacity_check(
    problem: Problem, fields: LabelFields, slots: Sequence[Slot], index: int
) -> CapacityCheck | None:
    slot = slots[index]
    if not isinstance(slot, Reservation):
        return None
    memory = problem.holder(slot.component)
    assert isinstance(memory, Memory)
    reservations = reservations_in(slots, slot.component)
    if slot.component in fields.tracked:
        return CapacityCheck(
            slot, float(memory.size), fields.used_bits[slot.component], is_last=False
        )
    whole_bits = sum(
        reserved_bits(problem, s, problem.einsum.bounds) for s in reservations.values()
    )
    if memory.size == inf or whole_bits <= memory.size:
        return None
    field = fields.used_bits[slot.component] if len(reservations) > 1 else None
    return CapacityCheck(slot, float(memory.size), field, index == max(reservations))


def _tail_slot(slot: Slot, variable: str, *, keeps_all: bool) -> TailSlot | None:
    """Return how a slot can loop over a variable (TailSlot); None if it cannot.

    `keeps_all`: any tile has to be looked at, not only the smallest of each number of tiles.
    """
    if isinstance(slot, SpatialLoops):
        lanes = slot.lanes_of(variable)
        return TailSlot("lanes", max(lanes), min(lanes)) if max(lanes) > 1 else None
    if isinstance(slot, TemporalLoops) and variable in slot.variables:
        return TailSlot("all" if keeps_all else "thin")
    return None


def _tails(
    problem: Problem, slots: Sequence[Slot], timed: bool, pinned: set[str]
) -> tuple[tuple[Tail, ...], ...]:
    """Return, per slot and rank variable, how each slot below can loop over the variable.

    Slots that cannot are left out. A temporal slot is "thin" if only the smallest tile of each
    number of tiles is a candidate, and "all" where every tile is: below lanes over the variable if
    `timed` (steps count), with even tiles, and for `pinned` variables (with tile_shape rules).
    """
    rows: list[tuple[Tail, ...]] = []
    for v in problem.einsum.bounds:
        first_lanes = next((i for i, s in enumerate(slots) if _has_lanes(s, v)), len(slots))
        fixed = v not in problem.uneven or v in pinned
        tail: Tail = ()
        row = [tail]
        for index in range(len(slots) - 1, 0, -1):
            keeps_all = fixed or (timed and first_lanes < index)
            entry = _tail_slot(slots[index], v, keeps_all=keeps_all)
            tail = tail if entry is None else (entry, *tail)
            row.append(tail)
        rows.append(tuple(reversed(row)))
    return tuple(zip(*rows, strict=True))


def _has_lanes(slot: Slot, variable: str) -> bool:
    return isinstance(slot, SpatialLoops) and max(slot.lanes_of(variable)) > 1


def _needed_kinds(
    problem: Problem, charges: Sequence[Sequence[SlotCharge]], steps: tuple[CountKind, ...] | None
) -> tuple[tuple[frozenset[CountKind], ...], ...]:
    """Return, per slot and variable, the kinds of counts that charges from there on read.

    `steps`: per variable the kind that counts steps in time; None if time is not counted.
    """
    variables = range(len(problem.einsum.bounds))
    kinds_of_variable = [{ALL} if steps is None else {ALL, steps[v]} for v in variables]
    rows = []
    for charges_above in reversed(charges):
        for charge in charges_above:
            for v in variables:
                kinds_of_variable[v].add(charge.count.kinds[v])
        rows.append(tuple(frozenset(kinds) for kinds in kinds_of_variable))
    return tuple(reversed(rows))
