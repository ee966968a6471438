"""Apply the steps of a program to tables of labels, and bound the remaining cost below them.

Upwards, a step turns the labels below it into those above it, by the kernels. Downwards, the same
step turns the remaining cost above it into that below it: the least energy, the most lanes and the
least seconds that any mapping still adds to a label, state by state (lattice.md §6.1). Labels that
cannot meet the limits with the least remaining cost are pruned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from math import inf, prod
from typing import Generic, NamedTuple, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.mapspace.lattice import Lattice, LatticeAxis
from tilewright.mapper.searches.budget import WorkLeft
from tilewright.mapper.searches.exact import kernels
from tilewright.mapper.searches.exact.kernels import (
    ChargeArrays,
    ChoiceArrays,
    Floats,
    Ints,
    LabelTable,
    PruningArrays,
)
from tilewright.mapper.searches.exact.label_fields import (
    ONE_DESIGN,
    DesignFamily,
    LabelFields,
    field_factors,
)
from tilewright.mapper.searches.exact.remaining.carried_energy import CarriedEnergy, FactorRange
from tilewright.mapper.searches.exact.remaining.remaining_cost import (
    RemainingCost,
    StepBounds,
    least_remaining,
)
from tilewright.mapper.searches.exact.remaining.remaining_latency import (
    FieldAmount,
    RemainingLatency,
    least_latencies,
)
from tilewright.mapper.searches.program.charge_sites import CostTerm
from tilewright.mapper.searches.program.program_steps import (
    ChargeStep,
    PaymentStep,
    ProgramStep,
    ReserveStep,
    SpatialStep,
)
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import TemporalLoops
from tilewright.mapper.templates.spatial_choices import Lanes, SpatialLoops

V = TypeVar("V")

_NO_CAPACITY = (-1.0, inf, 0.0)  # as in ChargeArrays


class _Charge(NamedTuple):
    """A step's costs as arrays; `excludes_states`: the cost of some state is inf."""

    arrays: ChargeArrays
    excludes_states: bool

    @property
    def energy(self) -> Floats:
        """Joules of each state."""
        joules: Floats = self.arrays.amounts[0]
        return joules


class _ByIdentity(Generic[V]):
    """Values that are made once for some objects, found by their ids: to hash a step takes long.

    The objects are kept with the values, so that their ids stay unique.
    """

    def __init__(self) -> None:
        self._values: dict[tuple[int, ...], tuple[tuple[object, ...], V]] = {}

    def of(self, make: Callable[[], V], *objects: object) -> V:
        """Return the value of some objects, as `make` returns it the first time."""
        key = tuple(map(id, objects))
        if key not in self._values:
            self._values[key] = (objects, make())
        return self._values[key][1]

    def clear(self) -> None:
        self._values.clear()


