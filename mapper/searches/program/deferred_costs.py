"""Costs that are paid once the lanes of several dimensions are known.

The count of values that cross dimensions which reuse a tensor is its count at the child's tile,
divided by the lanes over irrelevant variables of each of these dimensions. First fills of an output
are multiplied by lanes instead. Sometimes no tile of the program shows that count: two dimensions
reuse different tensors, and each stands below the other tensor's child. Then a label carries the
count in a field of its own:

1. the cost is added to the field at the child;
2. each spatial choice on the way up multiplies the field;
3. above the topmost of these dimensions the field is added to the field that it is owed to.

All steps are linear with positive factors. So a label that is at least as good in all fields stays
so, and dominance holds. Bits of reservations that grow with lanes still to be chosen are carried
in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.program.charge_sites import ChargeSite, CostTerm, DeferredCharge
from tilewright.mapper.searches.program.out_of_order import (
    Factors,
    OpenReservation,
    open_reservations,
)
from tilewright.mapper.searches.search_errors import InternalError
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Reservation, Slot
from tilewright.mapper.templates.spatial_choices import SpatialLoops

SlotTerm = tuple[int, CostTerm]  # slot, and what is added there


class TooFewColumns(Exception):  # noqa: N818 - control flow of compiling
    """Labels have too few columns for what a template could carry to where it is paid."""


class PaidLimit(NamedTuple):
    """A memory's capacity, to be checked when bits that a label carried are added.

    `capacity`: bits; `is_last`: nothing above adds to them, so the column is emptied then. A label
    is the tuple of costs of a partial mapping.
    """

    capacity: float
    is_last: bool


@dataclass(frozen=True, slots=True)
class DeferredCost:
    """A cost that labels carry in a column of their own until lanes above are known.

    A label is a partial mapping's tuple of costs. `field`: that column; `target`: the one that
    gets it above slot `top`. `terms`: pairs (slot, cost added there to `field`); `factors`: pairs
    (slot of a dimension, what each choice of its lanes multiplies `field` by). `limit`: capacity
    to check if the target holds bits of a memory, else None. A slot is a place of a template (a
    mapping without loops) for loops, a fill or a reserved tile; a lane is one instance along a
    dimension of a fanout.
    """

    field: int
    target: int
    terms: tuple[SlotTerm, ...]
    factors: Factors
    top: int
    limit: PaidLimit | None = None

    @property
    def refunds(self) -> tuple[CostTerm, ...]:
        """The negative terms at the greatest factors: the least that `target` may get.

        Lower bounds of the cost still to come need them.
        """
        greatest_factor = prod(max(values) for _, values in self.factors)
        return tuple(
            term._replace(field=self.target, factor=term.factor * greatest_factor)
            for _, term in self.terms
            if term.factor < 0
        )


def deferred_charges(sites: Iterable[ChargeSite]) -> list[DeferredCharge]:
    """Return, of some sites of costs, the costs that can be paid once lanes above are known.

    A site is the slot where a cost is charged; most have no such cost. A slot is a place of a
    template (a mapping without loops) for loops, a fill or a reserved tile; a lane is one instance
    along a dimension of a fanout.
    """
    return [site.deferral for site in sites if site.deferral is not None]


def deferred_costs(
    problem: Problem,
    fields: LabelFields,
    slots: Sequence[Slot],
    charges: Sequence[DeferredCharge],
) -> list[DeferredCost] | None:
    """Assign a column of the labels to each group of costs that is paid later.

    Costs with the same target, topmost slot and factors share a column. None if the labels have
    too few such columns; `deferred_field_counts` says how many are needed. A slot is a place of a
    template (a mapping without loops) for loops, a fill or a reserved tile; a label is the tuple
    of costs of a partial mapping.
    """
    energy, calls = iter(fields.deferred_energy), iter(fields.deferred_calls)
    costs = []
    for key, terms in sorted(_by_carrier(problem, slots, charges).items()):
        field = next(calls if key.target else energy, None)
        if field is None:
            return None
        carried = tuple((slot, term._replace(field=field)) for slot, term in terms)
        costs.append(DeferredCost(field, key.target, carried, key.factors, key.top))
    return costs


def deferred_field_counts(
    problem: Problem, slots: Sequence[Slot], charges: Sequence[DeferredCharge]
) -> tuple[int, int]:
    """Return how many columns of the labels `deferred_costs` needs: (for energy, for calls).

    A label is a partial mapping's tuple of costs. `charges`: costs to be paid once the lanes above
    them are known; those with the same target, topmost slot and factors share a column. A slot is
    a place of a template (a mapping without loops) for loops, a fill or a reserved tile; a lane is
    one instance along a dimension of a fanout.
    """
    targets = [key.target for key in _by_carrier(problem, slots, charges)]
    return targets.count(0), len(targets) - targets.count(0)


class _Carrier(NamedTuple):
    """What deferred terms must have in common to share a column of the labels.

    `target`: the column that gets the cost in the end; `top`: the slot above which it does;
    `factors`: by what lanes multiply it on the way.
    """

    target: int
    top: int
    factors: Factors


def _by_carrier(
    problem: Problem, slots: Sequence[Slot], charges: Sequence[DeferredCharge]
) -> dict[_Carrier, list[SlotTerm]]:
    """Group deferred charges, as (slot, term) pairs, by what lets them share a field."""
    groups: dict[_Carrier, list[SlotTerm]] = {}
    for charge in charges:
        top = min(slot for slot, _ in charge.factors)
        for term in charge.terms:
            factors = _carried_factors(problem, slots, charge, calls=term.field != 0)
            key = _Carrier(term.field, top, factors)
            groups.setdefault(key, []).append((charge.child, term))
    return groups


def _carried_factors(
    problem: Problem, slots: Sequence[Slot], charge: DeferredCharge, *, calls: bool
) -> Factors:
    """Return what each choice multiplies a carried cost by, per dimension below its topmost reuse.

    `calls`: the field counts calls of one instance, so that lanes at or above its level divide it.
    """
    factors_of_slot = dict(charge.factors)
    factors = []
    for index in range(min(factors_of_slot), charge.child):
        slot = slots[index]
        if not isinstance(slot, SpatialLoops):
            continue
        values = factors_of_slot.get(index, (1.0,) * len(slot.choices))
        if calls and charge.level >= problem.level(slot.component):
            values = tuple(x / prod(c) for x, c in zip(values, slot.choices, strict=True))
        if values != (1.0,) * len(values):
            factors.append((index, values))
    return tuple(factors)


class _BitsCarrier(NamedTuple):
    """What open reservations must have in common to share a field: memory, top slot, factors."""

    memory: str
    top: int
    factors: Factors


def deferred_reservations(
    problem: Problem, fields: LabelFields, slots: Sequence[Slot]
) -> list[DeferredCost]:
    """Assign columns of the labels to bits of tiles that grow with lanes not chosen yet.

    A label is the tuple of costs of a partial mapping; a lane is one instance along a dimension of
    a fanout. Raises TooFewColumns if the labels have too few such columns and might have more, else
    InternalError.
    """
    reservations = open_reservations(problem, slots, fields.tracked)
    groups = _by_bits_carrier(reservations)
    topmost = _topmost_slots(groups)
    capacity = {reservation.slot.component: reservation.capacity for reservation in reservations}
    costs = []
    for number, (carrier, terms) in enumerate(sorted(groups.items())):
        memory, top = carrier.memory, carrier.top
        if number >= len(fields.deferred_bits):
            if not fields.has_all_deferred:
                raise TooFewColumns
            raise InternalError(f"labels have no field for the bits of {memory} above its lanes")
        field = fields.deferred_bits[number]
        is_topmost = top == topmost[memory] and not _is_reserved(memory, slots[:top])
        limit = PaidLimit(capacity[memory], is_topmost and memory not in fields.tracked)
        carried = tuple((slot, term._replace(field=field)) for slot, term in terms)
        target = fields.used_bits[memory]
        costs.append(DeferredCost(field, target, carried, carrier.factors, top, limit))
    return costs


def _topmost_slots(carriers: Iterable[_BitsCarrier]) -> dict[str, int]:
    """Return, per memory, the outermost slot above which its bits are paid."""
    topmost: dict[str, int] = {}
    for carrier in carriers:
        topmost[carrier.memory] = min(carrier.top, topmost.get(carrier.memory, carrier.top))
    return topmost


def _is_reserved(memory: str, slots: Sequence[Slot]) -> bool:
    """Tell whether some of these slots reserves bits of a memory."""
    return any(isinstance(slot, Reservation) and slot.component == memory for slot in slots)


def deferred_reservation_count(
    problem: Problem, slots: Sequence[Slot], tracked: frozenset[str]
) -> int:
    """Return how many columns `deferred_reservations` needs for bits of open tiles.

    An open tile is one whose bits depend on lanes that are chosen further out; tiles whose bits
    depend on the same ones share a column. `tracked`: memories whose bits count even if they cannot
    overflow.
    """
    return len(_by_bits_carrier(open_reservations(problem, slots, tracked)))


def _by_bits_carrier(
    reservations: Sequence[OpenReservation],
) -> dict[_BitsCarrier, list[SlotTerm]]:
    """Group open reservations, as (slot, term) pairs, by what lets them share a field."""
    groups: dict[_BitsCarrier, list[SlotTerm]] = {}
    for reservation in reservations:
        top = min(slot for slot, _ in reservation.factors)
        key = _BitsCarrier(reservation.slot.component, top, reservation.factors)
        term = CostTerm(0, reservation.slot.tensor, "tile", reservation.bits, reservation.lanes)
        groups.setdefault(key, []).append((reservation.index, term))
    return groups
