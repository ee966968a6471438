"""Find the slot of a template at which each count of an edge is charged.

The program of a template adds costs while the tile grows from the Compute to the whole iteration
space. A count of an edge (edge_traffic.py) can be charged where it is a function of the tile, or of
one spatial choice. Three sites are tried in this order:

1. the slot of the child holder, if no spatial loop between parent and child divides the count;
2. the slot above the topmost dimension that reuses the tensor, if the tile there still shows the
   count: nothing below it but reused lanes iterates over variables irrelevant to the tensor;
3. the spatial choices of one dimension.

Otherwise the lanes of some dimensions must be fixed before the program is compiled, or a label
carries the count until these lanes are known (deferred_costs.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.program.edge_traffic import (
    EdgeCharge,
    moved_kinds,
    values_of_operations,
)
from tilewright.mapper.searches.program.out_of_order import (
    NO_LANES_SEEN_BELOW,
    Factors,
    LanesBelowHolder,
    lanes_seen_below,
)
from tilewright.mapper.searches.program.rates import IN_NUMBERS, Rates
from tilewright.mapper.templates.lane_variants import working_places
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Fill, Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import Lanes, SpatialLoops
from tilewright.mapper.workload.einsum import TensorAccess

ChoiceFactors = tuple[tuple[int, tuple[float, ...]], ...]  # field, factor per spatial choice


class CostTerm(NamedTuple):
    """A cost of a tensor's movement, as a term that a step of the program adds to labels.

    To column `field` of a label (a partial mapping's tuple of costs) it adds `factor` times a
    count of the values of `tensor` at the label's tile. `kind` of count: "moved" (tile times
    iterations above, without zeros of padded ranks), "whole" (with them), "first" (times relevant
    iterations only), "tile" or "once" (1). `lanes`: pairs (variable, lanes) by which the tile is
    larger. `rate`: number of a rate by which `factor` is still to be multiplied, or IN_NUMBERS.
    """

    field: int
    tensor: str
    kind: str
    factor: float
    lanes: Lanes = ()
    rate: int = IN_NUMBERS


class ChoiceAmount(NamedTuple):
    """What each choice of a dimension's lanes adds to column `field` of a label.

    A label is a partial mapping's tuple of costs. `values`: an amount per choice; `rate`: number of
    a rate by which they are still to be multiplied, or IN_NUMBERS.
    """

    field: int
    values: tuple[float, ...]
    rate: int = IN_NUMBERS


@dataclass(frozen=True, slots=True)
class DeferredCharge:
    """A cost that a label carries from one slot until the lanes of slots above are chosen.

    `child`: slot of the lower holder, where `terms` are counted. `level`: of the component that
    pays. `factors`: pairs (slot of a dimension, what each choice of its lanes multiplies the cost
    by). A slot is a place of a template (a mapping without loops) for loops, a fill or a reserved
    tile; a label is the tuple of costs of a partial mapping; a lane is one instance along a
    dimension of a fanout.
    """

    child: int
    level: int
    terms: tuple[CostTerm, ...]
    factors: Factors


@dataclass(frozen=True, slots=True)
class ChargeSite:
    """The slot of a template at which a cost enters the labels of the dynamic program.

    `slot`: its number, the number of slots standing for the Compute. `terms`: costs by tile,
    charged right above it. If it is a dimension: `per_choice` adds an amount to a column for each
    choice of lanes, `charges` adds costs by the tile below for each choice, `factors` multiplies
    columns. `blocking_slots`: dimensions whose lanes must be fixed before anything can be charged,
    unless there is a `deferral`, a cost to be paid once they are known. A template is a mapping
    without its loops; a slot is a place of a template for loops, a fill or a reserved tile; a
    label is the tuple of costs of a partial mapping; a lane is one instance along a dimension of a
    fanout.
    """

    slot: int = 0
    terms: tuple[CostTerm, ...] = ()
    per_choice: tuple[ChoiceAmount, ...] = ()
    blocking_slots: tuple[int, ...] = ()
    deferral: DeferredCharge | None = None
    charges: tuple[tuple[CostTerm, ...], ...] = ()
    factors: ChoiceFactors = ()


class _ChildSite(NamedTuple):
    """The slot of an edge's lower holder, and the lanes above it that it sees below itself."""

    slot: int
    seen_below: LanesBelowHolder


