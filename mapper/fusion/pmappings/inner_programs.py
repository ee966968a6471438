"""Cut layouts at the lowest tensor on chip and compile what stands below, lanes above fixed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from tilewright.arch.components.components import Memory
from tilewright.mapper.fusion.pmappings.fused_templates import FusedTemplate
from tilewright.mapper.fusion.pmappings.shared_spatial import (
    SharedSpatialLoop,
    fixed_spatial_loops,
    gap_above_lanes,
    gap_below_lanes,
    network_charges,
)
from tilewright.mapper.mapspace.points import reserved_bits
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.exact.label_tables import field_factors
from tilewright.mapper.searches.program.charge_sites import ChargeLocator, ChargeSite, CostTerm
from tilewright.mapper.searches.program.deferred_costs import deferred_charges, deferred_costs
from tilewright.mapper.searches.program.edge_traffic import edge_charges
from tilewright.mapper.searches.program.holder_order import below_deeper_lanes
from tilewright.mapper.searches.program.network_hops import network_charge_sites
from tilewright.mapper.searches.program.open_network_hops import (
    charge_sites_at_fixed_lanes,
    open_network_charge_sites,
)
from tilewright.mapper.searches.program.program import (
    CostsBySlot,
    LoopStep,
    ProgramStep,
    ReserveStep,
    SingleLoopStep,
    SpatialStep,
    TemplateProgram,
    with_fixed_lanes,
)
from tilewright.mapper.templates.problem import Problem, required_tile_shape
from tilewright.mapper.templates.slot_sequence import slot_sequence
from tilewright.mapper.templates.slots import Fill, Reservation, Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops

LoopGaps = tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class SharingRules:
    """Where shared loops may stand: (variable, region holders that they may stand right above), and
    which variables may be dealt over lanes there, per holder."""

    loop_places: LoopGaps = ()
    lanes: Sequence[frozenset[str]] = ()


@dataclass(frozen=True, slots=True)
class CutTemplate:
    """A layout, the loops that may be shared above its lowest tensor on chip (variable, gaps: see
    shared_spatial.py), and the lanes."""

    template: FusedTemplate
    loop_gaps: LoopGaps
    spatial_loops: tuple[SharedSpatialLoop, ...] = ()


@dataclass(frozen=True, slots=True)
class InnerProgram:
    """A layout cut at its lowest tensor on chip.

    `program.operations` are those below; `above[i]` = what reaching holder `layout.first + i` of
    the region costs, as a function of the tile there; `legal`: variables that fused loops may use
    and their gaps; `spreads`: the lanes above the lowest tensor on chip, which the labels count as
    one; `sent[i]`: what those right above holder i of the region send over Networks, as a function
    of the tile right below them.
    """

    template: FusedTemplate
    program: TemplateProgram
    holder_charges: tuple[tuple[CostTerm, ...], ...]
    loop_gaps: LoopGaps
    spatial_loops: tuple[SharedSpatialLoop, ...] = ()
    network_charges: Mapping[int, tuple[CostTerm, ...]] = field(default_factory=dict)

    def spatial_loops_above(self, place: int) -> tuple[SharedSpatialLoop, ...]:
        """Return the lanes above holder `place` of the region."""
        return tuple(spread for spread in self.spatial_loops if spread.region_place <= place)


def inner_programs(
    problem: Problem, fields: LabelFields, layout: FusedTemplate, rules: SharingRules
) -> Iterator[InnerProgram]:
    """Compile `layout`; several parts when lanes must be enumerated outside the program.

    None where lanes above a holder of an outer memory would count in a way that is not modelled
    (free_orders in fused_templates.py).
    """
    slots = slot_sequence(problem, layout.template)
    fans = [slot for slot in slots if isinstance(slot, SpatialLoops)]
    if not problem.conventions.loops_sink and below_deeper_lanes(problem, slots) is not None:
        return
    if not all(fan.choices for fan in fans):
        return
    if not layout.region:
        yield from _compile_with_fixed_lanes(problem, fields, CutTemplate(layout, ()), slots)
        return
    for fixed, spreads in fixed_spatial_loops(
        problem, slots, _region_slots(slots, layout), rules.lanes
    ):
        stands = {spread.region_place for spread in spreads}
        legal = tuple((v, tuple(_gaps(places, stands))) for v, places in rules.loop_places)
        yield from _compile_with_fixed_lanes(
            problem, fields, CutTemplate(layout, legal, spreads), fixed
        )


def _gaps(places: Sequence[int], stands: Collection[int]) -> Iterator[int]:
    """Yield the gaps right above some holders; `stands`: those with lanes right above them."""
    for place in places:
        yield gap_below_lanes(place)
        if place in stands:
            yield gap_above_lanes(place)


def _region_slots(slots: Sequence[Slot], layout: FusedTemplate) -> list[int]:
    """Return the places of the region's holders among the slots."""
    fills = [i for i, slot in enumerate(slots) if isinstance(slot, Fill)]
    return fills[layout.n_outermost : layout.lowest_on_chip + 1]


def _cut_slot(slots: Sequence[Slot], layout: FusedTemplate) -> int:
    """Return the place of the lowest tensor on chip among the slots."""
    fills = [i for i, slot in enumerate(slots) if isinstance(slot, Fill)]
    return fills[layout.lowest_on_chip]


