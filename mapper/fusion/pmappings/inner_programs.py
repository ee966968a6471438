"""Compile what stands below the lowest tensor on chip in a fused template.

The spatial loops above it are fixed first: one inner program for each spatial choice there. What
its holders and Networks charge in the region above is kept as functions of the tile there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import NamedTuple

import numpy as np

from tilewright.arch.components.components import Memory
from tilewright.mapper.fusion.pmappings.fused_templates import FusedTemplate
from tilewright.mapper.fusion.pmappings.shared.shared_spatial import (
    SharedSpatialLoop,
    fixed_spatial_loops,
    gap_above_lanes,
    gap_below_lanes,
    network_charges,
)
from tilewright.mapper.mapspace.point_capacity import reserved_bits
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.exact.label_fields import LabelFields, field_factors
from tilewright.mapper.searches.program.charge_sites import ChargeLocator, ChargeSite, CostTerm
from tilewright.mapper.searches.program.deferred_costs import (
    DeferredCost,
    TooFewColumns,
    deferred_charges,
    deferred_costs,
)
from tilewright.mapper.searches.program.edge_traffic import EdgeCharge, edge_charges
from tilewright.mapper.searches.program.network_hops import network_charge_sites
from tilewright.mapper.searches.program.open_network_hops import (
    charge_sites_at_fixed_lanes,
    open_network_charge_sites,
)
from tilewright.mapper.searches.program.out_of_order import below_deeper_lanes
from tilewright.mapper.searches.program.program import (
    CostsBySlot,
    OpenCosts,
    still_open,
    with_fixed_lanes,
)
from tilewright.mapper.searches.program.program_steps import (
    ProgramStep,
    ReserveStep,
    SpatialStep,
    TemplateProgram,
)
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.required_tile_shape import required_tile_shape
from tilewright.mapper.templates.slot_sequence import slot_sequence
from tilewright.mapper.templates.slots import Fill, Reservation, Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops


class LoopGaps(NamedTuple):
    """Say where temporal fused loops over one rank variable may stand.

    `variable`: its number among the Einsum's rank variables. `gaps`: numbers of places above
    holders of the region (the holders below the outermost memory, down to the lowest that backs a
    tensor on chip): 2 * i above the spatial loops over holder i, 2 * i + 1 between these and the
    holder.
    """

    variable: int
    gaps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SharingRules:
    """Say which loops several Einsums may share in the region of one template.

    The region: the holders below the outermost memory, down to the lowest that backs a tensor
    exchanged on chip; they are called by their places 0, 1, … `loop_places`: (number of a rank
    variable, places of the holders right above which a temporal loop over it may stand).
    `spatial_variables`: per holder, the rank variables that spatial loops right above it may divide
    over lanes.
    """

    loop_places: Sequence[tuple[int, tuple[int, ...]]] = ()
    spatial_variables: Sequence[frozenset[str]] = ()


@dataclass(frozen=True, slots=True)
class CutTemplate:
    """Fused template whose lanes above the lowest tensor on chip are fixed.

    The search below the region then need not choose them. `slots`: the template's places for loops,
    fills and reservations, outermost first. `loop_gaps`: where temporal fused loops may stand, per
    rank variable. `spatial_loops`: the fixed spatial loops above the lowest tensor on chip, which
    Einsums share.
    """

    template: FusedTemplate
    slots: tuple[Slot, ...]
    loop_gaps: tuple[LoopGaps, ...] = ()
    spatial_loops: tuple[SharedSpatialLoop, ...] = ()

    @property
    def region_slots(self) -> list[int]:
        """Numbers of the `Fill` slots of the region, one for each of its holders, outermost first.

        The region: the holders below the outermost memory, down to the lowest that backs a tensor
        on chip. Slots for loops and reservations between them are not among the numbers.
        """
        return _region_slots(self.slots, self.template)

    @property
    def lowest_slot(self) -> int:
        """Number of the slot that fills the lowest holder which backs a tensor on chip.

        A slot is a place of a template: loops, a fill or a reservation.
        """
        fills = [i for i, slot in enumerate(self.slots) if isinstance(slot, Fill)]
        return fills[self.template.lowest_on_chip]


@dataclass(frozen=True, slots=True)
class InnerProgram:
    """Compiled search below the lowest tensor on chip, with the costs of the region above it.

    A program is a list of steps over tile shapes, innermost first (theory/lattice.md §3). The
    region: the holders below the outermost memory, down to the lowest that backs a tensor on chip.
    `template`: what was compiled. `program`: the steps below the region. `holder_charges[i]`:
    actions that holder i of the region costs, as functions of the tile there. `loop_gaps`: where
    temporal fused loops may stand, per rank variable. `spatial_loops`: the fixed spatial loops
    above the lowest tensor on chip; a label counts their lanes as one. `network_charges[i]`: what
    the spatial loops right above holder i send over Networks, as functions of the tile right below
    them.
    """

    template: FusedTemplate
    program: TemplateProgram
    holder_charges: tuple[tuple[CostTerm, ...], ...]
    loop_gaps: tuple[LoopGaps, ...]
    spatial_loops: tuple[SharedSpatialLoop, ...] = ()
    network_charges: Mapping[int, tuple[CostTerm, ...]] = field(default_factory=dict)

    def spatial_loops_above(self, place: int) -> tuple[SharedSpatialLoop, ...]:
        """Return the fixed spatial loops above holder number `place` of the region.

        Outermost first. The region: the holders below the outermost memory, down to the lowest that
        backs a tensor on chip.
        """
        return tuple(loop for loop in self.spatial_loops if loop.region_place <= place)


def inner_programs(
    problem: Problem, fields: LabelFields, template: FusedTemplate, rules: SharingRules
) -> Iterator[InnerProgram]:
    """Compile a fused template into searches of everything below its lowest tensor on chip.

    `problem`: the Einsum, its path and the conventions. `fields`: the numbers of a label (energy,
    calls of actions, lanes, bits). `rules`: which loops may be shared in the region above. Yield
    one program for each choice of lanes that a step of the search cannot make: lanes above the
    lowest tensor on chip, and lanes on which a cost elsewhere depends. Yields nothing if a
    dimension has no legal choice, or if (under the accelforge conventions) a holder of an outer
    memory stands below lanes of a deeper one. Raises UnsupportedFeature for more choices of lanes
    than can be compiled one by one.
    """
    slots = slot_sequence(problem, template.template)
    if not problem.conventions.loops_sink and below_deeper_lanes(problem, slots) is not None:
        return
    if any(isinstance(slot, SpatialLoops) and not slot.choices for slot in slots):
        return
    costs = OpenCosts(tuple(edge_charges(problem, template.template)))
    if not template.region:
        yield from _InnerCompiler(problem, fields, CutTemplate(template, slots), costs).programs()
        return
    region = _region_slots(slots, template)
    for fixed in fixed_spatial_loops(problem, slots, region, rules.spatial_variables):
        places = {loop.region_place for loop in fixed.loops}
        gaps = (LoopGaps(v, tuple(_gaps(holders, places))) for v, holders in rules.loop_places)
        cut = CutTemplate(template, fixed.slots, tuple(gaps), fixed.loops)
        yield from _InnerCompiler(problem, fields, cut, costs).programs()


def _gaps(places: Sequence[int], places_with_lanes: Collection[int]) -> Iterator[int]:
    """Yield the numbers of the gaps right above the holders at some places of the region.

    Two gaps for a holder with spatial loops right above it (`places_with_lanes`), else one.
    """
    for place in places:
        yield gap_below_lanes(place)
        if place in places_with_lanes:
            yield gap_above_lanes(place)


def _region_slots(slots: Sequence[Slot], template: FusedTemplate) -> list[int]:
    """Return the numbers of the `Fill` slots of the region's holders."""
    fills = [i for i, slot in enumerate(slots) if isinstance(slot, Fill)]
    return fills[template.n_outermost : template.lowest_on_chip + 1]


