"""Apply the operations of a program to tables of labels, and undo them for the bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, prod
from typing import Any

import numpy as np

from tilewright.mapper.mapspace.lattice import Axis, Lattice
from tilewright.mapper.searches.exact import kernels
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.exact.label_fields import Fields
from tilewright.mapper.searches.exact.latency_bound import UNTIMED, Slow, least
from tilewright.mapper.searches.program.charge_sites import Add
from tilewright.mapper.searches.program.program import (
    Charge,
    Close,
    Deal,
    Occupy,
    Operation,
    Settle,
    Slide,
)
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.spatial_choices import SpatialLoops


@dataclass(frozen=True, slots=True)
class Table:
    """Labels per state (see kernels.py); `origin[i]` = (label of the table before, choice)."""

    start: Ints
    label: Floats
    origin: Ints


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is above, per state: least energy to come (inf: no way up) and most lanes; `slow`: how
    much time is still to come, if it counts."""

    rest: Floats
    gain: Floats
    slow: Slow = UNTIMED

    def view(self, bound: Floats) -> kernels.View:
        """Return what the kernels prune with."""
        return self.rest, self.gain, bound, self.slow.seconds, self.slow.paces


@dataclass(frozen=True, slots=True)
class Arrays:
    """Costs as arrays: see kernels.charge. `bars`: they rule out states."""

    fields: Ints
    plus: Floats
    room: Floats
    bars: bool = False


@dataclass(frozen=True, slots=True)
class Dealing:
    """A dimension as arrays: see kernels.deal. `lanes`: of each choice."""

    reach: Ints
    linear: Floats
    fares: Floats
    lanes: Floats

    def energy(self, width: int) -> Floats:
        """Return the joules of each choice by the state below; labels have `width` fields."""
        choices, states = self.reach.shape
        added = np.repeat(self.linear[:, width : width + 1], states, axis=1)
        rows = len(self.fares) // choices  # of each choice, that of the energy first
        return added + self.fares[::rows, 1:] if rows else added