class LabelEngine:
    """Carries out the steps of a dynamic program over all tiles of one Einsum.

    A step (loops, lanes of a dimension, a charge, a reservation) turns the table of labels (cost
    tuples of partial mappings) below it into that above it. `fields`: which column of a label holds
    which cost; `family`: how many lanes may be in use. Arrays of each step are made once. A lane is
    one instance along a dimension of a fanout.
    """

    def __init__(
        self, problem: Problem, fields: LabelFields, family: DesignFamily = ONE_DESIGN
    ) -> None:
        self._most_lanes = {(c, name): lanes for c, name, lanes in family.most_lanes}
        self.problem = problem
        self.fields = fields
        self.lattice = Lattice(problem.einsum.bounds)
        self._charges: _ByIdentity[_Charge] = _ByIdentity()
        self._joined_charges: _ByIdentity[ChargeArrays] = _ByIdentity()
        self._choices: _ByIdentity[ChoiceArrays] = _ByIdentity()
        self._all_choices: _ByIdentity[ChoiceArrays] = _ByIdentity()  # with too many lanes, too
        self._counts: dict[tuple[str, str, Lanes], Floats] = {}
        self._axes: dict[tuple[str, ...], list[LatticeAxis]] = {}
        self._axis_rows: dict[tuple[str, ...], Ints] = {}  # stride, number of values
        self._lane_bounds: dict[int, Floats] = {}  # by checksum
        self._lanes_before_step: _ByIdentity[Floats] = _ByIdentity()
        self._below: dict[tuple[tuple[str, ...], tuple[tuple[int, ...], ...]], Ints] = {}
        self._sources: dict[tuple[object, ...], Ints] = {}

    def with_lanes(self, family: DesignFamily) -> LabelEngine:
        """Return the same engine for other fanouts; it shares what does not depend on them.

        `family`: how many lanes may be in use. A lane is one instance along a dimension of a
        fanout.
        """
        engine = copy(self)
        engine._most_lanes = {(c, name): lanes for c, name, lanes in family.most_lanes}
        engine._choices, engine._lanes_before_step = _ByIdentity(), _ByIdentity()
        return engine

    def forget_steps(self) -> None:
        """Drop the arrays of all steps, to free their memory; they are made again when needed."""
        self._charges.clear()
        self._joined_charges.clear()
        self._choices.clear()
        self._all_choices.clear()
        self._sources.clear()
        self._lanes_before_step.clear()

    def initial(self) -> LabelTable:
        """Return the table to start from: one label, at the tile with one value per rank variable.

        It has paid the energy of the Compute, and uses one lane. A label is the tuple of costs of a
        partial mapping; a lane is one instance along a dimension of a fanout.
        """
        start = np.ones(self.lattice.size + 1, np.int64)
        start[0] = 0
        label = np.zeros((1, self.fields.width))
        label[0, self.fields.lanes] = -1.0
        for field in self.fields.gates.values():
            label[0, field] = 1.0
        label[0, 0] = compute_energy(self.problem)
        return LabelTable(start, label, np.zeros((1, 2), np.int64))

    def remaining_at_top(self) -> RemainingCost:
        """Return the cost still to come above all steps: 0 for the whole space, else inf.

        Only a tile that covers the whole iteration space is a mapping.
        """
        energy = np.full(self.lattice.size, inf)
        energy[-1] = 0.0
        lanes = np.zeros(self.lattice.size)
        lanes[-1] = 1.0
        return RemainingCost(energy, lanes)

    def apply(
        self, step: ProgramStep, table: LabelTable, nd: int, bounds: StepBounds
    ) -> LabelTable:
        """Return the table of labels above a step from the one below it.

        A label is a partial mapping's tuple of costs; those stay that no other one at their tile
        dominates in the first `nd` columns and that can meet the limits in `bounds`.
        """
        if isinstance(step, PaymentStep):
            return _paid(step, table, nd)
        if isinstance(step, TemporalLoops):
            pruning = bounds.before.pruning_arrays(bounds.limits)
            looped = self._looped_once if step.single else self._looped
            return looped(step.variables, table, nd, pruning, bounds.work)
        labels, pruning = (table.start, table.label), bounds.after.pruning_arrays(bounds.limits)
        if isinstance(step, SpatialStep):
            choices = self.choice_arrays(step)
            return kernels.distribute(labels, nd, choices, pruning, bounds.work)
        costs = self._charge(step).arrays
        return kernels.charge(labels, nd, costs, pruning, bounds.work)

    def charged(
        self, steps: Sequence[ProgramStep], table: LabelTable, nd: int, bounds: StepBounds
    ) -> LabelTable:
        """Return the table of labels above several steps that add costs alone, in one go.

        `steps`: from below, each of them a charge or a reservation; `bounds`: below the first and
        above the last one. A label is a partial mapping's tuple of costs; labels are compared in
        the first `nd` columns.
        """
        costs = self._joined_charges.of(lambda: _joined_charge(map(self._charge, steps)), *steps)
        pruning = bounds.after.pruning_arrays(bounds.limits)
        return kernels.charge((table.start, table.label), nd, costs, pruning, bounds.work)

    def remaining_before(self, step: ProgramStep, after: RemainingCost) -> RemainingCost:
        """Return lower bounds of the cost still to come below a step, from those above it.

        `step`: of the dynamic program, such as loops, lanes or a charge. The bounds are least
        joules, most lanes (instances of fanouts) and least seconds for each tile
        (theory/lattice.md §6.1).
        """
        before = self.energy_before(step, after)
        return before.with_latency(self.latency_before(step, after.latency))

    def latency_before(self, step: ProgramStep, after: RemainingLatency) -> RemainingLatency:
        """Return lower bounds of the seconds still to come below a step, from those above it."""
        if not len(after.terms):
            return after
        if isinstance(step, TemporalLoops):
            if not step.single:
                return after.before_loops(self.axes_of(step.variables))
            looped = (after.before_loops(self.axes_of((v,))) for v in step.variables)
            return least_latencies([after, *looped])
        if isinstance(step, PaymentStep):
            calls = (term for term in step.refunds if term.field != 0)
            refunds = [FieldAmount(term.field, self._most_amount(term)) for term in calls]
            return after.before_refunds(refunds)
        if isinstance(step, SpatialStep):
            return after.before_choices(self.choice_arrays(step))
        return after.before_charge(*self._charge(step))

    def energy_before(self, step: ProgramStep, after: RemainingCost) -> RemainingCost:
        """Return lower bounds of energy and lanes below a step, from those above it."""
        if isinstance(step, TemporalLoops):
            return self._before_loops(step, after)
        if isinstance(step, PaymentStep):
            fields = [field for field, target in step.moves if target == 0]
            carried = after.carried.before_payment(fields)
            return RemainingCost(after.energy, after.lanes, after.latency, carried)
        if isinstance(step, SpatialStep):
            choices = self.choice_arrays(step)
            joules = choices.energy(self.fields.width)
            energy, lanes = kernels.undo_distribute(after.energy, after.lanes, choices, joules)
            carried = after.carried.before_choices(choices)
            known = self._lanes_before(step, after.lanes, lambda: lanes)
            return RemainingCost(energy, known, after.latency, carried)
        charge = self._charge(step)
        energy = after.energy + charge.energy
        if isinstance(step, ChargeStep) and len(after.carried.rows):
            energy += self.least_carried(step, after.carried)
        lanes = after.lanes
        if charge.excludes_states:  # lanes are 0 already where nothing above is reached
            open_states = charge.energy < inf
            lanes = self._lanes_before(step, lanes, lambda: np.where(open_states, lanes, 0.0))
        return RemainingCost(energy, lanes, after.latency, after.carried)

    def least_carried(self, step: ChargeStep, carried: CarriedEnergy) -> Floats:
        """Return the least joules that the carried terms of a step will cost, shape (states,).

        A carried count is divided only by lanes over irrelevant variables, at most as many as there
        are iterations of these variables above the tile. A first fill is multiplied by lanes over
        irrelevant and partially relevant variables, at most as many as iterations of these
        (theory/lattice.md §5).
        """
        joules = np.zeros(self.lattice.size)
        for term in step.terms:
            if (factors := carried.factors_of(term.field)) is not None:
                amount = term.factor * self.count(term.tensor, term.kind, term.lanes)
                joules += amount * self._least_factor(term, factors)
        return joules

    def _least_factor(self, term: CostTerm, factors: FactorRange) -> Floats | float:
        """Return the factor with which a carried term costs least, of all it may be multiplied by.

        An array (states,) where the iterations above the tile limit it.
        """
        access = self.problem.einsum.access(term.tensor)
        if term.factor < 0:
            if term.kind != "first" or term.lanes:
                return factors.greatest
            return np.minimum(
                factors.greatest, self.lattice.visits(access, ("partial", "irrelevant"))
            )
        if term.kind not in ("moved", "whole") or term.lanes:
            return factors.least
        return np.maximum(factors.least, 1.0 / self.lattice.visits(access, ("irrelevant",)))

    def _most_amount(self, term: CostTerm) -> float:
        return term.factor * float(self.count(term.tensor, term.kind, term.lanes).max())

    def _looped(
        self,
        variables: tuple[str, ...],
        table: LabelTable,
        nd: int,
        pruning: PruningArrays,
        work: WorkLeft | None,
    ) -> LabelTable:
        """Apply temporal loops over some variables; labels are compared in `nd` fields."""
        start, label = table.start, table.label
        if variables not in self._axis_rows:
            axes = [(axis.stride, axis.radix) for axis in self.axes_of(variables)]
            self._axis_rows[variables] = np.array(axes, np.int64).reshape(-1, 2)
        rows = self._axis_rows[variables]
        if len(rows):
            return kernels.closure((start, label), nd, rows, pruning, work)
        origin = np.zeros((label.shape[0], 2), np.int64)
        origin[:, 0] = np.arange(label.shape[0])
        return LabelTable(start, label, origin)

    def _looped_once(
        self,
        variables: tuple[str, ...],
        table: LabelTable,
        nd: int,
        pruning: PruningArrays,
        work: WorkLeft | None,
    ) -> LabelTable:
        """Apply a temporal loop over at most one variable; labels are compared in `nd` fields."""
        result = self._looped((), table, nd, pruning, work)
        for variable in variables:
            looped = self._looped((variable,), table, nd, pruning, work)
            result = kernels.union(result, looped, nd, work)
        return result

    def _before_loops(self, step: TemporalLoops, after: RemainingCost) -> RemainingCost:
        """Return the energy and lanes to come below temporal loops, from those above."""
        if not step.single:
            return self._before_axes(step, self.axes_of(step.variables), after)
        looped = [self._before_axes(None, self.axes_of((v,)), after) for v in step.variables]
        return least_remaining([after, *looped])

    def _before_axes(
        self, step: ProgramStep | None, axes: Sequence[LatticeAxis], after: RemainingCost
    ) -> RemainingCost:
        """Return the energy and lanes to come below loops along some axes, from those above.

        `step`: the loops if these are all their axes, else None.
        """
        energy = kernels.least_along(after.energy, axes)
        lanes = self._lanes_before(
            step, after.lanes, lambda: kernels.least_along(after.lanes, axes, -1.0)
        )
        return RemainingCost(energy, lanes, after.latency, after.carried)

    def _lanes_before(
        self, step: ProgramStep | None, after: Floats, most_lanes: Callable[[], Floats]
    ) -> Floats:
        """Return the most lanes still to come before a step; made once for each step and `after`.

        `after`: those after the step. `most_lanes`: computes the result. No step: it is always
        computed.
        """
        if step is None:
            return self._shared(most_lanes())
        return self._lanes_before_step.of(lambda: self._shared(most_lanes()), step, after)

    def _shared(self, lanes: Floats) -> Floats:
        """Return an equal array from earlier calls if there is one, else this one; saves memory."""
        equal = self._lane_bounds.setdefault(crc32(lanes.data), lanes)
        return equal if np.array_equal(equal, lanes) else lanes

    def axes_of(self, variables: tuple[str, ...]) -> list[LatticeAxis]:
        """Return the axes of the lattice of tiles along which some rank variables grow."""
        if variables not in self._axes:
            self._axes[variables] = self.lattice.axes_of(variables)
        return self._axes[variables]

    def count(self, tensor: str, kind: str, lanes: Lanes = ()) -> Floats:
        """Return how many values of a tensor move for each tile at its lower holder.

        Shape (states,). `kind`: of count, as in a CostTerm. `lanes`: pairs (variable, lanes) by
        which the tile is larger, with the iterations above the smaller one.
        """
        key = (tensor, kind, lanes)
        if key not in self._counts:
            self._counts[key] = self._computed_count(*key)
        return self._counts[key]

    def _computed_count(self, tensor: str, kind: str, lanes: Lanes) -> Floats:
        if kind == "once":
            return np.ones(self.lattice.size)
        access = self.problem.einsum.access(tensor)
        if kind == "moved" and access.clipped:
            return self.lattice.moved_inside(access, dict(lanes))
        values = self.lattice.occupancy(access, dict(lanes))
        if kind == "tile":
            return values
        relevances = ("relevant",) if kind == "first" else ("relevant", "partial", "irrelevant")
        return values * self.lattice.visits(access, relevances)

    def _charge(self, step: ProgramStep) -> _Charge:
        """Return the arrays of a charge or reservation step, made once."""
        return self._charges.of(lambda: self._new_charge(step), step)

    def _new_charge(self, step: ProgramStep) -> _Charge:
        if isinstance(step, ReserveStep):
            return self._reservation_charge(step)
        assert isinstance(step, ChargeStep)
        return self._tile_charge(step)

    def energy_of(self, step: ProgramStep) -> Floats:
        """Return the joules that a charge or reservation adds to labels, shape (states,).

        inf for tiles that it excludes. A label is the tuple of costs of a partial mapping.
        """
        if isinstance(step, ReserveStep):
            return self._charge(step).energy
        assert isinstance(step, ChargeStep)
        energies = tuple(term for term in step.terms if term.field == 0)
        return self._tile_charge(replace(step, terms=energies)).energy

    def _tile_charge(self, step: ChargeStep) -> _Charge:
        fields, amounts = self._summed([step.terms])
        if step.required:
            amounts[0, ~self.lattice.admitted(step.required)] = inf
        return _charge_of(fields, amounts, _NO_CAPACITY)

    def _reservation_charge(self, step: ReserveStep) -> _Charge:
        slot = step.reservation
        size = self.problem.capacity_bits(slot)
        access = self.problem.einsum.access(slot.tensor)
        bits = self.lattice.occupancy(access, dict(slot.lanes)) * self.problem.value_bits(slot)
        penalty = np.where(bits > size, inf, 0.0)
        if not step.is_shared:
            return _charge_of([0], penalty[np.newaxis], _NO_CAPACITY)
        field = self.fields.used_bits[slot.component]
        capacity = (float(field), float(size), float(step.is_last))
        return _charge_of([0, field], np.stack([penalty, bits]), capacity)

    def _summed(self, alternatives: Sequence[Sequence[CostTerm]]) -> tuple[list[int], Floats]:
        """Return the fields that terms are charged to, energy first, and their sums by state.

        The latter have, for each list in `alternatives`, one row per field.
        """
        fields = sorted({0, *(term.field for terms in alternatives for term in terms)})
        amounts = np.zeros((len(alternatives) * len(fields), self.lattice.size))
        for number, terms in enumerate(alternatives):
            for term in terms:
                row = number * len(fields) + fields.index(term.field)
                amounts[row] += term.factor * self.count(term.tensor, term.kind, term.lanes)
        return fields, amounts

    def choice_arrays(self, step: SpatialStep) -> ChoiceArrays:
        """Return the arrays of a spatial step's choices of lanes that there are, made once."""
        return self._choices.of(lambda: self._new_available(step), step)

    def _new_available(self, step: SpatialStep) -> ChoiceArrays:
        choices = self._all_choices.of(lambda: self.new_choices(step), step)
        available = self.available(step.loops)
        chosen = choices if available is None else choices.only(available)
        most = None if available is None else available.tobytes()
        key = step.loops.variables, step.loops.choices, most
        if key not in self._sources:
            self._sources[key] = np.ascontiguousarray(chosen.below.T)
        return chosen._replace(sources=self._sources[key])

    def available(self, loops: SpatialLoops) -> NDArray[np.bool_] | None:
        """Mark the choices of lanes of a dimension that take no more lanes than there are.

        Shape (choices,); None if all do.
        """
        most = self._most_lanes.get(loops.dim)
        if most is None:
            return None
        available = np.array([prod(choice) <= most for choice in loops.choices])
        return None if available.all() else available

    def new_choices(self, step: SpatialStep) -> ChoiceArrays:
        """Return the arrays of all choices of lanes of a spatial step, too many lanes or not."""
        loops = step.loops
        lanes = np.array([float(prod(choice)) for choice in loops.choices])
        factors = field_factors(self.problem, self.fields, loops)
        added = np.zeros(factors.shape)
        for amount in step.added:
            added[:, amount.field] += amount.values
        for field, values in step.factors:
            factors[:, field] = values
        below = self._tiles_below(loops)
        charges = np.zeros((0, 1))
        if step.charges:
            fields, amounts = self._summed(step.charges)
            column = np.tile(np.array(fields, np.float64), len(step.charges))
            charges = np.column_stack([column, amounts])
        return ChoiceArrays(below, np.hstack([factors, added]), charges, lanes)

    def _tiles_below(self, loops: SpatialLoops) -> Ints:
        """Return the tile of one lane for each choice and tile above, shape (choices, states)."""
        key = loops.variables, loops.choices
        if key not in self._below:
            rows = (self.lattice.reach(loops.variables, choice) for choice in loops.choices)
            each = np.dtype((np.int64, self.lattice.size))  # a list of rows needs the memory twice
            self._below[key] = np.fromiter(rows, each, len(loops.choices))
        return self._below[key]


