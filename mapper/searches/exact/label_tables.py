"""Apply the operations of a program to tables of labels, and undo them for the bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, prod
from typing import Any

import numpy as np

from tilewright.mapper.mapspace.lattice import Lattice, LatticeAxis
from tilewright.mapper.searches.exact import kernels
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.exact.latency_bound import (
    UNTIMED,
    RemainingLatency,
    least_latencies,
)
from tilewright.mapper.searches.program.charge_sites import CostTerm
from tilewright.mapper.searches.program.program import (
    ChargeStep,
    LoopStep,
    PaymentStep,
    ProgramStep,
    ReserveStep,
    SingleLoopStep,
    SpatialStep,
)
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.spatial_choices import SpatialLoops


@dataclass(frozen=True, slots=True)
class LabelTable:
    """Labels per state (see kernels.py); `origin[i]` = (label of the table before, choice)."""

    start: Ints
    label: Floats
    origin: Ints


@dataclass(frozen=True, slots=True)
class RemainingCost:
    """What is above, per state: least energy to come (inf: no way up) and most lanes; `slow`: how
    much time is still to come, if it counts."""

    energy: Floats
    lanes: Floats
    latency: RemainingLatency = UNTIMED

    def pruning_arrays(self, bound: Floats) -> kernels.PruningArrays:
        """Return what the kernels prune with."""
        return self.energy, self.lanes, bound, self.latency.seconds, self.latency.terms


@dataclass(frozen=True, slots=True)
class ChargeArrays:
    """Costs as arrays: see kernels.charge. `bars`: they rule out states."""

    fields: Ints
    amounts: Floats
    capacity: Floats
    excludes_states: bool = False


@dataclass(frozen=True, slots=True)
class SpatialArrays:
    """A dimension as arrays: see kernels.deal. `lanes`: of each choice."""

    below: Ints
    linear: Floats
    charges: Floats
    lanes: Floats

    def energy(self, width: int) -> Floats:
        """Return the joules of each choice by the state below; labels have `width` fields."""
        choices, states = self.below.shape
        added = np.repeat(self.linear[:, width : width + 1], states, axis=1)
        rows = len(self.charges) // choices  # of each choice, that of the energy first
        return added + self.charges[::rows, 1:] if rows else added


class LabelEngine:
    """Operations on the lattice of one problem; the arrays of each operation are made once."""

    def __init__(self, problem: Problem, fields: LabelFields) -> None:
        self.problem = problem
        self.fields = fields
        self.lattice = Lattice(problem.einsum.bounds)
        self._arrays: dict[ProgramStep, ChargeArrays] = {}
        self._dealings: dict[SpatialStep, SpatialArrays] = {}
        self._counts: dict[tuple[str, str, tuple[tuple[str, int], ...]], Floats] = {}
        self._axes: dict[tuple[str, ...], list[LatticeAxis]] = {}

    def initial(self) -> LabelTable:
        """Return the table of one label at the unit tile: nothing paid yet."""
        start = np.ones(self.lattice.size + 1, np.int64)
        start[0] = 0
        label = np.zeros((1, self.fields.width))
        label[0, self.fields.lanes] = -1.0
        for field in self.fields.gates.values():
            label[0, field] = 1.0
        label[0, 0] = compute_energy(self.problem)
        return LabelTable(start, label, np.zeros((1, 2), np.int64))

    def remaining_at_top(self) -> RemainingCost:
        """Return the outlook at the top: only the whole iteration space has arrived."""
        rest = np.full(self.lattice.size, inf)
        rest[-1] = 0.0
        gain = np.zeros(self.lattice.size)
        gain[-1] = 1.0
        return RemainingCost(rest, gain)

    def apply(
        self,
        operation: ProgramStep,
        table: LabelTable,
        nd: int,
        views: tuple[RemainingCost, RemainingCost, Floats],
    ) -> LabelTable:
        """Apply one operation. `views`: outlook before and after it, and the bound."""
        before, after, bound = views
        if isinstance(operation, LoopStep):
            return self._close(
                self._axes_of(operation.variables), table, nd, before.pruning_arrays(bound)
            )
        if isinstance(operation, SingleLoopStep):
            return self._slide(operation, table, nd, before.pruning_arrays(bound))
        if isinstance(operation, PaymentStep):
            return _settled(operation, table, nd)
        labels, view = (table.start, table.label), after.pruning_arrays(bound)
        if isinstance(operation, SpatialStep):
            dealing = self._dealing(operation)
            choices = (dealing.below, dealing.linear, dealing.charges)
            return LabelTable(*kernels.distribute(labels, nd, choices, view))
        arrays = self._array(operation)
        return LabelTable(
            *kernels.charge(labels, nd, (arrays.fields, arrays.amounts, arrays.capacity), view)
        )

    def remaining_before(self, operation: ProgramStep, after: RemainingCost) -> RemainingCost:
        """Return the outlook before an operation from the one after it."""
        if isinstance(operation, LoopStep):
            return self._above(self._axes_of(operation.variables), after)
        if isinstance(operation, SingleLoopStep):
            return least_remaining(
                [after, *(self._above(self._axes_of((v,)), after) for v in operation.variables)]
            )
        if isinstance(
            operation, PaymentStep
        ):  # what is owed is not known here: the least it may be
            refunds = [
                (add.field, add.factor * float(self.count(add.tensor, add.kind, add.lanes).max()))
                for add in operation.refunds
            ]
            rest = after.energy + sum(refund for field, refund in refunds if field == 0)
            return replace(after, energy=rest, latency=after.latency.before_refunds(refunds))
        if isinstance(operation, SpatialStep):
            dealing = self._dealing(operation)
            made = (dealing.below, dealing.energy(self.fields.width), dealing.lanes)
            slow = after.latency.before_spatial(dealing.below, dealing.linear, dealing.charges)
            return RemainingCost(*kernels.undo_distribute(after.energy, after.lanes, *made), slow)
        arrays = self._array(operation)
        rest = after.energy + arrays.amounts[0]
        slow = after.latency.before_charge(arrays.fields, arrays.amounts)
        if not arrays.excludes_states:
            return RemainingCost(rest, after.lanes, slow)
        return RemainingCost(rest, np.where(rest < inf, after.lanes, 0.0), slow)

    def _close(
        self, axes: list[LatticeAxis], table: LabelTable, nd: int, view: kernels.PruningArrays
    ) -> LabelTable:
        start, label = table.start, table.label
        origin: Any = None
        for axis in axes:
            line = (axis.stride, axis.radix)
            start, label, step = kernels.closure((start, label), nd, line, view)
            origin = step if origin is None else _composed(origin, step)
        if origin is None:
            origin = np.zeros((label.shape[0], 2), np.int64)
            origin[:, 0] = np.arange(label.shape[0])
        return LabelTable(start, label, origin)

    def _slide(
        self, operation: SingleLoopStep, table: LabelTable, nd: int, view: kernels.PruningArrays
    ) -> LabelTable:
        result = self._close([], table, nd, view)
        for variable in operation.variables:
            other = self._close(self._axes_of((variable,)), table, nd, view)
            result = LabelTable(
                *kernels.union(
                    (result.start, result.label, result.origin),
                    (other.start, other.label, other.origin),
                    nd,
                )
            )
        return result

    def _above(self, axes: list[LatticeAxis], after: RemainingCost) -> RemainingCost:
        rest, gain = after.energy.copy(), after.lanes.copy()
        for axis in axes:
            kernels.least_above(rest, axis.stride, axis.radix, 1.0)
            kernels.least_above(gain, axis.stride, axis.radix, -1.0)
        return RemainingCost(rest, gain, after.latency.before_loops(axes))

    def _axes_of(self, variables: tuple[str, ...]) -> list[LatticeAxis]:
        if variables not in self._axes:
            self._axes[variables] = self.lattice.axes_of(variables)
        return self._axes[variables]

    def _array(self, operation: ProgramStep) -> ChargeArrays:
        if operation not in self._arrays:
            if isinstance(operation, ReserveStep):
                made = self._occupy_arrays(operation)
            else:
                assert isinstance(operation, ChargeStep)
                made = self._charge_arrays(operation)
            self._arrays[operation] = made
        return self._arrays[operation]

    def _dealing(self, operation: SpatialStep) -> SpatialArrays:
        if operation not in self._dealings:
            self._dealings[operation] = self._dealt(operation)
        return self._dealings[operation]

    def count(self, tensor: str, kind: str, lanes: tuple[tuple[str, int], ...] = ()) -> Floats:
        """Return the `moved` or `first` count of an edge per tile at its child (edge_traffic.py).

        `lanes`: of a tile that is larger by these, with the iterations above the smaller one;
        `tile`: without the iterations; `once`: one, whatever the tile.
        """
        key = (tensor, kind, lanes)
        if key not in self._counts:
            self._counts[key] = self._counted(*key)
        return self._counts[key]

    def _counted(self, tensor: str, kind: str, lanes: tuple[tuple[str, int], ...]) -> Floats:
        if kind == "once":
            return np.ones(self.lattice.size)
        access = self.problem.einsum.access(tensor)
        values = self.lattice.occupancy(access, dict(lanes))
        if kind == "tile":
            return values
        relevances = ("relevant",) if kind == "first" else ("relevant", "partial", "irrelevant")
        return values * self.lattice.visits(access, relevances)

    def _charge_arrays(self, operation: ChargeStep) -> ChargeArrays:
        numbers, plus = self._summed([operation.terms])
        if operation.required:
            plus[0, ~self.lattice.admitted(operation.required)] = inf
        return _charge(numbers, plus, (-1.0, inf, 0.0))

    def _summed(self, several: Sequence[Sequence[CostTerm]]) -> tuple[list[int], Floats]:
        """Return the fields that costs are charged to, energy first, and what each of them gets:
        one row per field, all of the first costs before those of the second."""
        numbers = sorted({0, *(add.field for adds in several for add in adds)})
        plus = np.zeros((len(several) * len(numbers), self.lattice.size))
        for place, adds in enumerate(several):
            for add in adds:
                row = place * len(numbers) + numbers.index(add.field)
                plus[row] += add.factor * self.count(add.tensor, add.kind, add.lanes)
        return numbers, plus

    def _occupy_arrays(self, operation: ReserveStep) -> ChargeArrays:
        slot = operation.reservation
        size = self.problem.capacity_bits(slot)
        access = self.problem.einsum.access(slot.tensor)
        bits = self.lattice.occupancy(access, dict(slot.lanes)) * self.problem.value_bits(slot)
        fits = np.where(bits > size, inf, 0.0)
        if not operation.is_shared:
            return _charge([0], fits[np.newaxis], (-1.0, inf, 0.0))
        field = self.fields.used_bits[slot.component]
        room = (float(field), float(size), float(operation.is_last))
        return _charge([0, field], np.stack([fits, bits]), room)

    def _dealt(self, operation: SpatialStep) -> SpatialArrays:
        fan = operation.loops
        lanes = np.array([float(prod(choice)) for choice in fan.choices])
        times = field_factors(self.problem, self.fields, fan)
        plus = np.zeros(times.shape)
        for field, values in operation.added:
            plus[:, field] += values
        for field, values in operation.factors:
            times[:, field] = values
        reach = np.stack([self.lattice.reach(fan.variables, choice) for choice in fan.choices])
        fares = np.zeros((0, 1))
        if operation.charges:
            numbers, charged = self._summed(operation.charges)
            column = np.tile(np.array(numbers, np.float64), len(operation.charges))
            fares = np.column_stack([column, charged])
        return SpatialArrays(reach, np.hstack([times, plus]), fares, lanes)


def field_factors(problem: Problem, fields: LabelFields, fan: SpatialLoops) -> Floats:
    """Return what each choice of a dimension multiplies each field by, shape (choices, fields)."""
    lanes = np.array([float(prod(choice)) for choice in fan.choices])
    times = np.ones((len(lanes), fields.width))
    times[:, fields.lanes] = lanes
    depth = problem.level(fan.component)
    for (component, dim, places), gate in fields.gates.items():
        if (component, dim) == (fan.component, fan.name):
            dims = problem.components[depth].spatial
            fanout = next(one.fanout for one in dims if one.name == dim)
            times[:, gate] = np.ceil(lanes * places / fanout) if places else lanes
    for (level, _), field in fields.calls.items():
        if level >= depth:
            times[:, field] = 1.0 / lanes
    for (level, _), field in fields.links.items():
        if level > depth and problem.conventions.links_carry_all_rounds:
            times[:, field] = 1.0 / lanes
    return times


def _settled(operation: PaymentStep, table: LabelTable, nd: int) -> LabelTable:
    """Pay what labels owe and keep those of each state that no other one dominates."""
    label = table.label.copy()
    for field, target in operation.moves:
        label[:, target] += label[:, field]
        label[:, field] = 0.0
    fits = np.ones(len(label), np.bool_)
    for field, capacity, ends in operation.limits:
        fits &= label[:, field] <= capacity
        if ends:
            label[:, field] = 0.0
    states = np.repeat(np.arange(len(table.start) - 1), np.diff(table.start))
    order = np.lexsort((*label.T[nd - 1 :: -1], states))
    order = order[fits[order]]
    order = order[kernels.first_of_groups(states[order], np.ascontiguousarray(label[order, :nd]))]
    origin = np.zeros((len(order), 2), np.int64)
    origin[:, 0] = order
    start = np.searchsorted(states[order], np.arange(len(table.start))).astype(np.int64)
    return LabelTable(start, label[order], origin)


def compute_energy(problem: Problem) -> float:
    """Return the joules of all operations of the Einsum."""
    compute = problem.components[-1]
    if problem.einsum.is_copy:
        return 0.0
    energy = sum(a.energy for a in compute.actions if a.name == "compute")
    return float(energy * problem.einsum.operations * compute.actions_scale)


def _charge(numbers: list[int], plus: Floats, room: tuple[float, float, float]) -> ChargeArrays:
    bars = bool(plus[0].max() == inf)
    return ChargeArrays(np.array(numbers, np.int64), plus, np.array(room), bars)


def _composed(first: Ints, second: Ints) -> Ints:
    origin = first[second[:, 0]]
    origin[:, 1] = 0
    return origin


def least_remaining(views: list[RemainingCost]) -> RemainingCost:
    """Return the best of several outlooks, state by state."""
    if len(views) == 1:
        return views[0]
    rest = np.minimum.reduce([view.energy for view in views])
    gain = np.maximum.reduce([view.lanes for view in views])
    return RemainingCost(rest, gain, least_latencies([view.latency for view in views]))
