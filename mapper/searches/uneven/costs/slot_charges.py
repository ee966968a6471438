"""The charges at each slot of a template when tiles may be uneven.

The edge charges are those of edge_traffic.py. Their counts are read off the states of the variables
(tile_chains.py): visits of an irrelevant variable, extents of a relevant one, and sums over the
sizes that meet where an affine form joins several (imperfect.md §2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.program.edge_traffic import (
    EdgeCharge,
    charge_rate,
    edge_charges,
    moved_kinds,
)
from tilewright.mapper.searches.uneven.costs.tile_chains import CountKind
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem, UsedDimension
from tilewright.mapper.templates.slots import Fill, Slot, TemporalLoops


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A count of the values of a tensor that move between two holders.

    `kinds`: for each rank variable which of its tiles count: all, or only the largest or first.
    `inside`: zeros of padded ranks do not count; all tiles of their variables do then.
    """

    tensor: str
    kinds: tuple[CountKind, ...]
    inside: bool


@dataclass(frozen=True, slots=True)
class SlotCharge:
    """A cost per value that moves, charged above a slot.

    `count`: which values; `rates`: pairs (column of a label, joules or calls per value). A label
    is a partial mapping's tuple of costs. A slot is a place of a template (a mapping without
    loops) for loops, a fill or a reserved tile.
    """

    count: ValueCount
    rates: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class ChargeBound:
    """A lower bound of the joules of a charge, above slot `slot`.

    It is rate x max(moved / lanes - first_fills, 0). `tensor`: whose values move; `rate`: joules
    per value; `lanes`: that may share a value; `first_fills`: values at most whose first read is
    elided. A lane is one instance along a dimension of a fanout.
    """

    slot: int
    tensor: str
    rate: float
    lanes: float
    first_fills: float