class _NetworkSites(NamedTuple):
    """Charge sites of what is sent over Networks: above the region's last holder, and below it.

    They are called `upper` and `lower`.
    """

    upper: list[ChargeSite]
    lower: list[ChargeSite]


def _split_sites(sites: Sequence[ChargeSite], lowest: int) -> _NetworkSites:
    """Split charge sites: those with terms at or above slot `lowest`, and all others."""
    upper = [site for site in sites if site.terms and site.slot <= lowest]
    return _NetworkSites(upper, [site for site in sites if site not in upper])


@dataclass(frozen=True, slots=True)
class _InnerCosts:
    """The costs of a program by slot, and what Networks charge above each holder of the region."""

    by_slot: CostsBySlot
    network_charges: Mapping[int, tuple[CostTerm, ...]]


@dataclass(frozen=True, slots=True)
class _InnerCompiler:
    """Compiles one cut template into inner programs.

    `costs`: sites of the costs, as far as the lanes fixed so far settle them.
    """

    problem: Problem
    fields: LabelFields
    cut: CutTemplate
    costs: OpenCosts

    def programs(self) -> Iterator[InnerProgram]:
        """Yield the inner programs: one per choice of those lanes that some cost must know."""
        cut, network, located = self.cut, self._network_sites(), self._located_charges()
        sites = [*self.costs.settled, *(site for _, site in located), *network.lower]
        deferred = self._deferred_costs(sites)
        blocking = [site for site in sites if deferred is None or site.deferral is None]
        blocked = sorted({slot for site in blocking for slot in site.blocking_slots})
        if not blocked:
            upper = network.upper
            charges = network_charges(cut.slots, cut.region_slots, upper) if upper else {}
            yield self._compile(_InnerCosts(CostsBySlot(sites, deferred or []), charges))
            return
        remaining = still_open(self.costs, located)
        for fixed in with_fixed_lanes(cut.slots, blocked):
            yield from replace(self, cut=replace(cut, slots=fixed), costs=remaining).programs()

    def _located_charges(self) -> list[tuple[EdgeCharge, ChargeSite]]:
        """Return the edge charges still open, each with its site among these slots."""
        locator = ChargeLocator(self.problem, self.fields, self.cut.slots)
        return [(charge, locator.site_of(charge)) for charge in self.costs.charges]

    def _deferred_costs(self, sites: Sequence[ChargeSite]) -> list[DeferredCost] | None:
        """Return the costs that labels carry until lanes further up are known.

        None if there are too many, or one would be paid above the program. Raises TooFewColumns if
        labels with more columns might carry them.
        """
        slots = self.cut.slots
        deferred = deferred_costs(self.problem, self.fields, slots, deferred_charges(sites))
        if deferred is None and not self.fields.has_all_deferred:
            raise TooFewColumns
        if deferred is None or any(cost.top <= self.cut.lowest_slot for cost in deferred):
            return None
        return deferred

    def _network_sites(self) -> _NetworkSites:
        """Return the sites at which spatial loops charge what they send over Networks."""
        if not self.problem.has_networks:
            return _NetworkSites([], [])
        lowest = self.cut.lowest_slot
        network = self.problem, self.fields, self.cut.template.template, self.cut.slots
        open_sites = open_network_charge_sites(*network)
        sites = open_sites or list(network_charge_sites(*network))
        if not self.cut.spatial_loops:
            return _NetworkSites([], sites)
        if not open_sites:
            return _split_sites(sites, lowest)
        upper = charge_sites_at_fixed_lanes(open_sites, lowest)
        return _NetworkSites(upper, [s for s in sites if not s.charges or s.slot >= lowest])

    def _compile(self, costs: _InnerCosts) -> InnerProgram:
        """Return the inner program: the steps of all slots below the region, with these costs."""
        cut, slots = self.cut, self.cut.slots
        first = cut.lowest_slot + 1  # a slot of the region: the lowest tensor's reservation
        lower = slots[first + 1 :]
        steps: list[ProgramStep] = [costs.by_slot.charge_step(len(slots))]
        numbers: list[int | None] = [None]
        for index in range(len(slots) - 1, first, -1):
            slot_steps = list(self._slot_steps(costs.by_slot, lower, index))
            cost_steps = self._cost_steps(costs.by_slot, index)
            steps += [*slot_steps, *cost_steps]
            numbers += [*[index] * len(slot_steps), *[None] * len(cost_steps)]
        upper = self._upper_spatial(first)
        for index, dimension in reversed(upper):
            steps.append(costs.by_slot.spatial_step(index, dimension))
            numbers.append(None)
        template = cut.template.template
        program = TemplateProgram(template, slots, tuple(steps), tuple(numbers))
        region, shares = cut.region_slots, self._shares(upper)
        holder_charges = tuple(
            _scale_charges(costs.by_slot.charge_step(slot).terms, share)
            for slot, share in zip(region, shares, strict=True)
        )
        charges = {
            place: _scale_charges(terms, shares[place])
            for place, terms in costs.network_charges.items()
        }
        return InnerProgram(
            cut.template, program, holder_charges, cut.loop_gaps, cut.spatial_loops, charges
        )

    def _slot_steps(
        self, costs: CostsBySlot, lower: Sequence[Slot], index: int
    ) -> Iterator[ProgramStep]:
        """Yield the steps of slot `index` itself; `lower`: all slots below the region."""
        for step in _steps(self.problem, self.fields, lower, self.cut.slots[index]):
            yield costs.spatial_step(index, step.loops) if isinstance(step, SpatialStep) else step

    def _cost_steps(self, costs: CostsBySlot, index: int) -> list[ProgramStep]:
        """Return the steps that pay the costs right above slot `index`."""
        template, slot = self.cut.template.template, self.cut.slots[index]
        shapes = required_tile_shape(self.problem, template, slot)
        return costs.steps_above(index, shapes)

    def _upper_spatial(self, first: int) -> list[tuple[int, SpatialLoops]]:
        """Return (slot number, spatial loops) of the shared spatial loops above slot `first`."""
        slots = self.cut.slots[:first] if self.cut.spatial_loops else ()
        return [(i, slot) for i, slot in enumerate(slots) if isinstance(slot, SpatialLoops)]

    def _shares(self, upper: Sequence[tuple[int, SpatialLoops]]) -> list[Floats]:
        """Return, per holder of the region, by how much spatial loops above scale each field.

        One array of shape (fields,) each. `upper`: the spatial loops, with their slots.
        """
        fields = self.fields
        factors = [
            (index, field_factors(self.problem, fields, dimension)[0]) for index, dimension in upper
        ]
        return [
            prod((factor for index, factor in factors if index < slot), start=np.ones(fields.width))
            for slot in self.cut.region_slots
        ]


