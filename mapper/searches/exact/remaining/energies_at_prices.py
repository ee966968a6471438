"""Bound the energy still to come at several prices of actions at once.

The steps of the dynamic program are the same at each price but for the joules of a value, and so is
everything that does not depend on these: one walk over the tree of steps bounds all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from tilewright.mapper.searches.exact import kernels
from tilewright.mapper.searches.exact.remaining.remaining_cost import least_of
from tilewright.mapper.searches.program.program_steps import (
    ChargeStep,
    PaymentStep,
    ProgramStep,
    SpatialStep,
)
from tilewright.mapper.templates.slots import TemporalLoops

if TYPE_CHECKING:
    from tilewright.mapper.searches.exact.kernels import Floats
    from tilewright.mapper.searches.exact.label_tables import LabelEngine
    from tilewright.mapper.searches.exact.remaining.carried_energy import CarriedEnergy


class EnergiesAtPrices:
    """Lower bounds of the joules still to come below steps, at several prices.

    `engine`: has the arrays of the steps. `steps`: all steps of a tree, by number; `dearer`: the
    same ones at each of the prices.
    """

    def __init__(
        self,
        engine: LabelEngine,
        steps: Sequence[ProgramStep],
        dearer: Sequence[Sequence[ProgramStep]],
    ) -> None:
        self._engine = engine
        self._steps = steps
        self._dearer = dearer
        self._joules: dict[int, list[Floats]] = {}  # of each price, by the number of the step

    def with_engine(self, engine: LabelEngine) -> EnergiesAtPrices:
        """Return the same bounds for an engine of other fanouts; what steps cost is shared."""
        energies = EnergiesAtPrices(engine, self._steps, self._dearer)
        energies._joules = self._joules
        return energies

    def at_top(self) -> Floats:
        """Return the energy still to come above all steps, shape (prices, states)."""
        return np.tile(self._engine.remaining_at_top().energy, (len(self._dearer), 1))

    def before(self, number: int, after: Floats, carried: CarriedEnergy) -> Floats:
        """Return the bounds below a step from those above it, shape (prices, states).

        `number`: of the step; `after`: the bounds above it; `carried`: what the joules that labels
        carry there are still multiplied by.
        """
        step = self._steps[number]
        if isinstance(step, TemporalLoops):
            return self._before_loops(step, after)
        if isinstance(step, PaymentStep):
            return after
        if isinstance(step, SpatialStep):
            return self._before_choices(step, number, after)
        added = self._joules_of(number)
        if len(carried.rows) and isinstance(step, ChargeStep):
            steps = cast(list[ChargeStep], [steps[number] for steps in self._dearer])
            pairs = zip(added, steps, strict=True)
            added = [row + self._engine.least_carried(each, carried) for row, each in pairs]
        energies: Floats = after + np.array(added)
        return energies

    def _before_choices(self, step: SpatialStep, number: int, after: Floats) -> Floats:
        choices, available = (
            self._engine.arrays.choice_arrays(step),
            self._engine.arrays.available(step.loops),
        )
        added, lanes = self._joules_of(number), np.zeros(after.shape[1])
        if available is not None:
            added = [joules[available] for joules in added]
        rows = zip(after, added, strict=True)
        below = [kernels.undo_distribute(row, lanes, choices, more)[0] for row, more in rows]
        return np.array(below)

    def _before_loops(self, step: TemporalLoops, after: Floats) -> Floats:
        if not step.single:
            return kernels.least_along(after, self._engine.arrays.axes_of(step.variables))
        axes = (self._engine.arrays.axes_of((variable,)) for variable in step.variables)
        return least_of([after, *(kernels.least_along(after, several) for several in axes)])

    def _joules_of(self, number: int) -> list[Floats]:
        """Return the joules that a step adds at each price, made once.

        Shape (states,), of a spatial step (choices, states) or (choices, 1), all choices.
        """
        if number not in self._joules:
            self._joules[number] = [self._joules_at(steps[number]) for steps in self._dearer]
        return self._joules[number]

    def _joules_at(self, step: ProgramStep) -> Floats:
        if isinstance(step, SpatialStep):
            return self._engine.arrays.new_choices(step).energy(self._engine.fields.width)
        return self._engine.arrays.energy_of(step)
