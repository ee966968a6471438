"""Apply the steps of a program to tables of labels, and bound the remaining cost below them.

Upwards, a step turns the labels below it into those above it, by the kernels. Downwards, the same
step turns the remaining cost above it into that below it: the least energy, the most lanes and the
least seconds that any mapping still adds to a label, state by state (lattice.md §6.1). Labels that
cannot meet the limits with the least remaining cost are pruned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from math import inf
from zlib import crc32

import numpy as np

from tilewright.mapper.mapspace.lattice import LatticeAxis
from tilewright.mapper.searches.budget import WorkLeft
from tilewright.mapper.searches.exact import kernels
from tilewright.mapper.searches.exact.kernels import Floats, LabelTable, PruningArrays
from tilewright.mapper.searches.exact.label_fields import ONE_DESIGN, DesignFamily, LabelFields
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
from tilewright.mapper.searches.exact.step_arrays import ByIdentity, StepArrays
from tilewright.mapper.searches.program.charge_sites import CostTerm
from tilewright.mapper.searches.program.program_steps import (
    ChargeStep,
    PaymentStep,
    ProgramStep,
    SpatialStep,
)
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import TemporalLoops


class LabelEngine:
    """Carries out the steps of a dynamic program over all tiles of one Einsum.

    A step (loops, lanes of a dimension, a charge, a reservation) turns the table of labels (cost
    tuples of partial mappings) below it into that above it. `fields`: which column of a label holds
    which cost; `family`: how many lanes may be in use. `arrays`: the numbers of the steps. A lane
    is one instance along a dimension of a fanout.
    """

    def __init__(
        self, problem: Problem, fields: LabelFields, family: DesignFamily = ONE_DESIGN
    ) -> None:
        self.problem = problem
        self.fields = fields
        self.arrays = StepArrays(problem, fields, family)
        self.lattice = self.arrays.lattice
        self._lane_bounds: dict[int, Floats] = {}  # by checksum
        self._lanes_before_step: ByIdentity[Floats] = ByIdentity()

    def with_lanes(self, family: DesignFamily) -> LabelEngine:
        """Return the same engine for other fanouts; it shares what does not depend on them.

        `family`: how many lanes may be in use. A lane is one instance along a dimension of a
        fanout.
        """
        engine = copy(self)
        engine.arrays, engine._lanes_before_step = self.arrays.with_lanes(family), ByIdentity()
        return engine

    def forget_steps(self) -> None:
        """Drop the arrays of all steps, to free their memory; they are made again when needed."""
        self.arrays.forget_steps()
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
            return self._looped(step, table, nd, pruning, bounds.work)
        labels, pruning = (table.start, table.label), bounds.after.pruning_arrays(bounds.limits)
        if isinstance(step, SpatialStep):
            choices = self.arrays.choice_arrays(step)
            return kernels.distribute(labels, nd, choices, pruning, bounds.work)
        costs = self.arrays.charge(step).arrays
        return kernels.charge(labels, nd, costs, pruning, bounds.work)

    def charged(
        self, steps: Sequence[ProgramStep], table: LabelTable, nd: int, bounds: StepBounds
    ) -> LabelTable:
        """Return the table of labels above several steps that add costs alone, in one go.

        `steps`: from below, each of them a charge or a reservation; `bounds`: below the first and
        above the last one. A label is a partial mapping's tuple of costs; labels are compared in
        the first `nd` columns.
        """
        costs = self.arrays.joined_charge(steps)
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
                return after.before_loops(self.arrays.axes_of(step.variables))
            looped = (after.before_loops(self.arrays.axes_of((v,))) for v in step.variables)
            return least_latencies([after, *looped])
        if isinstance(step, PaymentStep):
            calls = (term for term in step.refunds if term.field != 0)
            refunds = [FieldAmount(term.field, self._most_amount(term)) for term in calls]
            return after.before_refunds(refunds)
        if isinstance(step, SpatialStep):
            return after.before_choices(self.arrays.choice_arrays(step))
        return after.before_charge(*self.arrays.charge(step))

    def energy_before(self, step: ProgramStep, after: RemainingCost) -> RemainingCost:
        """Return lower bounds of energy and lanes below a step, from those above it."""
        if isinstance(step, TemporalLoops):
            return self._before_loops(step, after)
        if isinstance(step, PaymentStep):
            fields = [field for field, target in step.moves if target == 0]
            carried = after.carried.before_payment(fields)
            return RemainingCost(after.energy, after.lanes, after.latency, carried)
        if isinstance(step, SpatialStep):
            choices = self.arrays.choice_arrays(step)
            joules = choices.energy(self.fields.width)
            energy, lanes = kernels.undo_distribute(after.energy, after.lanes, choices, joules)
            carried = after.carried.before_choices(choices)
            known = self._lanes_before(step, after.lanes, lambda: lanes)
            return RemainingCost(energy, known, after.latency, carried)
        charge = self.arrays.charge(step)
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
                amount = term.factor * self.arrays.count(term.tensor, term.kind, term.lanes)
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
        return term.factor * float(self.arrays.count(term.tensor, term.kind, term.lanes).max())

    def _looped(
        self,
        step: TemporalLoops,
        table: LabelTable,
        nd: int,
        pruning: PruningArrays,
        work: WorkLeft | None,
    ) -> LabelTable:
        """Apply temporal loops, over one variable at most if the step says so.

        `nd`: fields of the labels that are compared.
        """

        def looped(variables: tuple[str, ...]) -> LabelTable:
            rows = self.arrays.axis_rows(variables)
            if not len(rows):
                return _unchanged(table)
            return kernels.closure((table.start, table.label), nd, rows, pruning, work)

        if not step.single:
            return looped(step.variables)
        result = _unchanged(table)
        for variable in step.variables:
            result = kernels.union(result, looped((variable,)), nd, work)
        return result

    def _before_loops(self, step: TemporalLoops, after: RemainingCost) -> RemainingCost:
        """Return the energy and lanes to come below temporal loops, from those above."""
        if not step.single:
            return self._before_axes(step, self.arrays.axes_of(step.variables), after)
        looped = [self._before_axes(None, self.arrays.axes_of((v,)), after) for v in step.variables]
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


def _unchanged(table: LabelTable) -> LabelTable:
    """Return a table whose labels come from those of the same number in `table`."""
    origin = np.zeros((table.label.shape[0], 2), np.int64)
    origin[:, 0] = np.arange(table.label.shape[0])
    return LabelTable(table.start, table.label, origin)


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
