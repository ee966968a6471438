"""How much time each component still takes at least: bounds of latency, state by state.

A component is as slow as its calls take, and what a label has of them only grows on the way up, but
for lanes above that divide it. So the calls made so far, divided by the most lanes that may follow,
and the least that each tile still adds, divided likewise, bound its latency from below, as the
least energy to come bounds the energy (lattice.md §6.1). Costs below 0 (first fills that are
left out) count undivided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.mapspace.lattice import LatticeAxis
from tilewright.mapper.searches.exact import kernels
from tilewright.mapper.searches.exact.kernels import Floats, Ints

_DIVIDED, _WHOLE, _CONSTANT = 1, 2, 3  # columns of `paces`


@dataclass(frozen=True, slots=True, eq=False)
class RemainingLatency:
    """`paces`: one row per component that takes time: (field of its calls, seconds of one of them
    when it is divided by the most lanes to come, and when by none, seconds without calls);
    `seconds`: the least still to be added, shape (rows, states); inf: no way up."""

    terms: Floats
    seconds: Floats

    def before_loops(self, axes: Sequence[LatticeAxis]) -> RemainingLatency:
        """Return what holds before loops along some axes."""
        if not len(self.terms):
            return self
        seconds = self.seconds.copy()
        flat = seconds.reshape(-1)  # all rows in one call: rows are whole lattices
        for axis in axes:
            kernels.least_above(flat, axis.stride, axis.radix, 1.0)
        return replace(self, seconds=seconds)

    def before_charge(self, fields: Ints, plus: Floats) -> RemainingLatency:
        """Return what holds before plus[i, s] was added to field fields[i], energy first."""
        if not len(self.terms):
            return self
        seconds = np.where(plus[0] < inf, self.seconds, inf)
        rows = {field: plus[i] for i, field in enumerate(fields.tolist())}
        for i, pace in enumerate(self.terms):
            if (calls := rows.get(int(pace[0]))) is not None:
                seconds[i] += _taken(pace, calls)
        return replace(self, seconds=seconds)

    def before_spatial(self, reach: Ints, linear: Floats, fares: Floats) -> RemainingLatency:
        """Return what holds before the choices of a dimension (see kernels.deal)."""
        if not len(self.terms):
            return self
        choices, width = len(reach), linear.shape[1] // 2
        seconds, paces = np.empty_like(self.seconds), self.terms.copy()
        numbers = fares[: len(fares) // choices, 0].tolist()
        none = np.ones(choices)
        for own, after, pace in zip(seconds, self.seconds, paces, strict=True):
            field = int(pace[0])
            calls = np.repeat(linear[:, width + field, np.newaxis], reach.shape[1], axis=1)
            if field in numbers:
                charged = fares[numbers.index(field) :: len(numbers), 1:]
                calls = calls + charged * linear[:, field, np.newaxis]
            taken = _taken(pace, calls)
            own[:] = kernels.undo_distribute(after, np.ones(len(after)), reach, taken, none)[0]
            pace[_DIVIDED] *= min(1.0, float(linear[:, field].min()))
        return RemainingLatency(paces, seconds)

    def before_refunds(self, refunds: Iterable[tuple[int, float]]) -> RemainingLatency:
        """Return what holds before amounts below 0 were paid: (field, amount)."""
        more = np.array(
            [sum(n for field, n in refunds if field == pace[0]) * pace[_WHOLE]
             for pace in self.terms]
        )  # fmt: skip
        return replace(self, seconds=self.seconds + more[:, np.newaxis]) if len(more) else self

    def least_latency(self) -> float:
        """Return the least latency of a label at the first state without any calls."""
        rows = zip(self.terms, self.seconds, strict=True)
        return max((float(pace[_CONSTANT] + own[0]) for pace, own in rows), default=0.0)


UNTIMED = RemainingLatency(np.zeros((0, 4)), np.zeros((0, 0)))


def remaining_at_arrival(
    paces: Floats, arrived: NDArray[np.bool_], adds: Iterable[tuple[int, float]]
) -> RemainingLatency:
    """Return the bounds where labels may arrive; (field, amount) is the least still to be added.

    `paces`: (field, seconds of a call, constant).
    """
    rows = np.column_stack([paces[:, 0], paces[:, 1], paces[:, 1], paces[:, 2]])
    still = [pace[1] * sum(n for field, n in adds if field == pace[0]) for pace in paces]
    seconds = np.where(arrived, np.array(still).reshape(-1, 1), inf)
    return RemainingLatency(rows, seconds)


def least_latencies(several: Sequence[RemainingLatency]) -> RemainingLatency:
    """Return the least of several bounds, state by state."""
    return RemainingLatency(
        np.minimum.reduce([one.terms for one in several]),
        np.minimum.reduce([one.seconds for one in several]),
    )


def _taken(pace: Floats, calls: Floats) -> Floats:
    """Return the least seconds that calls still take, which may be below 0."""
    taken: Floats = calls * np.where(calls > 0.0, pace[_DIVIDED], pace[_WHOLE])
    return taken