def _scale_charges(terms: Sequence[CostTerm], shares: Floats) -> tuple[CostTerm, ...]:
    """Return the charges, each multiplied by the entry of `shares` for its field.

    `shares`, shape (fields,). Labels count the lanes above already, so that calls of one instance
    are a share of all.
    """
    return tuple(term._replace(factor=term.factor * float(shares[term.field])) for term in terms)


def _steps(
    problem: Problem, fields: LabelFields, lower: Sequence[Slot], slot: Slot
) -> Iterator[ProgramStep]:
    """Yield the steps of one slot; `lower`: all slots below the region."""
    if isinstance(slot, TemporalLoops):
        yield slot
    elif isinstance(slot, SpatialLoops):
        if slot.has_lanes:
            yield SpatialStep(slot, ())
    elif isinstance(slot, Reservation):
        yield from _reserve_steps(problem, fields, lower, slot)


def _reserve_steps(
    problem: Problem, fields: LabelFields, lower: Sequence[Slot], slot: Reservation
) -> Iterator[ProgramStep]:
    """Yield a reservation's step, if the memory may overflow or the bits stay in the label.

    `slot`: the reservation; `lower`: the slots of the program. What is reserved in the second
    memory, or in memories whose usage counts, stays in the label. Deeper memories are free again
    above.
    """
    if slot.component not in fields.used_bits:
        return
    memories = [c for c in problem.components if isinstance(c, Memory)]
    if slot.component == memories[1].name or slot.component in fields.tracked:
        yield ReserveStep(slot, True, False)
        return
    memory = problem.holder(slot.component)
    assert isinstance(memory, Memory)
    reservations = list(_reservations_in(slot.component, lower))
    bits = (
        reserved_bits(problem, reservation, problem.einsum.bounds) for reservation in reservations
    )
    if not problem.size_tests.fits(memory, sum(bits)):
        yield ReserveStep(slot, len(reservations) > 1, slot is reservations[0])


def _reservations_in(memory: str, slots: Sequence[Slot]) -> Iterator[Reservation]:
    """Yield the reservations of a memory, outermost first."""
    for slot in slots:
        if isinstance(slot, Reservation) and slot.component == memory:
            yield slot