def _paid(step: PaymentStep, table: LabelTable, nd: int) -> LabelTable:
    """Pay carried costs; drop labels above a capacity, or dominated in their first `nd` fields."""
    label = table.label.copy()
    for field, target in step.moves:
        label[:, target] += label[:, field]
        label[:, field] = 0.0
    fits = np.ones(len(label), np.bool_)
    for field, capacity, is_last in step.limits:
        fits &= label[:, field] <= capacity
        if is_last:
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
    """Return the joules of all operations of one instance of the Einsum; 0 for a copy Einsum."""
    compute = problem.components[-1]
    if problem.einsum.is_copy:
        return 0.0
    energy = sum(a.energy for a in compute.actions if a.name == "compute")
    return float(energy * problem.einsum.operations * compute.actions_scale)


def _charge_of(fields: list[int], amounts: Floats, capacity: tuple[float, float, float]) -> _Charge:
    arrays = ChargeArrays(np.array(fields, np.int64), amounts, np.array(capacity))
    return _Charge(arrays, bool(amounts[0].max() == inf))


def _joined_charge(charges: Iterable[_Charge]) -> ChargeArrays:
    """Return the costs of several steps together; energy stays first."""
    several = [charge.arrays for charge in charges]
    fields = sorted({field for arrays in several for field in arrays.fields.tolist()})
    amounts = np.zeros((len(fields), several[0].amounts.shape[1]))
    for arrays in several:
        amounts[[fields.index(field) for field in arrays.fields.tolist()]] += arrays.amounts
    capacity = np.concatenate([arrays.capacity for arrays in several])
    return ChargeArrays(np.array(fields, np.int64), amounts, capacity)
