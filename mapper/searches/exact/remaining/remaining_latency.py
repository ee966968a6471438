"""Lower bounds of the seconds that each component still needs, state by state.

A component takes as long as its calls. The calls that a label has made so far only grow on the way
up, except that lanes above divide them. Two numbers bound the latency of a component from below, as
the least remaining energy bounds the energy (lattice.md §6.1):

- the calls made so far, divided by the most lanes that may follow;
- the least calls that each tile still adds, divided likewise.

Negative costs (first fills that are left out) count undivided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.mapspace.lattice import LatticeAxis
from tilewright.mapper.searches.exact import kernels
from tilewright.mapper.searches.exact.kernels import ChargeArrays, ChoiceArrays, Floats

_DIVIDED, _WHOLE, _CONSTANT = 1, 2, 3  # columns of `terms`


class FieldAmount(NamedTuple):
    """An amount still to be added to one column of a label (a partial mapping's tuple of costs).

    `field`: number of the column; `amount`: in its unit, such as calls or joules.
    """

    field: int
    amount: float


@dataclass(frozen=True, slots=True, eq=False)
class RemainingLatency:
    """The least seconds that each component still needs above a step, for each tile (state).

    `terms`, shape (components, 4): column of a label with the calls; seconds of a call if the most
    lanes to come divide it; seconds of a call if none do; seconds without calls. `seconds`, shape
    (components, states): least still to be added; inf: the tile cannot grow to the whole space. A
    label is the tuple of costs of a partial mapping; a lane is one instance along a dimension of a
    fanout.
    """

    terms: Floats
    seconds: Floats

    def before_loops(self, axes: Sequence[LatticeAxis]) -> RemainingLatency:
        """Return the bounds below temporal loops from those above: least over reachable tiles.

        `axes`: axes of the lattice of tiles along which the loops can grow a tile.
        """
        if not len(self.terms):
            return self
        return RemainingLatency(self.terms, kernels.least_along(self.seconds, axes))

    def before_charge(self, charge: ChargeArrays, excludes_tiles: bool = True) -> RemainingLatency:
        """Return the bounds below a charge from those above it, in seconds.

        A charge adds amounts to columns of labels by tile; its first column is the energy, which
        is inf at some tiles if `excludes_tiles`. A label is the tuple of costs of a partial
        mapping.
        """
        if not len(self.terms):
            return self
        rows = {field: i for i, field in enumerate(charge.fields.tolist())}
        timed = [rows.get(int(field)) for field in self.terms[:, 0].tolist()]
        if not excludes_tiles and not any(row is not None for row in timed):
            return self
        seconds = self.seconds.copy()
        if excludes_tiles:
            seconds[:, charge.amounts[0] == inf] = inf
        for i, row in enumerate(timed):
            if row is not None:
                seconds[i] += _least_seconds(self.terms[i], charge.amounts[row])
        return RemainingLatency(self.terms, seconds)

    def before_choices(self, choices: ChoiceArrays) -> RemainingLatency:
        """Return the bounds of seconds below the spatial loops of a dimension, from those above.

        `choices`: of its lanes (instances), which divide the calls made below and add some of
        their own. The result has the least seconds per component and tile.
        """
        if not len(self.terms):
            return self
        seconds, terms = np.empty_like(self.seconds), self.terms.copy()
        for row, after, term in zip(seconds, self.seconds, terms, strict=True):
            row[:] = _before_choices_of(term, after, choices)
            factors = choices.linear[:, int(term[0])]
            term[_DIVIDED] *= min(1.0, float(factors.min()))
        return RemainingLatency(terms, seconds)

    def before_refunds(self, refunds: Iterable[FieldAmount]) -> RemainingLatency:
        """Return the bounds of seconds below a step that pays negative costs, from those above.

        `refunds`: columns of labels (cost tuples of partial mappings) and the amounts, the most
        negative that they may be.
        """
        added = np.array([_total_of(refunds, int(term[0])) * term[_WHOLE] for term in self.terms])
        if not len(added):
            return self
        return replace(self, seconds=self.seconds + added[:, np.newaxis])

    def least_latency(self) -> float:
        """Return the least latency of any mapping in seconds, for one instance of the Einsum.

        It reads the bounds of the tile of one value, below all steps, where no calls have been
        made.
        """
        rows = zip(self.terms, self.seconds, strict=True)
        return max((float(term[_CONSTANT] + row[0]) for term, row in rows), default=0.0)


UNTIMED = RemainingLatency(np.zeros((0, 4)), np.zeros((0, 0)))


def remaining_at_arrival(
    terms: Floats, arrived: NDArray[np.bool_], dues: Sequence[FieldAmount]
) -> RemainingLatency:
    """Return the least seconds still to come at tiles where all loops stand but charges may be due.

    `terms`, shape (components, 3): column of a label, seconds of a call, seconds without calls.
    `arrived`, bool, shape (states,): the complete tiles; others get inf. `dues`: the least amounts
    still to be added there. A label is the tuple of costs of a partial mapping.
    """
    rows = np.column_stack([terms[:, 0], terms[:, 1], terms[:, 1], terms[:, 2]])
    due_seconds = [term[1] * _total_of(dues, int(term[0])) for term in terms]
    seconds = np.where(arrived, np.array(due_seconds).reshape(-1, 1), inf)
    return RemainingLatency(rows, seconds)


def least_latencies(alternatives: Sequence[RemainingLatency]) -> RemainingLatency:
    """Return, tile by tile, the least of several bounds of seconds still to come.

    All must have the same components.
    """
    terms, seconds = alternatives[0].terms, alternatives[0].seconds
    if len(alternatives) == 1 or not len(terms):
        return alternatives[0]
    for each in alternatives[1:]:  # few: a stack of arrays takes longer
        terms, seconds = np.minimum(terms, each.terms), np.minimum(seconds, each.seconds)
    return RemainingLatency(terms, seconds)


def _before_choices_of(term: Floats, after: Floats, choices: ChoiceArrays) -> Floats:
    """Return the least seconds of one component below spatial choices, shape (states,).

    `term`: row of the component in RemainingLatency.terms; `after`: its least seconds above them.
    """
    field, width = int(term[0]), choices.linear.shape[1] // 2
    n_choices = len(choices.below)
    calls = choices.linear[:, width + field, np.newaxis].copy()
    charged_fields = choices.charges[: len(choices.charges) // n_choices, 0].tolist()
    if field in charged_fields:
        rows = choices.charges[charged_fields.index(field) :: len(charged_fields), 1:]
        calls = calls + rows * choices.linear[:, field, np.newaxis]
    undivided = choices._replace(lanes=np.ones(n_choices))
    seconds = _least_seconds(term, calls)
    return kernels.undo_distribute(after, np.ones(len(after)), undivided, seconds)[0]


def _total_of(amounts: Iterable[FieldAmount], field: int) -> float:
    """Return the sum of the amounts of one field."""
    return sum(amount for number, amount in amounts if number == field)


def _least_seconds(term: Floats, calls: Floats) -> Floats:
    """Return the least seconds of calls to come: lanes may still divide them.

    `term`: the seconds of one call, divided by the most lanes to come and undivided. Negative calls
    (first fills left out) count undivided, so that the result may be negative.
    """
    seconds: Floats = calls * np.where(calls > 0.0, term[_DIVIDED], term[_WHOLE])
    return seconds
