"""Find where in the program the count of a tap is a function of the tile (or of one choice).

Three ways, tried in this order: at the child's tile; just above the topmost dimension that reuses
the tensor, when nothing below it but reused lanes iterates over its irrelevant variables; in the
choices of one spatial dimension. Otherwise the lanes of some dimensions must be fixed beforehand,
or the cost is deferred until they are known (deferred_costs.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tilewright.arch.components.components import SpatialDim
from tilewright.mapper.model.view import Count
from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.program.edge_traffic import EdgeCharge, values_per_move
from tilewright.mapper.searches.program.out_of_order import LanesSeenBelow, lanes_seen_below
from tilewright.mapper.templates.lane_variants import working_places
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Fill, Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import Lanes, SpatialLoops


@dataclass(frozen=True, slots=True, order=True)
class CostTerm:
    """Add `factor` x the `kind` count of `tensor` at the state's tile to `field`.

    `lanes`: the tile is that many times larger (see network_hops.py).
    """

    field: int
    tensor: str
    kind: str
    factor: float
    lanes: Lanes = ()


@dataclass(frozen=True, slots=True)
class DeferredCharge:
    """`adds` at the slot `child`, not yet multiplied by what the lanes of `fans` make of them.

    `level`: of the component that pays. `fans`: (slot, factor per choice).
    """

    child: int
    level: int
    terms: tuple[CostTerm, ...]
    factors: tuple[tuple[int, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True)
class ChargeSite:
    """Charge `adds` right above `slot` (the number of slots: at the Compute), or `per_choice`
    (field, value per choice) and `fares` (what each choice adds for the tile below it) in the
    dimension at `slot`, whose choices multiply fields by `times`; or `blocked` by these fan slots,
    unless there is a `deferral`."""

    slot: int = 0
    terms: tuple[CostTerm, ...] = ()
    per_choice: tuple[tuple[int, tuple[float, ...]], ...] = ()
    blocking_slots: tuple[int, ...] = ()
    deferral: DeferredCharge | None = None
    charges: tuple[tuple[CostTerm, ...], ...] = ()
    factors: tuple[tuple[int, tuple[float, ...]], ...] = ()


class ChargeLocator:
    """Routes taps of one template with one list of slots."""

    def __init__(self, problem: Problem, fields: LabelFields, slots: Sequence[Slot]) -> None:
        self._problem = problem
        self._fields = fields
        self._slots = slots
        self._fills = [(i, slot) for i, slot in enumerate(slots) if isinstance(slot, Fill)]
        self._early: dict[int, tuple[int, LanesSeenBelow]] = {}
        self._places = working_places(
            problem, [slot for slot in slots if isinstance(slot, SpatialLoops)]
        )
        self._fans = [
            (i, slot, problem.level(slot.component))
            for i, slot in enumerate(slots)
            if isinstance(slot, SpatialLoops) and any(prod(choice) > 1 for choice in slot.choices)
        ]

    def site_of(self, tap: EdgeCharge) -> ChargeSite:
        """Return where to charge `tap`."""
        rates = self._rates(tap)
        if not rates:
            return ChargeSite()
        return self._moved(tap, rates) if tap.kind == "moved" else self._first(tap, rates)

    def _rates(self, tap: EdgeCharge) -> dict[int, float]:
        """Return, per field, what one value of the tap adds (signed)."""
        share = self._places.get(self._problem.components[tap.level].name, 1)
        last = tap.edge.child is None
        key = (tap.edge.tensor, tap.level, tap.action, tap.sign, share, last)
        if key not in self._fields.rates:
            self._fields.rates[key] = self._rates_of(tap, share)
        return self._fields.rates[key]

    def _rates_of(self, tap: EdgeCharge, share: Count) -> dict[int, float]:
        """Do so; `share`: places of a distributed memory that share the calls."""
        component = self._problem.components[tap.level]
        action = next((a for a in component.actions if a.name == tap.action), None)
        if action is None:
            return {}
        values = action.values_per_action[tap.edge.tensor] * values_per_move(self._problem, tap)
        calls = float(tap.sign * component.actions_scale / values)
        rates = {0: calls * action.energy}
        if (field := self._fields.calls.get((tap.level, tap.action))) is not None:
            rates[field] = (
                self._fields.seconds.get((tap.level, tap.action), 1.0) * calls / float(share)
            )
        return {field: rate for field, rate in rates.items() if rate != 0.0}

    def _child(self, tap: EdgeCharge) -> tuple[int, LanesSeenBelow]:
        """Return the slot of the child, and the lanes above it there that it sees below itself."""
        if tap.edge.child is None:
            return len(self._slots), LanesSeenBelow()
        if tap.edge.child not in self._early:
            slot, level = self._fills[tap.edge.child][0], tap.edge.child_level
            deeper = any(i < slot and level < own for i, _, own in self._fans)
            early = (
                lanes_seen_below(self._problem, self._slots, slot, level)
                if deeper
                else LanesSeenBelow()
            )
            self._early[tap.edge.child] = slot, early
        return self._early[tap.edge.child]

    def _dim(self, fan: SpatialLoops) -> SpatialDim:
        component = self._problem.components[self._problem.level(fan.component)]
        return next(dim for dim in component.spatial if dim.name == fan.name)

    def _lanes(self, fan: SpatialLoops, tensor: str, relevance: str) -> tuple[int, ...]:
        """Return, per choice, the lanes over variables of one relevance to `tensor`."""
        access = self._problem.einsum.access(tensor)
        chosen = [i for i, v in enumerate(fan.variables) if access.relevance(v) == relevance]
        return tuple(prod(choice[i] for i in chosen) for choice in fan.choices)

    def _reuses(self, fan: SpatialLoops, tensor: str) -> bool:
        return tensor in self._dim(fan).may_reuse

    def _moved(self, tap: EdgeCharge, rates: dict[int, float]) -> ChargeSite:
        tensor, (child, early) = tap.edge.tensor, self._child(tap)
        reusing = [
            (i, lanes)
            for i, fan, level in self._fans
            if tap.level < level <= tap.edge.child_level
            and not tap.at_child
            and self._reuses(fan, tensor)
            and max(lanes := self._lanes(fan, tensor, "irrelevant")) > 1
        ]
        open_ = [(i, lanes) for i, lanes in reusing if len(lanes) > 1]
        fixed = prod(lanes[0] for _, lanes in reusing if len(lanes) == 1)
        if not (open_ or early.lanes or early.fans):
            return ChargeSite(child, _adds(rates, tensor, "moved", 1 / fixed, ()))
        later = self._later(tap, (child, early), rates, (open_, fixed))
        if early.lanes or early.fans:
            if later.factors:
                return ChargeSite(blocking_slots=tuple(i for i, _ in later.factors), deferral=later)
            return ChargeSite(child, later.terms)
        top = min(i for i, _ in open_)
        carried = self._carried(tensor, top, child)
        if carried is not None:
            above = prod(lanes[0] for i, lanes in reusing if i < top)
            return ChargeSite(top, _adds(rates, tensor, "moved", carried / above, ()))
        if tap.edge.child is None and len(open_) == 1:
            index, lanes = open_[0]
            least = self._problem.einsum.access(tensor).least  # what one operation counts for
            whole = self._problem.einsum.operations * least / fixed
            return ChargeSite(index, per_choice=_choices(rates, [whole / n for n in lanes]))
        return ChargeSite(blocking_slots=tuple(i for i, _ in open_), deferral=later)

    def _later(
        self,
        tap: EdgeCharge,
        at: tuple[int, LanesSeenBelow],
        rates: dict[int, float],
        reusing: tuple[Sequence[tuple[int, tuple[int, ...]]], int],
    ) -> DeferredCharge:
        """Return what is moved, counted `at` the child, and what the lanes above make of it."""
        tensor, (child, early), (open_, fixed) = tap.edge.tensor, at, reusing
        access = self._problem.einsum.access(tensor)
        divided = dict[int, tuple[float, ...]](
            early.visit_divisors(access, tuple(self._problem.einsum.bounds))
        )
        divided.update((i, tuple(map(float, lanes))) for i, lanes in open_)
        shares = tuple((i, tuple(1 / n for n in lanes)) for i, lanes in sorted(divided.items()))
        more = fixed * prod(lanes for _, lanes in early.lanes)
        return DeferredCharge(
            child, tap.level, _adds(rates, tensor, "moved", 1 / more, early.lanes), shares
        )

    def _carried(self, tensor: str, top: int, child: int) -> float | None:
        """Return the factor by which the count above slot `top` exceeds that of its tile.

        None if something between `top` and the child iterates in a way the tile does not show.
        """
        access = self._problem.einsum.access(tensor)
        factor = 1.0
        for slot in self._slots[top:child]:
            if isinstance(slot, TemporalLoops):
                if not all(access.is_plain(v) for v in slot.variables):
                    return None
            elif isinstance(slot, SpatialLoops):
                odd = [
                    i
                    for i, v in enumerate(slot.variables)
                    if access.relevance(v) != "irrelevant" and not access.is_plain(v)
                ]
                if any(choice[i] > 1 for choice in slot.choices for i in odd):
                    return None
                lanes = self._lanes(slot, tensor, "irrelevant")
                if max(lanes) > 1 and not self._reuses(slot, tensor):
                    if len(lanes) > 1:
                        return None
                    factor *= lanes[0]
        return factor

    def _first(self, tap: EdgeCharge, rates: dict[int, float]) -> ChargeSite:
        tensor, (child, early) = tap.edge.tensor, self._child(tap)
        access = self._problem.einsum.access(tensor)
        spread: list[tuple[int, int, tuple[int, ...]]] = []
        for i, fan, level in self._fans:
            if level > tap.edge.child_level:
                continue
            reused = not tap.at_child and level > tap.level and self._reuses(fan, tensor)
            irrelevant = self._lanes(fan, tensor, "irrelevant")
            partial = self._lanes(fan, tensor, "partial")
            copies = tuple(
                p * (1 if reused else n) for n, p in zip(irrelevant, partial, strict=True)
            )
            if max(copies) > 1:
                spread.append((i, level, copies))
        open_ = [entry for entry in spread if len(entry[2]) > 1]
        fixed = prod(copies[0] for _, _, copies in spread if len(copies) == 1)
        more = prod(lanes for v, lanes in early.lanes if access.relevance(v) == "relevant")
        adds = _adds(rates, tensor, "first", fixed / more, early.lanes)
        if not open_:
            return ChargeSite(child, adds)
        simple = all(access.is_plain(v) for v in access.rank_variables)
        plain = len(open_) == 1 and simple and not (early.lanes or early.fans)
        if plain and not self._scaled_before(tap, rates, open_[0][0]):
            return self._first_in_choices(tap, rates, open_[0], fixed)
        times = tuple((i, tuple(map(float, copies))) for i, _, copies in open_)
        later = DeferredCharge(child, tap.level, adds, times)
        return ChargeSite(blocking_slots=tuple(i for i, _, _ in open_), deferral=later)

    def _scaled_before(self, tap: EdgeCharge, rates: dict[int, float], index: int) -> bool:
        """Tell whether lanes under slot `index` have already been divided out of the calls."""
        if set(rates) <= {0}:
            return False
        return any(i > index and level <= tap.level for i, _, level in self._fans)

    def _first_in_choices(
        self,
        tap: EdgeCharge,
        rates: dict[int, float],
        entry: tuple[int, int, tuple[int, ...]],
        fixed: float,
    ) -> ChargeSite:
        index, level, copies = entry
        fan = self._slots[index]
        assert isinstance(fan, SpatialLoops)
        size = self._problem.einsum.access(tap.edge.tensor).tile_size(self._problem.einsum.bounds)
        values = [size * fixed * n for n in copies]
        per_lane = [
            value / (prod(choice) if level <= tap.level else 1)
            for value, choice in zip(values, fan.choices, strict=True)
        ]
        energy = _choices({f: r for f, r in rates.items() if f == 0}, values)
        calls = _choices({f: r for f, r in rates.items() if f != 0}, per_lane)
        return ChargeSite(index, per_choice=energy + calls)


def _adds(
    rates: dict[int, float], tensor: str, kind: str, factor: float, lanes: Lanes
) -> tuple[CostTerm, ...]:
    return tuple(
        CostTerm(field, tensor, kind, rate * factor, lanes) for field, rate in rates.items()
    )


def _choices(
    rates: dict[int, float], values: Sequence[float]
) -> tuple[tuple[int, tuple[float, ...]], ...]:
    return tuple((field, tuple(rate * v for v in values)) for field, rate in rates.items())