def _compile_with_fixed_lanes(
    problem: Problem, fields: LabelFields, cut: CutTemplate, slots: tuple[Slot, ...]
) -> Iterator[InnerProgram]:
    """Enumerate the dimensions whose lanes some cost needs to know, then compile."""
    template = cut.template.template
    router = ChargeLocator(problem, fields, slots)
    routes = [router.site_of(tap) for tap in edge_charges(problem, template)]
    upper, hops = _network_routes((problem, fields), cut, slots)
    routes += hops
    later = deferred_costs(problem, fields, slots, deferred_charges(routes))
    if later is not None and any(debt.top <= _cut_slot(slots, cut.template) for debt in later):
        later = None  # it would be paid above the program
    blocking = [route for route in routes if later is None or route.deferral is None]
    blocked = sorted({i for route in blocking for i in route.blocking_slots})
    if not blocked:
        sent = network_charges(slots, _region_slots(slots, cut.template), upper) if upper else {}
        yield _compile_program(
            (problem, fields), cut, slots, (CostsBySlot(routes, later or []), sent)
        )
        return
    for fixed in with_fixed_lanes(slots, blocked):
        yield from _compile_with_fixed_lanes(problem, fields, cut, fixed)


def _network_routes(
    problem: tuple[Problem, LabelFields], cut: CutTemplate, slots: tuple[Slot, ...]
) -> tuple[list[ChargeSite], list[ChargeSite]]:
    """Return where to charge what lanes send over Networks: those above the region, and others."""
    if not problem[0].has_networks:
        return [], []
    limit = _cut_slot(slots, cut.template)
    asked = (*problem, cut.template.template, slots)
    free = open_network_charge_sites(*asked)
    if free:
        upper = charge_sites_at_fixed_lanes(free, limit) if cut.spatial_loops else []
        return upper, [r for r in free if not (cut.spatial_loops and r.charges and r.slot < limit)]
    hops = list(network_charge_sites(*asked))
    upper = [r for r in hops if cut.spatial_loops and r.terms and r.slot <= limit]
    return upper, [route for route in hops if route not in upper]


def _compile_program(
    problem_fields: tuple[Problem, LabelFields],
    cut: CutTemplate,
    slots: tuple[Slot, ...],
    costs: tuple[CostsBySlot, Mapping[int, tuple[CostTerm, ...]]],
) -> InnerProgram:
    (problem, fields), layout, (at, sent) = problem_fields, cut.template, costs
    operations: list[ProgramStep] = [at.charge_step(len(slots))]
    numbers: list[int | None] = [None]
    start = _cut_slot(slots, layout) + 1
    for index in range(len(slots) - 1, start, -1):
        for operation in _operations(problem, fields, slots[start + 1 :], slots[index]):
            made = operation
            if isinstance(operation, SpatialStep):
                made = at.spatial_step(index, operation.loops)
            operations.append(made)
            numbers.append(index)
        pins = required_tile_shape(problem, layout.template, slots[index])
        after: list[ProgramStep] = at.steps_above(index, pins)
        operations += after
        numbers += [None] * len(after)
    upper = [
        (i, s)
        for i, s in enumerate(slots[:start])
        if isinstance(s, SpatialLoops) and cut.spatial_loops
    ]
    for index, fan in reversed(upper):
        operations.append(at.spatial_step(index, fan))
        numbers.append(None)
    program = TemplateProgram(layout.template, slots, tuple(operations), tuple(numbers))
    region = _region_slots(slots, layout)
    times = [(index, field_factors(problem, fields, fan)[0]) for index, fan in upper]
    shares = [
        prod((one for index, one in times if index < i), start=np.ones(fields.width))
        for i in region
    ]
    above = tuple(
        _scale_charges(at.charge_step(i).terms, share)
        for i, share in zip(region, shares, strict=True)
    )
    hops = {stand: _scale_charges(adds, shares[stand]) for stand, adds in sent.items()}
    return InnerProgram(layout, program, above, cut.loop_gaps, cut.spatial_loops, hops)


def _scale_charges(adds: Sequence[CostTerm], shares: Floats) -> tuple[CostTerm, ...]:
    """Return costs below lanes that labels count already: calls of one instance are its share."""
    return tuple(replace(add, factor=add.factor * float(shares[add.field])) for add in adds)


def _operations(
    problem: Problem, fields: LabelFields, lower: Sequence[Slot], slot: Slot
) -> Iterator[ProgramStep]:
    if isinstance(slot, TemporalLoops):
        yield SingleLoopStep(slot.variables) if slot.single else LoopStep(slot.variables)
    elif isinstance(slot, SpatialLoops):
        if any(prod(choice) > 1 for choice in slot.choices):
            yield SpatialStep(slot, ())
    elif isinstance(slot, Reservation):
        yield from _reserve_operations(problem, fields, lower, slot)


def _reserve_operations(
    problem: Problem, fields: LabelFields, lower: Sequence[Slot], slot: Reservation
) -> Iterator[ProgramStep]:
    """Room in the second memory stays in the label, and in those whose usage counts; deeper
    memories are free again above."""
    if slot.component not in fields.used_bits:
        return
    memories = [c for c in problem.components if isinstance(c, Memory)]
    if slot.component == memories[1].name or slot.component in fields.tracked:
        yield ReserveStep(slot, True, False)
        return
    memory = problem.holder(slot.component)
    assert isinstance(memory, Memory)
    same = [s for s in lower if isinstance(s, Reservation) and s.component == slot.component]
    if sum(reserved_bits(problem, s, problem.einsum.bounds) for s in same) > memory.size:
        yield ReserveStep(slot, len(same) > 1, slot is same[0])
