"""Compile a template into the operations of the dynamic program, innermost first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from math import prod

from tilewright.arch.components.components import Comparison
from tilewright.mapper.searches.exact.label_fields import NO_DEFERRED, DeferredCounts, LabelFields
from tilewright.mapper.searches.program.charge_sites import ChargeLocator, ChargeSite, CostTerm
from tilewright.mapper.searches.program.deferred_costs import (
    DeferredCost,
    deferred_charges,
    deferred_costs,
    deferred_field_counts,
    deferred_reservation_count,
    deferred_reservations,
)
from tilewright.mapper.searches.program.edge_traffic import EdgeCharge, edge_charges
from tilewright.mapper.searches.program.holder_order import check_order
from tilewright.mapper.searches.program.network_hops import network_charge_sites
from tilewright.mapper.searches.program.open_network_hops import open_network_charge_sites
from tilewright.mapper.searches.program.out_of_order import lanes_seen_below
from tilewright.mapper.searches.search_errors import UnsupportedFeature
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem, required_tile_shape
from tilewright.mapper.templates.slot_sequence import slot_sequence
from tilewright.mapper.templates.slots import Reservation, Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops

MAX_VARIANTS = 20_000


@dataclass(frozen=True, slots=True)
class LoopStep:
    """Temporal loops over `variables`."""

    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SingleLoopStep:
    """A temporal loop over at most one of `variables`."""

    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SpatialStep:
    """One choice of `fan`; choice i adds `plus[n][1][i]` to field `plus[n][0]`, and multiplies
    field `times[n][0]` by `times[n][1][i]`; before that `fares[i]` are charged for the tile below,
    unless there are none at all."""

    fan: SpatialLoops
    added: tuple[tuple[int, tuple[float, ...]], ...]
    factors: tuple[tuple[int, tuple[float, ...]], ...] = ()
    charges: tuple[tuple[CostTerm, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class ChargeStep:
    """Costs that depend on the tile alone; `pinned`: a tile_shape that must hold here."""

    terms: tuple[CostTerm, ...]
    pinned: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True)
class PaymentStep:
    """Pay what is owed: add the first field of each pair to the second, and empty it.

    `refunds`: amounts below 0 that it may hold, by the field that gets them. `rooms`: (field, bits
    that it may hold then, whether it is emptied).
    """

    moves: tuple[tuple[int, int], ...]
    refunds: tuple[CostTerm, ...] = ()
    limits: tuple[tuple[int, float, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class ReserveStep:
    """Room for a tile. `shared`: others reserve in the same memory too, so the bits are summed in
    a field; `last`: none above does."""

    reserve: Reservation
    shared: bool
    last: bool


ProgramStep = LoopStep | SingleLoopStep | SpatialStep | ChargeStep | PaymentStep | ReserveStep


@dataclass(frozen=True, slots=True)
class TemplateProgram:
    """Operations of one template, innermost first; `slots[i]`: the slot operation i stands for;
    `owing`: slots of reservations whose bits are owed until lanes above them are known."""

    template: Template
    slot_sequence: tuple[Slot, ...]
    steps: tuple[ProgramStep, ...]
    slots: tuple[int | None, ...]
    deferred_slots: frozenset[int] = frozenset()


class TemplateCompiler:
    """Compiles the templates of one problem for labels with `fields`."""

    def __init__(self, problem: Problem, fields: LabelFields) -> None:
        self._problem = problem
        self._fields = fields

    def programs(self, template: Template) -> Iterator[TemplateProgram]:
        """Compile `template`; several programs when lanes must be enumerated outside the program.

        Raises UnsupportedFeature when the template lies beyond what the dynamic program can do.
        """
        slots = slot_sequence(self._problem, template)
        fans = [slot for slot in slots if isinstance(slot, SpatialLoops)]
        if any(not fan.choices for fan in fans):
            return
        if not self._problem.conventions.loops_sink:
            check_order(self._problem, slots)
        rest = tuple(edge_charges(self._problem, template))
        yield from self._fix_lanes(
            ProgramBuilder(self._problem, template, slots), slots, (rest, ())
        )

    def without_costs(self, template: Template) -> TemplateProgram:
        """Compile what decides whether `template` has a mapping: loops, lanes and room."""
        slots = slot_sequence(self._problem, template)
        rooms = deferred_reservations(self._problem, self._fields, slots)
        return ProgramBuilder(self._problem, template, slots).program(slots, [], rooms)

    def deferred_counts(self, template: Template) -> DeferredCounts:
        """Return how many fields `template` can defer, or must (deferred_costs.py)."""
        slots = slot_sequence(self._problem, template)
        fans = [slot for slot in slots if isinstance(slot, SpatialLoops)]
        early = any(isinstance(slot, Reservation) and slot.open_dims for slot in slots)
        few = sum(len(fan.choices) > 1 for fan in fans) < 2 and not early
        if few or any(not fan.choices for fan in fans):
            return NO_DEFERRED
        router = ChargeLocator(self._problem, self._fields, slots)
        costs = deferred_field_counts(
            self._problem,
            slots,
            deferred_charges(map(router.site_of, edge_charges(self._problem, template))),
        )
        return DeferredCounts(
            *costs, deferred_reservation_count(self._problem, slots, self._fields.tracked)
        )

    def _fix_lanes(
        self,
        draft: ProgramBuilder,
        slots: tuple[Slot, ...],
        costs: tuple[tuple[EdgeCharge, ...], tuple[ChargeSite, ...]],
    ) -> Iterator[TemplateProgram]:
        """Enumerate the dimensions whose lanes some cost needs to know, then compile.

        `costs`: taps still to be routed, and the routes that hold whatever the lanes.
        """
        rest, settled = costs
        router = ChargeLocator(self._problem, self._fields, slots)
        routed = [(tap, router.site_of(tap)) for tap in rest]
        routes = [route for _, route in routed]
        if self._problem.has_networks:
            asked = (self._problem, self._fields, draft.template, slots)
            routes += open_network_charge_sites(*asked) or network_charge_sites(*asked)
        later = deferred_costs(self._problem, self._fields, slots, deferred_charges(routes))
        blocking = [r for r in routes if later is None or r.deferral is None]
        blocked = sorted({i for route in blocking for i in route.blocking_slots})
        if not blocked:
            rooms = deferred_reservations(self._problem, self._fields, slots)
            yield draft.program(slots, [*settled, *routes], [*(later or []), *rooms])
            return
        open_ = tuple(tap for tap, route in routed if route.blocking_slots or route.per_choice)
        fixed = (route for _, route in routed if not (route.blocking_slots or route.per_choice))
        costs = (open_, (*settled, *fixed))
        for chosen in with_fixed_lanes(slots, blocked):
            yield from self._fix_lanes(draft, chosen, costs)


def most_deferred(
    problem: Problem, fields: LabelFields, templates: Iterable[Template]
) -> DeferredCounts:
    """Return how many fields any of the templates can defer, or must."""
    if not any(component.spatial for component in problem.components):
        return NO_DEFERRED
    compiler = TemplateCompiler(problem, fields)
    most = NO_DEFERRED
    for template in templates:
        most = DeferredCounts(*map(max, most, compiler.deferred_counts(template)))
    return most


def with_fixed_lanes(slots: tuple[Slot, ...], blocked: Sequence[int]) -> Iterator[tuple[Slot, ...]]:
    """Yield the slots with each choice of the dimensions at `blocked`; UnsupportedFeature if they
    are too many."""
    fans = [fan for i in blocked if isinstance(fan := slots[i], SpatialLoops)]
    variants = prod(len(fan.choices) for fan in fans)
    if variants > MAX_VARIANTS:
        raise UnsupportedFeature(
            f"the dynamic program would enumerate {variants} spatial choices of"
            f" {', '.join(f'{fan.component}.{fan.name}' for fan in fans)}",
            instead="narrow loop_bounds, reuse or min_usage there, or use the random search",
        )
    for chosen in product(*(sorted(fan.choices, key=prod, reverse=True) for fan in fans)):
        single = dict(zip(blocked, chosen, strict=True))
        yield tuple(
            replace(slot, choices=(single[i],))
            if isinstance(slot, SpatialLoops) and i in single
            else slot
            for i, slot in enumerate(slots)
        )


class ProgramBuilder:
    """What all programs of one template have in common: its operations without costs and lanes."""

    def __init__(self, problem: Problem, template: Template, slots: tuple[Slot, ...]) -> None:
        self.template = template
        self._problem = problem
        self._operations = [_operation(slot) for slot in slots]
        self._pins = [required_tile_shape(problem, template, slot) for slot in slots]

    def program(
        self, slots: tuple[Slot, ...], routes: Sequence[ChargeSite], later: Sequence[DeferredCost]
    ) -> TemplateProgram:
        """Put in the lanes that `slots` leave, and the costs where `routes` charge them."""
        at = CostsBySlot(routes, later)
        rooms = [debt for debt in later if debt.limit is not None]
        owing = frozenset(index for debt in rooms for index, _ in debt.terms)
        if any(isinstance(slot, Reservation) and slot.open_dims for slot in slots):
            slots = tuple(self._reserving(slots, index) for index in range(len(slots)))
        reserves = _by_component(slots)
        operations: list[ProgramStep] = [at.charge(len(slots))]
        numbers: list[int | None] = [None]
        for index in range(len(slots) - 1, -1, -1):
            slot, own = slots[index], self._operations[index]
            if isinstance(slot, SpatialLoops) and any(prod(choice) > 1 for choice in slot.choices):
                own = at.deal(index, slot)
            elif isinstance(slot, Reservation) and index not in owing:
                own = _occupy(self._problem, reserves[slot.component], index, rooms)
            if own is not None:
                operations.append(own)
                numbers.append(index)
            after: list[ProgramStep] = [*at.settle(index), *at.charges(index, self._pins[index])]
            operations += after
            numbers += [None] * len(after)
        return TemplateProgram(self.template, slots, tuple(operations), tuple(numbers), owing)

    def _reserving(self, slots: tuple[Slot, ...], index: int) -> Slot:
        """Return a slot; of a reservation, with the lanes that it has in any case."""
        slot = slots[index]
        if not isinstance(slot, Reservation) or not slot.open_dims:
            return slot
        early = lanes_seen_below(self._problem, slots, index, self._problem.level(slot.component))
        return replace(slot, lanes=early.lanes, open_dims=())


class CostsBySlot:
    """Costs by the slot where they are charged, as operations."""

    def __init__(self, routes: Sequence[ChargeSite], later: Sequence[DeferredCost]) -> None:
        self._adds: dict[int, list[CostTerm]] = {}
        self._plus: dict[int, list[tuple[int, tuple[float, ...]]]] = {}
        self._times: dict[int, list[tuple[int, tuple[float, ...]]]] = {}
        self._paid: dict[int, list[DeferredCost]] = {}
        self._fares: dict[int, list[tuple[tuple[CostTerm, ...], ...]]] = {}
        for route in routes:
            self._adds.setdefault(route.slot, []).extend(route.terms)
            self._times.setdefault(route.slot, []).extend(route.factors)
            if route.charges:
                self._fares.setdefault(route.slot, []).append(route.charges)
            self._plus.setdefault(route.slot, []).extend(route.per_choice)
        for debt in later:
            for index, add in debt.terms:
                self._adds.setdefault(index, []).append(add)
            for index, values in debt.factors:
                self._times.setdefault(index, []).append((debt.field, values))
            self._paid.setdefault(debt.top, []).append(debt)

    def charge(self, index: int, pinned: tuple[Comparison, ...] = ()) -> ChargeStep:
        """Return what is paid above slot `index`, for the tile there."""
        adds = sorted(add for add in self._adds.get(index, []) if add.factor != 0.0)
        return ChargeStep(tuple(adds), pinned)

    def charges(self, index: int, pinned: tuple[Comparison, ...]) -> list[ChargeStep]:
        """Return the same unless there is nothing to pay or to check."""
        if index not in self._adds and not pinned:
            return []
        charge = self.charge(index, pinned)
        return [charge] if charge.terms or pinned else []

    def deal(self, index: int, fan: SpatialLoops) -> SpatialStep:
        """Return the operation of the dimension at slot `index`."""
        plus, times = self._plus.get(index, []), self._times.get(index, [])
        found = self._fares.get(index, [])
        fares = tuple(tuple(sorted(chain(*each))) for each in zip(*found, strict=True))
        return SpatialStep(fan, tuple(sorted(plus)), tuple(sorted(times)), fares)

    def settle(self, index: int) -> list[PaymentStep]:
        """Return the operation that pays what is owed above slot `index`, if anything is."""
        paid = self._paid.get(index)
        if paid is None:
            return []
        refunds = [add for debt in paid for add in debt.refunds]
        moves = tuple((debt.field, debt.target) for debt in paid)
        rooms = tuple((debt.target, *debt.limit) for debt in paid if debt.limit is not None)
        return [PaymentStep(moves, tuple(refunds), rooms)]


def _operation(slot: Slot) -> ProgramStep | None:
    """Return the operation of a slot of loops."""
    if isinstance(slot, TemporalLoops):
        return SingleLoopStep(slot.variables) if slot.single else LoopStep(slot.variables)
    return None


def _by_component(slots: Sequence[Slot]) -> dict[str, dict[int, Reservation]]:
    """Return the reservations in each memory by their slots."""
    found: dict[str, dict[int, Reservation]] = {}
    for index, slot in enumerate(slots):
        if isinstance(slot, Reservation):
            found.setdefault(slot.component, {})[index] = slot
    return found


def _occupy(
    problem: Problem, reserves: Mapping[int, Reservation], index: int, rooms: Sequence[DeferredCost]
) -> ReserveStep | None:
    """Return the operation of the reservation at slot `index`, one of `reserves`, those of its
    memory; `rooms`: bits paid later."""
    if not problem.can_overflow(tuple(reserves.values())):
        return None
    later = any(debt.top < index and debt.terms[0][0] in reserves for debt in rooms)
    return ReserveStep(reserves[index], len(reserves) > 1, index == min(reserves) and not later)