class _Reuse(NamedTuple):
    """Lanes that share each value of an edge, by slot of the dimension.

    `chosen`: dimensions with several choices, with the lanes of each choice; `fixed`: those with
    one.
    """

    chosen: dict[int, tuple[int, ...]]
    fixed: dict[int, int]

    @property
    def fixed_lanes(self) -> int:
        """The product of the lanes without a choice."""
        return prod(self.fixed.values())


class _FillCopies(NamedTuple):
    """A dimension whose lanes each get a first fill of their own.

    `slot`, `level`: of the dimension; `counts`: how many lanes, per choice.
    """

    slot: int
    level: int
    counts: tuple[int, ...]


class ChargeLocator:
    """Finds for one template where each cost can enter the labels of the dynamic program.

    `slots`: those of the template, some with their lanes fixed. `fields`: which column of a label
    (a partial mapping's tuple of costs) holds what. A template is a mapping without its loops; a
    lane is one instance along a dimension of a fanout.
    """

    def __init__(self, problem: Problem, fields: LabelFields, slots: Sequence[Slot]) -> None:
        self._problem = problem
        self._fields = fields
        self._slots = slots
        self._fills = [(i, slot) for i, slot in enumerate(slots) if isinstance(slot, Fill)]
        self._children: dict[int, _ChildSite] = {}
        spatial_loops = [slot for slot in slots if isinstance(slot, SpatialLoops)]
        self._places = working_places(problem, spatial_loops)
        self._spatial = problem.used_dimensions(slots)

    def site_of(self, charge: EdgeCharge) -> ChargeSite:
        """Return the slot at which a charge for moving values is known, and its terms.

        An empty site if it costs nothing; one with `blocking_slots` if it depends on lanes not
        chosen yet. A slot is a place of a template (a mapping without loops) for loops, a fill or
        a reserved tile; a lane is one instance along a dimension of a fanout.
        """
        rates = self._rates(charge)
        if not rates:
            return ChargeSite()
        if charge.kind == "moved":
            return self._moved_site(charge, rates)
        return self._first_fill_site(charge, rates)

    def _rates(self, charge: EdgeCharge) -> Rates:
        """Return, per field, what one value of the charge adds; negative for what is saved."""
        places = self._places.get(self._problem.components[charge.level].name, 1)
        return self._fields.rates.rates_of(self._problem, self._fields, charge, places)

    def _child(self, charge: EdgeCharge) -> _ChildSite:
        """Return the site of the edge's child holder; for the Compute, the number of slots."""
        child, level = charge.edge.child, charge.edge.child_level
        if child is None:
            return _ChildSite(len(self._slots), NO_LANES_SEEN_BELOW)
        if child not in self._children:
            slot = self._fills[child][0]
            seen_below = NO_LANES_SEEN_BELOW
            if any(i < slot and level < own_level for i, _, own_level in self._spatial):
                seen_below = lanes_seen_below(self._problem, self._slots, slot, level)
            self._children[child] = _ChildSite(slot, seen_below)
        return self._children[child]

    def _lanes(self, loops: SpatialLoops, tensor: str, relevance: str) -> tuple[int, ...]:
        """Return, per choice, the lanes over variables of one relevance to `tensor`."""
        return loops.lanes_over(self._problem.shared_variables(frozenset((tensor,)), relevance))

    def _reuses(self, loops: SpatialLoops, tensor: str) -> bool:
        return tensor in self._problem.dimension(loops).may_reuse

    def _moved_site(self, charge: EdgeCharge, rates: Rates) -> ChargeSite:
        """Return where the values that move over an edge are charged."""
        child, reuse = self._child(charge), self._reuse(charge)
        if child.seen_below:
            deferral = self._deferred_move(charge, rates, reuse)
            if not deferral.factors:
                return ChargeSite(child.slot, deferral.terms)
            blocking = tuple(slot for slot, _ in deferral.factors)
            return ChargeSite(blocking_slots=blocking, deferral=deferral)
        if reuse.chosen:
            return self._reused_move_site(charge, rates, reuse)
        kinds = moved_kinds(self._problem, charge)
        terms = _terms(rates, charge.edge.tensor, kinds, 1 / reuse.fixed_lanes)
        return ChargeSite(child.slot, terms)

    def _reused_move_site(self, charge: EdgeCharge, rates: Rates, reuse: _Reuse) -> ChargeSite:
        """Return where moved values are charged if chosen lanes share them (`reuse`)."""
        tensor, child, top = charge.edge.tensor, self._child(charge), min(reuse.chosen)
        iterations = self._unseen_iterations(tensor, top, child.slot)
        if iterations is not None:
            lanes_above = prod(lanes for i, lanes in reuse.fixed.items() if i < top)
            kinds = moved_kinds(self._problem, charge)
            return ChargeSite(top, _terms(rates, tensor, kinds, iterations / lanes_above))
        if charge.edge.child is None and len(reuse.chosen) == 1:
            counts = [n / reuse.fixed_lanes for n in values_of_operations(self._problem, charge)]
            amounts = [[values / n for n in reuse.chosen[top]] for values in counts]
            return ChargeSite(top, per_choice=_per_choice(rates, *amounts))
        deferral = self._deferred_move(charge, rates, reuse)
        return ChargeSite(blocking_slots=tuple(reuse.chosen), deferral=deferral)

    def _reuse(self, charge: EdgeCharge) -> _Reuse:
        """Return the lanes between the paying component and the child that share each value."""
        reuse = _Reuse({}, {})
        if charge.at_child:
            return reuse
        for slot, loops, level in self._spatial:
            is_between = charge.level < level <= charge.edge.child_level
            if not is_between or not self._reuses(loops, charge.edge.tensor):
                continue
            lanes = self._lanes(loops, charge.edge.tensor, "irrelevant")
            if max(lanes) > 1 and len(lanes) > 1:
                reuse.chosen[slot] = lanes
            elif max(lanes) > 1:
                reuse.fixed[slot] = lanes[0]
        return reuse

    def _deferred_move(self, charge: EdgeCharge, rates: Rates, reuse: _Reuse) -> DeferredCharge:
        """Return the cost of moved values, counted at the child, to be divided by lanes above."""
        child = self._child(charge)
        access, lanes = self._problem.einsum.access(charge.edge.tensor), child.seen_below.lanes
        others = frozenset(self._problem.einsum.bounds) - access.rank_variables
        divisors = dict[int, tuple[float, ...]](child.seen_below.factors_over(others))
        divisors.update(
            (i, tuple(map(float, divisor_values))) for i, divisor_values in reuse.chosen.items()
        )
        factors = tuple(
            (i, tuple(1 / n for n in divisor_values))
            for i, divisor_values in sorted(divisors.items())
        )
        divisor = reuse.fixed_lanes * prod(number for _, number in lanes)
        kinds = moved_kinds(self._problem, charge)
        terms = _terms(rates, charge.edge.tensor, kinds, 1 / divisor, lanes)
        return DeferredCharge(child.slot, charge.level, terms, factors)

    def _unseen_iterations(self, tensor: str, top: int, child: int) -> float | None:
        """Return by how many iterations the child's count exceeds what the tile at `top` shows.

        None if a slot between `top` and the child iterates in a way that this tile does not show.
        """
        access = self._problem.einsum.access(tensor)
        factor = 1.0
        for slot in self._slots[top:child]:
            if isinstance(slot, TemporalLoops):
                if not all(access.is_plain(v) for v in slot.variables):
                    return None
            elif isinstance(slot, SpatialLoops):
                lanes = self._unshared_lanes(slot, access)
                if lanes is None:
                    return None
                factor *= lanes
        return factor

    def _unshared_lanes(self, loops: SpatialLoops, access: TensorAccess) -> int | None:
        """Return the lanes over irrelevant variables that each fetch a value of their own.

        None if that depends on the choice, or on a sliding window.
        """
        overlapping = [
            i
            for i, v in enumerate(loops.variables)
            if access.relevance(v) != "irrelevant" and not access.is_plain(v)
        ]
        if any(choice[i] > 1 for choice in loops.choices for i in overlapping):
            return None
        lanes = self._lanes(loops, access.tensor, "irrelevant")
        if max(lanes) <= 1 or self._reuses(loops, access.tensor):
            return 1
        return lanes[0] if len(lanes) == 1 else None

    def _first_fill_site(self, charge: EdgeCharge, rates: Rates) -> ChargeSite:
        """Return where the first fills of an output are charged."""
        child, copies = self._child(charge), list(self._fill_copies(charge))
        chosen = [fill for fill in copies if len(fill.counts) > 1]
        fixed = prod(fill.counts[0] for fill in copies if len(fill.counts) == 1)
        if len(chosen) == 1 and self._is_known_per_choice(charge, rates, chosen[0].slot):
            return self._first_fill_per_choice(charge, rates, chosen[0], fixed)
        terms = self._first_fill_terms(charge, rates, fixed)
        if not chosen:
            return ChargeSite(child.slot, terms)
        factors = tuple((fill.slot, tuple(map(float, fill.counts))) for fill in chosen)
        deferral = DeferredCharge(child.slot, charge.level, terms, factors)
        return ChargeSite(blocking_slots=tuple(fill.slot for fill in chosen), deferral=deferral)

    def _is_known_per_choice(self, charge: EdgeCharge, rates: Rates, slot: int) -> bool:
        """Tell whether first fills follow from the choice of the dimension at `slot` alone."""
        access = self._problem.einsum.access(charge.edge.tensor)
        if self._child(charge).seen_below or not all(map(access.is_plain, access.rank_variables)):
            return False
        return not self._divided_below(charge, rates, slot)

    def _first_fill_terms(
        self, charge: EdgeCharge, rates: Rates, fixed: int
    ) -> tuple[CostTerm, ...]:
        """Return the first fills as terms counted at the child.

        `fixed`: copies made in any case.
        """
        access = self._problem.einsum.access(charge.edge.tensor)
        lanes = self._child(charge).seen_below.lanes
        divisor = prod(number for v, number in lanes if access.relevance(v) == "relevant")
        return _terms(rates, charge.edge.tensor, ("first", "first"), fixed / divisor, lanes)

    def _fill_copies(self, charge: EdgeCharge) -> Iterator[_FillCopies]:
        """Yield the dimensions above the child whose lanes each have a first fill of their own."""
        for slot, loops, level in self._spatial:
            if level > charge.edge.child_level:
                continue
            below_payer = not charge.at_child and level > charge.level
            reused = below_payer and self._reuses(loops, charge.edge.tensor)
            irrelevant = self._lanes(loops, charge.edge.tensor, "irrelevant")
            partial = self._lanes(loops, charge.edge.tensor, "partial")
            pairs = zip(irrelevant, partial, strict=True)
            counts = tuple(p * (1 if reused else n) for n, p in pairs)
            if max(counts) > 1:
                yield _FillCopies(slot, level, counts)

    def _divided_below(self, charge: EdgeCharge, rates: Rates, slot: int) -> bool:
        """Tell whether lanes below `slot` have already divided the paying component's calls."""
        if set(rates) <= {0}:
            return False
        return any(i > slot and level <= charge.level for i, _, level in self._spatial)

    def _first_fill_per_choice(
        self, charge: EdgeCharge, rates: Rates, copies: _FillCopies, fixed: float
    ) -> ChargeSite:
        """Return the site that charges first fills by the choice of lanes of one dimension.

        `copies`: the dimension with the fills of each choice; `fixed`: what multiplies them in any
        case.
        """
        loops = self._slots[copies.slot]
        assert isinstance(loops, SpatialLoops)
        einsum = self._problem.einsum
        size = einsum.access(charge.edge.tensor).tile_size(einsum.bounds)
        values = [size * fixed * n for n in copies.counts]
        per_lane = [
            value / (prod(choice) if copies.level <= charge.level else 1)
            for value, choice in zip(values, loops.choices, strict=True)
        ]
        return ChargeSite(copies.slot, per_choice=_per_choice(rates, values, per_lane))


def _terms(
    rates: Rates, tensor: str, kinds: tuple[str, str], factor: float, lanes: Lanes = ()
) -> tuple[CostTerm, ...]:
    """Return one term per field that a count is charged to.

    `kinds`: of count, for energy and for calls; `factor`: multiplies its rate.
    """
    return tuple(
        CostTerm(field, tensor, kinds[field != 0], rate.scale * factor, lanes, rate.number)
        for field, rate in rates.items()
    )


def _per_choice(
    rates: Rates, values: Sequence[float], calls: Sequence[float]
) -> tuple[ChoiceAmount, ...]:
    """Return, per field, the amounts that so many moved values add for each choice.

    Numbers of values per choice: `values` for energy, `calls` for the calls of one instance.
    """
    return tuple(
        ChoiceAmount(
            field, tuple(rate.scale * v for v in (calls if field else values)), rate.number
        )
        for field, rate in rates.items()
    )
