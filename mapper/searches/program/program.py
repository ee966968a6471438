"""Compile a template into the steps of the dynamic program over tile shapes, innermost first.

The dynamic program grows the tile from the Compute to the whole iteration space (lattice.md §1.2).
A template is a list of slots, outermost first: holders, loops, spatial loops, reservations. Its
program is the list of steps in the opposite order: a step grows the tile (TemporalLoops,
SpatialStep), charges costs (ChargeStep, PaymentStep) or reserves bits for a tile (ReserveStep).

Example: A held in a buffer between loops over m and the Compute gives [charge at the Compute,
loops over m, reserve A's tile, charge A's traffic between memory and buffer, loops over m].
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product
from math import prod
from typing import NamedTuple

from tilewright.arch.components.components import Comparison
from tilewright.mapper.searches.exact.label_fields import NO_DEFERRED, DeferredCounts, LabelFields
from tilewright.mapper.searches.program.charge_sites import (
    ChargeLocator,
    ChargeSite,
    ChoiceAmount,
    CostTerm,
)
from tilewright.mapper.searches.program.deferred_costs import (
    DeferredCost,
    TooFewColumns,
    deferred_charges,
    deferred_costs,
    deferred_field_counts,
    deferred_reservation_count,
    deferred_reservations,
)
from tilewright.mapper.searches.program.edge_traffic import EdgeCharge, edge_charges
from tilewright.mapper.searches.program.network_hops import network_charge_sites
from tilewright.mapper.searches.program.open_network_hops import open_network_charge_sites
from tilewright.mapper.searches.program.out_of_order import check_order, lanes_seen_below
from tilewright.mapper.searches.program.program_steps import (
    ChargeStep,
    FieldLimit,
    PaymentStep,
    ProgramStep,
    ReserveStep,
    SpatialStep,
    TemplateProgram,
)
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.required_tile_shape import required_tile_shape
from tilewright.mapper.templates.slot_sequence import slot_sequence
from tilewright.mapper.templates.slots import Reservation, Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops
from tilewright.mapper.workload.errors import UnsupportedFeature

MAX_VARIANTS = 20_000  # spatial choices of one template that are compiled one by one


class OpenCosts(NamedTuple):
    """Edge charges without a site yet, and (`settled`) sites that hold whatever lanes are chosen.

    A site is the slot of a template at which a cost enters the labels; a lane is one instance along
    a dimension of a fanout.
    """

    charges: tuple[EdgeCharge, ...]
    settled: tuple[ChargeSite, ...] = ()


def still_open(costs: OpenCosts, located: Sequence[tuple[EdgeCharge, ChargeSite]]) -> OpenCosts:
    """Settle the charges whose sites do not depend on lanes that are still to be chosen.

    `located`: the open charges of `costs`, each with its site for the lanes chosen so far.
    """
    open_charges: list[EdgeCharge] = []
    settled = list(costs.settled)
    for charge, site in located:
        if site.blocking_slots or site.per_choice:
            open_charges.append(charge)
        else:
            settled.append(site)
    return OpenCosts(tuple(open_charges), tuple(settled))


class TemplateCompiler:
    """Turns templates of one Einsum's problem into steps of the dynamic program.

    `fields`: which column of a label (a partial mapping's tuple of costs) holds which cost. A
    template is a mapping without its loops.
    """

    def __init__(self, problem: Problem, fields: LabelFields) -> None:
        self._problem = problem
        self._fields = fields

    def programs(self, template: Template) -> Iterator[TemplateProgram]:
        """Compile a template into one list of steps, or several if lanes must be fixed first.

        Nothing is yielded if a dimension has no legal choice of lanes. A template is a mapping
        without its loops; a lane is one instance along a dimension of a fanout. Raises
        UnsupportedFeature if the dynamic program does not model the template, or if more than
        20,000 choices had to be listed; TooFewColumns if labels need more columns and might have
        them.
        """
        slots = slot_sequence(self._problem, template)
        if not all(slot.choices for slot in slots if isinstance(slot, SpatialLoops)):
            return
        if not self._problem.conventions.loops_sink:
            check_order(self._problem, slots)
        costs = OpenCosts(tuple(edge_charges(self._problem, template)))
        yield from self._fix_lanes(ProgramDraft(self._problem, template, slots), slots, costs)

    def without_costs(self, template: Template) -> TemplateProgram:
        """Compile only the steps that decide whether a template has a mapping at all.

        These are loops, lanes and reservations. A template is a mapping without its loops; a label
        is the tuple of costs of a partial mapping; a lane is one instance along a dimension of a
        fanout. Raises InternalError if the labels have too few columns.
        """
        slots = slot_sequence(self._problem, template)
        bits = deferred_reservations(self._problem, self._fields, slots)
        return ProgramDraft(self._problem, template, slots).program(slots, [], bits)

    def deferred_counts(self, template: Template) -> DeferredCounts:
        """Return how many columns of labels a template can use for costs that are paid later.

        A label is a partial mapping's tuple of costs; it carries such a cost until the lanes of
        dimensions above are known. A template is a mapping without its loops; a lane is one
        instance along a dimension of a fanout.
        """
        slots = slot_sequence(self._problem, template)
        choices = [len(slot.choices) for slot in slots if isinstance(slot, SpatialLoops)]
        grows = any(isinstance(slot, Reservation) and slot.open_dims for slot in slots)
        has_choice = sum(number > 1 for number in choices) >= 2 or grows
        if not has_choice or not all(choices):
            return NO_DEFERRED
        locator = ChargeLocator(self._problem, self._fields, slots)
        sites = map(locator.site_of, edge_charges(self._problem, template))
        costs = deferred_field_counts(self._problem, slots, deferred_charges(sites))
        bits = deferred_reservation_count(self._problem, slots, self._fields.tracked)
        return DeferredCounts(*costs, bits)

    def _fix_lanes(
        self, draft: ProgramDraft, slots: tuple[Slot, ...], costs: OpenCosts
    ) -> Iterator[TemplateProgram]:
        """Yield the programs for each choice of those lanes that some cost must know.

        Else one program. `slots`: with the lanes fixed so far. `costs`: not yet located, or
        settled. TooFewColumns if the labels lack a column for a cost that is charged later.
        """
        locator = ChargeLocator(self._problem, self._fields, slots)
        located = [(charge, locator.site_of(charge)) for charge in costs.charges]
        sites = [*(site for _, site in located), *self._network_sites(draft.template, slots)]
        deferred = deferred_costs(self._problem, self._fields, slots, deferred_charges(sites))
        if deferred is None and not self._fields.has_all_deferred:
            raise TooFewColumns
        blocking = _blocking_slots(sites, may_defer=deferred is not None)
        if not blocking:
            bits = deferred_reservations(self._problem, self._fields, slots)
            yield draft.program(slots, [*costs.settled, *sites], [*(deferred or []), *bits])
            return
        remaining = still_open(costs, located)
        for fixed_slots in with_fixed_lanes(slots, blocking):
            yield from self._fix_lanes(draft, fixed_slots, remaining)

    def _network_sites(self, template: Template, slots: Sequence[Slot]) -> Sequence[ChargeSite]:
        """Return the sites where hops on networks are charged; none without networks."""
        if not self._problem.has_networks:
            return ()
        subject = (self._problem, self._fields, template, slots)
        return open_network_charge_sites(*subject) or list(network_charge_sites(*subject))


def _blocking_slots(sites: Iterable[ChargeSite], *, may_defer: bool) -> list[int]:
    """Return the slots of dimensions whose lanes must be fixed before costs can be charged.

    `may_defer`: labels can carry costs until the lanes are known.
    """
    blocking = [site for site in sites if not may_defer or site.deferral is None]
    return sorted({slot for site in blocking for slot in site.blocking_slots})


def most_deferred(
    problem: Problem, fields: LabelFields, templates: Iterable[Template]
) -> DeferredCounts:
    """Return the most columns that any of the templates can use for costs that are paid later.

    `fields`: columns of the labels (cost tuples of partial mappings) without these. A template is
    a mapping without its loops.
    """
    if not any(component.spatial for component in problem.components):
        return NO_DEFERRED
    compiler = TemplateCompiler(problem, fields)
    counts = NO_DEFERRED
    for template in templates:
        counts = DeferredCounts(*map(max, counts, compiler.deferred_counts(template)))
    return counts


def with_fixed_lanes(
    slots: tuple[Slot, ...], blocking: Sequence[int]
) -> Iterator[tuple[Slot, ...]]:
    """Yield the slots with one choice for each of some dimensions, most lanes first.

    `blocking`: the slots of these dimensions. A slot is a place of a template (a mapping without
    loops) for loops, a fill or a reserved tile; a lane is one instance along a dimension of a
    fanout. Raises UnsupportedFeature if there are more than 20,000 combinations.
    """
    dims = [loops for slot in blocking if isinstance(loops := slots[slot], SpatialLoops)]
    variants = prod(len(dim.choices) for dim in dims)
    if variants > MAX_VARIANTS:
        raise UnsupportedFeature(
            f"the dynamic program would enumerate {variants} spatial choices of"
            f" {', '.join(f'{dim.component}.{dim.name}' for dim in dims)}",
            instead="narrow loop_bounds, reuse or min_usage there, or use the random search",
        )
    alternatives = [
        [replace(dim, choices=(c,)) for c in sorted(dim.choices, key=prod, reverse=True)]
        for dim in dims
    ]
    for chosen in product(*alternatives):
        fixed = list(slots)
        for slot, dim in zip(blocking, chosen, strict=True):
            fixed[slot] = dim
        yield tuple(fixed)


class ProgramDraft:
    """What all lists of steps of one template share: the problem and its tile_shape conditions.

    `template`: the mapping without loops. `program` adds costs and lanes. A lane is one instance
    along a dimension of a fanout.
    """

    def __init__(self, problem: Problem, template: Template, slots: tuple[Slot, ...]) -> None:
        self.template = template
        self._problem = problem
        self._required = [required_tile_shape(problem, template, slot) for slot in slots]

    def program(
        self, slots: tuple[Slot, ...], sites: Sequence[ChargeSite], deferred: Sequence[DeferredCost]
    ) -> TemplateProgram:
        """Return the steps of the template, with lanes and costs put in.

        `slots`: of the template, some with their lanes fixed; `sites`: where costs are charged;
        `deferred`: costs that labels carry until lanes above are known. A template is a mapping
        without its loops; a label is the tuple of costs of a partial mapping; a lane is one
        instance along a dimension of a fanout.
        """
        costs = CostsBySlot(sites, deferred)
        bits = [cost for cost in deferred if cost.limit is not None]
        deferred_slots = _slots_charged(bits)
        slots = self._with_certain_lanes(slots)
        reservations = _reservations_by_memory(slots)
        steps: list[ProgramStep] = [costs.charge_step(len(slots))]
        numbers: list[int | None] = [None]
        for index in range(len(slots) - 1, -1, -1):
            slot = slots[index]
            step: ProgramStep | None = None
            if isinstance(slot, TemporalLoops):
                step = slot
            elif isinstance(slot, SpatialLoops) and slot.has_lanes:
                step = costs.spatial_step(index, slot)
            elif isinstance(slot, Reservation) and index not in deferred_slots:
                step = _reserve_step(self._problem, reservations[slot.component], index, bits)
            if step is not None:
                steps.append(step)
                numbers.append(index)
            cost_steps = costs.steps_above(index, self._required[index])
            steps += cost_steps
            numbers += [None] * len(cost_steps)
        return TemplateProgram(self.template, slots, tuple(steps), tuple(numbers), deferred_slots)

    def _with_certain_lanes(self, slots: tuple[Slot, ...]) -> tuple[Slot, ...]:
        """Return the slots; open reservations get the lanes that are the same in all choices."""
        if not any(isinstance(slot, Reservation) and slot.open_dims for slot in slots):
            return slots
        return tuple(self._certain_slot(slots, index) for index in range(len(slots)))

    def _certain_slot(self, slots: tuple[Slot, ...], index: int) -> Slot:
        slot = slots[index]
        if not isinstance(slot, Reservation) or not slot.open_dims:
            return slot
        level = self._problem.level(slot.component)
        lanes = lanes_seen_below(self._problem, slots, index, level).lanes
        return replace(slot, lanes=lanes, open_dims=())


class CostsBySlot:
    """The costs of one list of steps, sorted by the slot at which they are charged.

    `sites`: where each cost is charged; `deferred`: costs that labels carry until lanes are known.
    A slot is a place of a template (a mapping without loops) for loops, a fill or a reserved tile;
    a label is the tuple of costs of a partial mapping; a lane is one instance along a dimension of
    a fanout.
    """

    def __init__(self, sites: Sequence[ChargeSite], deferred: Sequence[DeferredCost]) -> None:
        self._terms = defaultdict[int, list[CostTerm]](list)
        self._added = defaultdict[int, list[ChoiceAmount]](list)
        self._factors = defaultdict[int, list[tuple[int, tuple[float, ...]]]](list)
        self._paid = defaultdict[int, list[DeferredCost]](list)
        self._charges = defaultdict[int, list[tuple[tuple[CostTerm, ...], ...]]](list)
        for site in sites:
            self._terms[site.slot] += site.terms
            self._factors[site.slot] += site.factors
            self._charges[site.slot] += (site.charges,) if site.charges else ()
            self._added[site.slot] += site.per_choice
        for cost in deferred:
            for slot, term in cost.terms:
                self._terms[slot].append(term)
            for slot, values in cost.factors:
                self._factors[slot].append((cost.field, values))
            self._paid[cost.top].append(cost)

    def charge_step(self, slot: int, required: tuple[Comparison, ...] = ()) -> ChargeStep:
        """Return the step that charges the costs above a slot, for the tile there; maybe none.

        `required`: tile_shape conditions on that tile. A slot is a place of a template (a mapping
        without loops) for loops, a fill or a reserved tile.
        """
        terms = sorted(term for term in self._terms[slot] if term.factor != 0.0)
        return ChargeStep(tuple(terms), required)

    def spatial_step(self, slot: int, loops: SpatialLoops) -> SpatialStep:
        """Return the step of the dimension at a slot, with the costs of each choice of lanes.

        `loops`: the dimension with its choices. Each may add amounts to columns of the labels
        (cost tuples of partial mappings), multiply them, or charge costs by tile. A slot is a
        place of a template (a mapping without loops) for loops, a fill or a reserved tile; a lane
        is one instance along a dimension of a fanout.
        """
        added, factors = tuple(sorted(self._added[slot])), tuple(sorted(self._factors[slot]))
        per_choice = zip(*self._charges[slot], strict=True)
        charges = tuple(tuple(sorted(chain(*terms))) for terms in per_choice)
        return SpatialStep(loops, added, factors, charges)

    def steps_above(self, slot: int, required: tuple[Comparison, ...]) -> list[ProgramStep]:
        """Return the steps right above a slot: costs paid there, then charges and tile_shape.

        `required`: the tile_shape conditions. A slot is a place of a template (a mapping without
        loops) for loops, a fill or a reserved tile.
        """
        charge = self.charge_step(slot, required)
        charges = [charge] if charge.terms or required else []
        return [*self._payment_steps(slot), *charges]

    def _payment_steps(self, slot: int) -> list[PaymentStep]:
        paid = self._paid[slot]
        if not paid:
            return []
        moves = tuple((cost.field, cost.target) for cost in paid)
        refunds = tuple(term for cost in paid for term in cost.refunds)
        limits = tuple(
            FieldLimit(cost.target, *cost.limit) for cost in paid if cost.limit is not None
        )
        return [PaymentStep(moves, refunds, limits)]


def _slots_charged(costs: Iterable[DeferredCost]) -> frozenset[int]:
    """Return the slots at which deferred costs are first added to their fields."""
    return frozenset(slot for cost in costs for slot, _ in cost.terms)


def _reservations_by_memory(slots: Sequence[Slot]) -> dict[str, dict[int, Reservation]]:
    """Return the reservations in each memory by their slots."""
    reservations: dict[str, dict[int, Reservation]] = {}
    for index, slot in enumerate(slots):
        if isinstance(slot, Reservation):
            reservations.setdefault(slot.component, {})[index] = slot
    return reservations


def _reserve_step(
    problem: Problem,
    reservations: Mapping[int, Reservation],
    index: int,
    bits: Sequence[DeferredCost],
) -> ReserveStep | None:
    """Return the step of the reservation at slot `index`; None if its memory cannot overflow.

    `reservations`: all in its memory, by slot. `bits`: reservations added when lanes are known.
    """
    if not problem.can_overflow(tuple(reservations.values())):
        return None
    paid_above = any(cost.top < index and cost.terms[0][0] in reservations for cost in bits)
    is_last = index == min(reservations) and not paid_above
    return ReserveStep(reservations[index], len(reservations) > 1, is_last)
