"""The target of a search for the least value of a formula."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fronts.pareto_points import NOISE
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.objective.objective_formula import ObjectiveFormula
from tilewright.mapper.searches.objective.targets import TracedMapping

_LATENCIES, _USAGES = 24, 8  # corners: steps in each direction
_STEPS = 60  # of bisection


class FormulaTarget:
    """What a search for the least value of a formula keeps: the best mapping so far.

    A row is (energy in J, latency in s, bits of each memory) of one mapping. `formula`: the
    objective; `floor`: a row that no mapping is below; `times`: instances of the Einsum, by which
    energy and latency of a row are multiplied. `limit`: mappings with a larger value are of no
    interest. `best`, `value`: the best mapping and its value; equal values are decided by energy,
    latency, usage.
    """

    def __init__(self, formula: ObjectiveFormula, floor: tuple[float, ...], times: float) -> None:
        self._formula = formula
        self._floor = np.array(floor)
        self._scale = np.array([times, times, *(1.0 for _ in floor[2:])])
        self.limit = inf
        self.best: TracedMapping | None = None
        self.value = inf
        self._corners: tuple[float, Floats] = (inf, np.zeros((0, 0)))

    def corners(self) -> Floats:
        """Return rows such that no mapping at or above one of them in all columns is of interest.

        Columns: energy (J), latency (s), bits of each memory. There the formula exceeds the limit,
        or the best value so far.
        """
        limit = min(self.limit, self.value) * (1 + NOISE)
        if limit != self._corners[0]:
            self._corners = (limit, self._beyond(limit))
        return self._corners[1]

    @property
    def least_value(self) -> float:
        """The value of the formula at the floor, a row of costs that no mapping is below.

        So no mapping has a smaller value.
        """
        return float(self._values(self._floor[np.newaxis])[0])

    def _beyond(self, limit: float) -> Floats:
        """Return rows (energy, latency, bits) at which the formula just exceeds a limit.

        For some latencies and usages the energy is found by bisection.
        """
        sides = [self._latencies(limit), *(self._usages(i) for i in range(2, len(self._floor)))]
        mesh = np.meshgrid(np.zeros(1), *sides, indexing="ij")
        rows = np.stack([side.ravel() for side in mesh], axis=1)
        low = np.full(len(rows), self._floor[0])
        high = low.copy()
        for _ in range(_STEPS):
            high = np.where(self._exceeds(rows, high, limit), high, 2 * high + 1e-300)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            exceeds = self._exceeds(rows, middle, limit)
            low, high = np.where(exceeds, low, middle), np.where(exceeds, middle, high)
        rows[:, 0] = np.where(self._exceeds(rows, self._floor[0], limit), self._floor[0], high)
        return np.asarray(rows[self._exceeds(rows, rows[:, 0], limit)])

    def _exceeds(self, rows: Floats, energy: Floats | float, limit: float) -> NDArray[np.bool_]:
        tried = rows.copy()
        tried[:, 0] = energy
        return np.asarray(self._values(tried) > limit)

    def _values(self, rows: Floats) -> Floats:
        return self._formula.value(rows * self._scale)

    def _latencies(self, limit: float) -> Floats:
        """Return latencies in s from the least to one that alone exceeds the limit, if any does."""
        first = last = float(self._floor[1])
        for _ in range(_STEPS):
            if self._values(np.array([[self._floor[0], last, *self._floor[2:]]]))[0] > limit:
                break
            last = 2 * last + 1e-300
        return np.geomspace(max(first, 1e-300), max(last, 1e-300), _LATENCIES)

    def _usages(self, place: int) -> Floats:
        if self.best is None:
            return self._floor[[place]]
        last = max(self.best.row[place], 1.0)
        return np.append(self._floor[place], np.geomspace(last / 2**_USAGES, 2 * last, _USAGES))

    def hopeful(self, floors: Floats) -> NDArray[np.bool_]:
        """Tell which rows of lower bounds allow a mapping better than the best.

        Better is a smaller value, or an equal one with less of some column. Columns: energy (J),
        latency (s), bits of each memory; the result has shape (rows,).
        """
        values = self._values(floors)
        better = values < self.value * (1 - NOISE)
        if self.best is not None:
            is_less = (floors < np.array(self.best.row) * (1 - NOISE)).any(axis=1)
            better |= (values <= self.value * (1 + NOISE)) & is_less
        return better & (values <= self.limit * (1 + NOISE))

    def wanted(self, rows: Floats) -> list[int]:
        """Return the number of the best of some rows in a list, if it beats the best so far.

        Else the list is empty. Columns: energy (J), latency (s), bits of each memory.
        """
        values = self._values(rows)
        if not len(rows) or not values.min() < inf:
            return []
        ties = np.flatnonzero(values <= values.min() * (1 + NOISE))
        number = int(ties[np.lexsort(rows[ties].T[::-1])[0]])
        return [number] if self._beats(float(values[number]), tuple(rows[number])) else []

    def _beats(self, value: float, row: Sequence[float]) -> bool:
        if self.best is None or abs(value - self.value) > NOISE * self.value:
            return value < self.value
        for cost, best_cost in zip(row, self.best.row, strict=True):
            if abs(cost - best_cost) > NOISE * max(abs(cost), abs(best_cost)):
                return cost < best_cost
        return False

    def offer(self, candidates: Sequence[TracedMapping]) -> None:
        """Keep a mapping as the best so far; of several the last one counts.

        Call it only with mappings whose rows `wanted` has named.
        """
        for candidate in candidates:
            self.best = candidate
            self.value = float(self._values(np.array([candidate.row]))[0])