class Engine:
    """Operations on the lattice of one problem; the arrays of each operation are made once."""

    def __init__(self, problem: Problem, fields: Fields) -> None:
        self.problem = problem
        self.fields = fields
        self.lattice = Lattice(problem.einsum.bounds)
        self._arrays: dict[Operation, Arrays] = {}
        self._dealings: dict[Deal, Dealing] = {}
        self._counts: dict[tuple[str, str, tuple[tuple[str, int], ...]], Floats] = {}
        self._axes: dict[tuple[str, ...], list[Axis]] = {}

    def initial(self) -> Table:
        """Return the table of one label at the unit tile: nothing paid yet."""
        start = np.ones(self.lattice.size + 1, np.int64)
        start[0] = 0
        label = np.zeros((1, self.fields.width))
        label[0, self.fields.lanes] = -1.0
        for field in self.fields.gates.values():
            label[0, field] = 1.0
        label[0, 0] = compute_energy(self.problem)
        return Table(start, label, np.zeros((1, 2), np.int64))

    def final(self) -> Outlook:
        """Return the outlook at the top: only the whole iteration space has arrived."""
        rest = np.full(self.lattice.size, inf)
        rest[-1] = 0.0
        gain = np.zeros(self.lattice.size)
        gain[-1] = 1.0
        return Outlook(rest, gain)

    def apply(
        self, operation: Operation, table: Table, nd: int, views: tuple[Outlook, Outlook, Floats]
    ) -> Table:
        """Apply one operation. `views`: outlook before and after it, and the bound."""
        before, after, bound = views
        if isinstance(operation, Close):
            return self._close(self._axes_of(operation.variables), table, nd, before.view(bound))
        if isinstance(operation, Slide):
            return self._slide(operation, table, nd, before.view(bound))
        if isinstance(operation, Settle):
            return _settled(operation, table, nd)
        labels, view = (table.start, table.label), after.view(bound)
        if isinstance(operation, Deal):
            dealing = self._dealing(operation)
            choices = (dealing.reach, dealing.linear, dealing.fares)
            return Table(*kernels.deal(labels, nd, choices, view))
        arrays = self._array(operation)
        return Table(*kernels.charge(labels, nd, (arrays.fields, arrays.plus, arrays.room), view))

    def undo(self, operation: Operation, after: Outlook) -> Outlook:
        """Return the outlook before an operation from the one after it."""
        if isinstance(operation, Close):
            return self._above(self._axes_of(operation.variables), after)
        if isinstance(operation, Slide):
            return merged(
                [after, *(self._above(self._axes_of((v,)), after) for v in operation.variables)]
            )
        if isinstance(operation, Settle):  # what is owed is not known here: the least it may be
            refunds = [
                (add.field, add.factor * float(self.count(add.tensor, add.kind, add.lanes).max()))
                for add in operation.refunds
            ]
            rest = after.rest + sum(refund for field, refund in refunds if field == 0)
            return replace(after, rest=rest, slow=after.slow.refunded(refunds))
        if isinstance(operation, Deal):
            dealing = self._dealing(operation)
            made = (dealing.reach, dealing.energy(self.fields.width), dealing.lanes)
            slow = after.slow.undealt(dealing.reach, dealing.linear, dealing.fares)
            return Outlook(*kernels.deal_above(after.rest, after.gain, *made), slow)
        arrays = self._array(operation)
        rest = after.rest + arrays.plus[0]
        slow = after.slow.uncharged(arrays.fields, arrays.plus)
        if not arrays.bars:
            return Outlook(rest, after.gain, slow)
        return Outlook(rest, np.where(rest < inf, after.gain, 0.0), slow)

    def _close(self, axes: list[Axis], table: Table, nd: int, view: kernels.View) -> Table:
        start, label = table.start, table.label
        origin: Any = None
        for axis in axes:
            line = (axis.stride, axis.radix)
            start, label, step = kernels.closure((start, label), nd, line, view)
            origin = step if origin is None else _composed(origin, step)
        if origin is None:
            origin = np.zeros((label.shape[0], 2), np.int64)
            origin[:, 0] = np.arange(label.shape[0])
        return Table(start, label, origin)

    def _slide(self, operation: Slide, table: Table, nd: int, view: kernels.View) -> Table:
        result = self._close([], table, nd, view)
        for variable in operation.variables:
            other = self._close(self._axes_of((variable,)), table, nd, view)
            result = Table(
                *kernels.union(
                    (result.start, result.label, result.origin),
                    (other.start, other.label, other.origin),
                    nd,
                )
            )
        return result

    def _above(self, axes: list[Axis], after: Outlook) -> Outlook:
        rest, gain = after.rest.copy(), after.gain.copy()
        for axis in axes:
            kernels.least_above(rest, axis.stride, axis.radix, 1.0)
            kernels.least_above(gain, axis.stride, axis.radix, -1.0)
        return Outlook(rest, gain, after.slow.above(axes))

    def _axes_of(self, variables: tuple[str, ...]) -> list[Axis]:
        if variables not in self._axes:
            self._axes[variables] = self.lattice.axes_of(variables)
        return self._axes[variables]

    def _array(self, operation: Operation) -> Arrays:
        if operation not in self._arrays:
            if isinstance(operation, Occupy):
                made = self._occupy_arrays(operation)
            else:
                assert isinstance(operation, Charge)
                made = self._charge_arrays(operation)
            self._arrays[operation] = made
        return self._arrays[operation]

    def _dealing(self, operation: Deal) -> Dealing:
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

    def _charge_arrays(self, operation: Charge) -> Arrays:
        numbers, plus = self._summed([operation.adds])
        if operation.pinned:
            plus[0, ~self.lattice.admitted(operation.pinned)] = inf
        return _charge(numbers, plus, (-1.0, inf, 0.0))

    def _summed(self, several: Sequence[Sequence[Add]]) -> tuple[list[int], Floats]:
        """Return the fields that costs are charged to, energy first, and what each of them gets:
        one row per field, all of the first costs before those of the second."""
        numbers = sorted({0, *(add.field for adds in several for add in adds)})
        plus = np.zeros((len(several) * len(numbers), self.lattice.size))
        for place, adds in enumerate(several):
            for add in adds:
                row = place * len(numbers) + numbers.index(add.field)
                plus[row] += add.factor * self.count(add.tensor, add.kind, add.lanes)
        return numbers, plus

    def _occupy_arrays(self, operation: Occupy) -> Arrays:
        slot = operation.reserve
        size = self.problem.capacity_bits(slot)
        access = self.problem.einsum.access(slot.tensor)
        bits = self.lattice.occupancy(access, dict(slot.lanes)) * self.problem.value_bits(slot)
        fits = np.where(bits > size, inf, 0.0)
        if not operation.shared:
            return _charge([0], fits[np.newaxis], (-1.0, inf, 0.0))
        field = self.fields.room[slot.component]
        room = (float(field), float(size), float(operation.last))
        return _charge([0, field], np.stack([fits, bits]), room)

    def _dealt(self, operation: Deal) -> Dealing:
        fan = operation.fan
        lanes = np.array([float(prod(choice)) for choice in fan.choices])
        times = scales(self.problem, self.fields, fan)
        plus = np.zeros(times.shape)
        for field, values in operation.plus:
            plus[:, field] += values
        for field, values in operation.times:
            times[:, field] = values
        reach = np.stack([self.lattice.reach(fan.variables, choice) for choice in fan.choices])
        fares = np.zeros((0, 1))
        if operation.fares:
            numbers, charged = self._summed(operation.fares)
            column = np.tile(np.array(numbers, np.float64), len(operation.fares))
            fares = np.column_stack([column, charged])
        return Dealing(reach, np.hstack([times, plus]), fares, lanes)


def scales(problem: Problem, fields: Fields, fan: SpatialLoops) -> Floats:
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


def _settled(operation: Settle, table: Table, nd: int) -> Table:
    """Pay what labels owe and keep those of each state that no other one dominates."""
    label = table.label.copy()
    for field, target in operation.moves:
        label[:, target] += label[:, field]
        label[:, field] = 0.0
    fits = np.ones(len(label), np.bool_)
    for field, capacity, ends in operation.rooms:
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
    return Table(start, label[order], origin)


def compute_energy(problem: Problem) -> float:
    """Return the joules of all operations of the Einsum."""
    compute = problem.components[-1]
    if problem.einsum.is_copy:
        return 0.0
    energy = sum(a.energy for a in compute.actions if a.name == "compute")
    return float(energy * problem.einsum.operations * compute.actions_scale)


def _charge(numbers: list[int], plus: Floats, room: tuple[float, float, float]) -> Arrays:
    bars = bool(plus[0].max() == inf)
    return Arrays(np.array(numbers, np.int64), plus, np.array(room), bars)


def _composed(first: Ints, second: Ints) -> Ints:
    origin = first[second[:, 0]]
    origin[:, 1] = 0
    return origin


def merged(views: list[Outlook]) -> Outlook:
    """Return the best of several outlooks, state by state."""
    if len(views) == 1:
        return views[0]
    rest = np.minimum.reduce([view.rest for view in views])
    gain = np.maximum.reduce([view.gain for view in views])
    return Outlook(rest, gain, least([view.slow for view in views]))