class ChargeCompiler:
    """Finds the costs of one template with uneven tiles, slot by slot.

    `fields`: columns of the labels (cost tuples of partial mappings); `slots`: of the template. A
    template is a mapping without its loops; a slot is a place of a template for loops, a fill or a
    reserved tile.
    """

    def __init__(
        self, problem: Problem, fields: LabelFields, template: Template, slots: Sequence[Slot]
    ) -> None:
        self._problem = problem
        self._fields = fields
        self._slots = slots
        self._edge_charges = list(edge_charges(problem, template))
        self._fills = [i for i, slot in enumerate(slots) if isinstance(slot, Fill)]
        self._dims = problem.used_dimensions(slots)
        self._reused = {s.slot: problem.dimension(s.loops).may_reuse for s in self._dims}

    def step_kinds(self) -> tuple[CountKind, ...]:
        """Return per rank variable which tiles make up the steps of the busiest Compute.

        Their extents multiply to the number of steps in time.
        """
        return tuple(self._kind(v, False, self._dims) for v in self._problem.einsum.bounds)

    def charges(self) -> dict[int, tuple[SlotCharge, ...]]:
        """Return the costs of values that move, by the number of the slot above which they arise.

        Slots count from 0 at the outermost; the number of slots stands for the Compute.
        """
        by_slot: dict[int, dict[ValueCount, list[tuple[int, float]]]] = {}
        for charge in self._edge_charges:
            rates = by_slot.setdefault(self._child(charge), {})
            rate = charge_rate(self._problem, charge)
            if rate is None:
                continue
            number, energy = rate
            if energy:
                rates.setdefault(self._count(charge, unit=False), []).append((0, number * energy))
            field = self._fields.calls.get((charge.level, charge.action))
            if field is not None:
                number *= self._fields.seconds.get((charge.level, charge.action), 1.0)
                rates.setdefault(self._count(charge, unit=True), []).append((field, number))
        return {
            slot: tuple(SlotCharge(count, tuple(adds)) for count, adds in counts.items())
            for slot, counts in by_slot.items()
        }

    def _child(self, charge: EdgeCharge) -> int:
        return len(self._slots) if charge.edge.child is None else self._fills[charge.edge.child]

    def _reusing(self, charge: EdgeCharge) -> list[UsedDimension]:
        """Return the dimensions between payer and child whose lanes may share a value."""
        if charge.at_child:
            return []
        child, tensor = self._child(charge), charge.edge.tensor
        between = [s for s in self._dims if s.slot < child and s.level > charge.level]
        return [s for s in between if tensor in self._reused[s.slot]]

    def _count(self, charge: EdgeCharge, *, unit: bool) -> ValueCount:
        access = self._problem.einsum.access(charge.edge.tensor)
        shared = self._reusing(charge)
        outer = [s for s in self._dims if unit and s.level <= charge.level]
        kinds = []
        for v in self._problem.einsum.bounds:
            relevance = access.relevance(v)
            counts_first_turn = charge.kind == "first" and relevance != "relevant"
            kinds.append(
                self._kind(
                    v, counts_first_turn, outer + shared if relevance == "irrelevant" else outer
                )
            )
        moved = moved_kinds(self._problem, charge)[unit]
        return ValueCount(
            charge.edge.tensor, tuple(kinds), bool(access.clipped) and moved != "whole"
        )

    def _kind(self, variable: str, first: bool, busiest: Sequence[UsedDimension]) -> CountKind:
        lanes = {s.loops.dim for s in busiest if max(s.loops.lanes_of(variable)) > 1}
        return CountKind(first, tuple(sorted(lanes)))

    def charge_bounds(self) -> Iterator[ChargeBound]:
        """Yield lower bounds of the energy of the charges that cost something.

        They depend only on the tile at a slot, so that they can be added up before a search. A
        slot is a place of a template (a mapping without loops) for loops, a fill or a reserved
        tile.
        """
        first = {_place(charge): charge for charge in self._edge_charges if charge.kind == "first"}
        for charge in self._edge_charges:
            rate = charge_rate(self._problem, charge)
            if charge.kind == "first" or rate is None or rate.calls * rate.joules <= 0:
                continue
            slot, lanes = self._entry(charge)
            elided = first.get(_place(charge))
            first_fills = 0.0 if elided is None else self._most_first(elided)
            if first_fills < float("inf"):
                joules = rate.calls * rate.joules
                yield ChargeBound(slot, charge.edge.tensor, joules, lanes, first_fills)

    def _entry(self, charge: EdgeCharge) -> tuple[int, float]:
        """Return (slot, divisor): at least the values above `slot`, divided, are charged.

        The slot above the outermost lanes that share values: each tile there is visited once at
        least. If loops below would repeat visits, the child's slot, divided by the sharing lanes.
        """
        irrelevant = self._irrelevant(charge)
        sharing = [s for s in self._reusing(charge) if max(s.loops.lanes_over(irrelevant)) > 1]
        child = self._child(charge)
        if not sharing:
            return child, 1.0
        top = min(s.slot for s in sharing)
        slots_between = self._slots[top:child]
        if any(
            isinstance(s, TemporalLoops) and set(s.variables) & set(irrelevant)
            for s in slots_between
        ):
            return child, float(prod(max(s.loops.lanes_over(irrelevant)) for s in sharing))
        return top, 1.0

    def _most_first(self, charge: EdgeCharge) -> float:
        """Return an upper bound of first fills: all values, in every lane that does not share."""
        access = self._problem.einsum.access(charge.edge.tensor)
        bounds = self._problem.einsum.bounds
        if any(access.relevance(v) == "partial" for v in bounds):
            return float("inf")
        irrelevant, shared = self._irrelevant(charge), self._reusing(charge)
        unshared = (s for s in self._dims if s.slot < self._child(charge) and s not in shared)
        lanes = prod(max(s.loops.lanes_over(irrelevant)) for s in unshared)
        return float(lanes * access.tile_size(bounds))

    def _irrelevant(self, charge: EdgeCharge) -> tuple[str, ...]:
        return self._problem.shared_variables(frozenset((charge.edge.tensor,)), "irrelevant")


def _place(charge: EdgeCharge) -> tuple[object, ...]:
    return charge.edge, charge.level, charge.action, charge.at_child
