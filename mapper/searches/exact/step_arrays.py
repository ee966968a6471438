"""The numbers of a program's steps as arrays over all tiles, each made once.

A charge or a reservation has amounts per tile and field, a spatial step has rows per choice of
lanes, loops have axes of the lattice of tiles (theory/lattice.md §4, §5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from math import inf, prod
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.mapspace.lattice import Lattice, LatticeAxis
from tilewright.mapper.searches.exact.kernels import ChargeArrays, ChoiceArrays, Floats, Ints
from tilewright.mapper.searches.exact.label_fields import DesignFamily, LabelFields, field_factors
from tilewright.mapper.searches.program.charge_sites import CostTerm
from tilewright.mapper.searches.program.program_steps import (
    ChargeStep,
    ProgramStep,
    ReserveStep,
    SpatialStep,
)
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.spatial_choices import Lanes, SpatialLoops

V = TypeVar("V")

_NO_CAPACITY = (-1.0, inf, 0.0)  # as in ChargeArrays


class StepCharge(NamedTuple):
    """A step's costs as arrays; `excludes_states`: the cost of some state is inf."""

    arrays: ChargeArrays
    excludes_states: bool

    @property
    def energy(self) -> Floats:
        """Joules of each state."""
        joules: Floats = self.arrays.amounts[0]
        return joules


class ByIdentity(Generic[V]):
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


class StepArrays:
    """The arrays of the steps of one Einsum's programs, over all its tiles.

    `fields`: which column of a label (a partial mapping's tuple of costs) holds which cost;
    `family`: how many lanes may be in use. A lane is one instance along a dimension of a fanout.
    """

    def __init__(self, problem: Problem, fields: LabelFields, family: DesignFamily) -> None:
        self.lattice = Lattice(problem.einsum.bounds)
        self._problem = problem
        self._fields = fields
        self._most_lanes = _most_lanes(family)
        self._charges: ByIdentity[StepCharge] = ByIdentity()
        self._joined_charges: ByIdentity[ChargeArrays] = ByIdentity()
        self._choices: ByIdentity[ChoiceArrays] = ByIdentity()
        self._all_choices: ByIdentity[ChoiceArrays] = ByIdentity()  # with too many lanes, too
        self._counts: dict[tuple[str, str, Lanes], Floats] = {}
        self._axes: dict[tuple[str, ...], list[LatticeAxis]] = {}
        self._axis_rows: dict[tuple[str, ...], Ints] = {}
        self._below: dict[tuple[tuple[str, ...], tuple[tuple[int, ...], ...]], Ints] = {}
        self._sources: dict[tuple[object, ...], Ints] = {}

    def with_lanes(self, family: DesignFamily) -> StepArrays:
        """Return the same arrays for other fanouts; what does not depend on them is shared."""
        arrays = copy(self)
        arrays._most_lanes, arrays._choices = _most_lanes(family), ByIdentity()
        return arrays

    def forget_steps(self) -> None:
        """Drop the arrays of all steps, to free their memory; they are made again when needed."""
        for made in (self._charges, self._joined_charges, self._choices, self._all_choices):
            made.clear()
        self._sources.clear()

    def axes_of(self, variables: tuple[str, ...]) -> list[LatticeAxis]:
        """Return the axes of the lattice of tiles along which some rank variables grow."""
        if variables not in self._axes:
            self._axes[variables] = self.lattice.axes_of(variables)
        return self._axes[variables]

    def axis_rows(self, variables: tuple[str, ...]) -> Ints:
        """Return the stride and the number of values of each axis of some variables, (axes, 2)."""
        if variables not in self._axis_rows:
            axes = [(axis.stride, axis.radix) for axis in self.axes_of(variables)]
            self._axis_rows[variables] = np.array(axes, np.int64).reshape(-1, 2)
        return self._axis_rows[variables]

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
        access = self._problem.einsum.access(tensor)
        if kind == "moved" and access.clipped:
            return self.lattice.moved_inside(access, dict(lanes))
        values = self.lattice.occupancy(access, dict(lanes))
        if kind == "tile":
            return values
        relevances = ("relevant",) if kind == "first" else ("relevant", "partial", "irrelevant")
        return values * self.lattice.visits(access, relevances)

    def charge(self, step: ProgramStep) -> StepCharge:
        """Return the arrays of a charge or reservation step, made once."""
        return self._charges.of(lambda: self._new_charge(step), step)

    def joined_charge(self, steps: Sequence[ProgramStep]) -> ChargeArrays:
        """Return the arrays of several charges or reservations in one, made once."""
        return self._joined_charges.of(lambda: _joined_charge(map(self.charge, steps)), *steps)

    def _new_charge(self, step: ProgramStep) -> StepCharge:
        if isinstance(step, ReserveStep):
            return self._reservation_charge(step)
        assert isinstance(step, ChargeStep)
        return self._tile_charge(step)

    def energy_of(self, step: ProgramStep) -> Floats:
        """Return the joules that a charge or reservation adds to labels, shape (states,).

        inf for tiles that it excludes. A label is the tuple of costs of a partial mapping.
        """
        if isinstance(step, ReserveStep):
            return self.charge(step).energy
        assert isinstance(step, ChargeStep)
        energies = tuple(term for term in step.terms if term.field == 0)
        return self._tile_charge(replace(step, terms=energies)).energy

    def _tile_charge(self, step: ChargeStep) -> StepCharge:
        fields, amounts = self._summed([step.terms])
        if step.required:
            amounts[0, ~self.lattice.admitted(step.required)] = inf
        return _charge_of(fields, amounts)

    def _reservation_charge(self, step: ReserveStep) -> StepCharge:
        slot = step.reservation
        size = self._problem.capacity_bits(slot)
        access = self._problem.einsum.access(slot.tensor)
        bits = self.lattice.occupancy(access, dict(slot.lanes)) * self._problem.value_bits(slot)
        penalty = np.where(bits > size, inf, 0.0)
        if not step.is_shared:
            return _charge_of([0], penalty[np.newaxis])
        field = self._fields.used_bits[slot.component]
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
        factors = field_factors(self._problem, self._fields, loops)
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


def _most_lanes(family: DesignFamily) -> dict[tuple[str, str], int]:
    """Return the most lanes of each dimension that is limited, by (component, dimension)."""
    return {(component, name): lanes for component, name, lanes in family.most_lanes}


def _charge_of(
    fields: list[int], amounts: Floats, capacity: tuple[float, float, float] = _NO_CAPACITY
) -> StepCharge:
    arrays = ChargeArrays(np.array(fields, np.int64), amounts, np.array(capacity))
    return StepCharge(arrays, bool(amounts[0].max() == inf))


def _joined_charge(charges: Iterable[StepCharge]) -> ChargeArrays:
    """Return the costs of several steps together; energy stays first."""
    several = [charge.arrays for charge in charges]
    fields = sorted({field for arrays in several for field in arrays.fields.tolist()})
    amounts = np.zeros((len(fields), several[0].amounts.shape[1]))
    for arrays in several:
        amounts[[fields.index(field) for field in arrays.fields.tolist()]] += arrays.amounts
    capacity = np.concatenate([arrays.capacity for arrays in several])
    return ChargeArrays(np.array(fields, np.int64), amounts, capacity)
