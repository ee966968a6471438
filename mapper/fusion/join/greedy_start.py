"""Find a good fused mapping fast: put one exchanged tensor after the other on chip.

It first tries to keep all of them there. Else it starts from nothing on chip. For each exchanged
tensor, that which may save most first, it asks what the workload costs at least with that tensor on
chip, too, and if that is less than what is known, joins only mappings with just these tensors on
chip. Each Einsum may then cost its least and a little more, so that the tables are small, then more
if there is much to gain. These steps are the same for all tensors, so that most tables are made
once. What improves on the best mapping so far is kept.

Example: attention keeps its probabilities on chip, then its scores, then none of its projections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors, TensorPlace
from tilewright.mapper.fusion.join.cost_limit import CostLimit
from tilewright.mapper.fusion.join.exchange_choice_bounds import EinsumBounds
from tilewright.mapper.fusion.pmappings.pmapping_builder import OnChipChoice
from tilewright.mapper.searches.budget import EndReason, OutOfBudget

ROUNDS = 2  # in which tensors that did not help are tried once more
SPARES = (0.001, 0.01, 0.05)  # of what the workload costs at the start
ALL_ABOVE = 0.2  # what an Einsum with all tensors on chip may cost above what is known, relative
WORTH = 1e-6  # relative: what a tensor must save at least to be tried

ChoiceLimits = list[dict[OnChipChoice, CostLimit]]  # per Einsum


class _Candidate(NamedTuple):
    """The tensors on chip of each Einsum, as bits of its boundary."""

    masks: tuple[int, ...]


class GreedyStart:
    """Choose the tensors on chip, all at once or one by one.

    `exchanged`: which tensors may stay on chip. `bounds`: what each Einsum costs at least with
    which of them. `value`: returns what the best mapping so far costs (joule, or second if latency
    is the objective). `attempt`: looks for a better one within limits, one dictionary per Einsum.
    """

    def __init__(
        self,
        exchanged: ExchangedTensors,
        bounds: EinsumBounds,
        value: Callable[[], float],
        attempt: Callable[[ChoiceLimits], None],
    ) -> None:
        self._bounds = bounds
        self._value = value
        self._attempt = attempt
        einsums = exchanged.workload.einsums
        self._spares: list[float] = []
        self._boundaries = [exchanged.places_of_einsum(einsum) for einsum in einsums]

    def run(self) -> bool:
        """Try all tensors at once, else one by one, and those that did not help once more.

        Tell whether all of them at once gave a mapping. Raises OutOfBudget when the time or the
        memory of the budget ends; where a tensor alone needs too many partial mappings, it is left
        out.
        """
        masks = (0,) * len(self._boundaries)
        everything = self._everything()
        start = min(self._value(), sum(self._known(everything)))
        if start == inf:
            return False
        self._spares = [share * start for share in SPARES]
        if self._improves(everything, ALL_ABOVE if self._value() < inf else inf):
            return True
        for _ in range(ROUNDS):
            before = masks
            for place in self._ranked_places(masks):
                candidate = self._with_place(masks, place)
                if self._improves(candidate):
                    masks = candidate.masks
            if masks == before:
                break
        return False

    def _everything(self) -> _Candidate:
        """Return the candidate with each tensor at the first of its places."""
        first: dict[str, TensorPlace] = {}
        for place in (place for boundary in self._boundaries for place in boundary):
            first.setdefault(place.tensor, place)
        masks = tuple(
            sum(1 << i for i, place in enumerate(boundary) if place == first[place.tensor])
            for boundary in self._boundaries
        )
        return _Candidate(masks)

    def _ranked_places(self, masks: Sequence[int]) -> list[TensorPlace]:
        """Return the places that hold no tensor yet, those that may save most first."""
        places = dict.fromkeys(place for several in self._boundaries for place in several)
        kept = {tensor for tensor, _ in self._places_in(masks)}
        free = [place for place in places if place.tensor not in kept]
        costs = [sum(self._known(self._with_place(masks, place))) for place in free]
        return [free[number] for number in np.argsort(costs, kind="stable").tolist()]

    def _places_in(self, masks: Sequence[int]) -> Iterator[TensorPlace]:
        for mask, boundary in zip(masks, self._boundaries, strict=True):
            yield from (place for i, place in enumerate(boundary) if mask >> i & 1)

    def _with_place(self, masks: Sequence[int], place: TensorPlace) -> _Candidate:
        added = (
            1 << boundary.index(place) if place in boundary else 0 for boundary in self._boundaries
        )
        return _Candidate(tuple(mask | bit for mask, bit in zip(masks, added, strict=True)))

    def _known(self, candidate: _Candidate) -> list[float]:
        """Return what each Einsum costs at least, as far as it is known."""
        return [self._bounds.known_least(n, mask) for n, mask in enumerate(candidate.masks)]

    def _improves(self, candidate: _Candidate, most_above: float = inf) -> bool:
        """Look for a mapping with just these tensors on chip; tell whether it is better.

        `most_above`: how far above what is known an Einsum may cost at least, relative.
        """
        known, value = self._known(candidate), self._value()
        try:
            for number, mask in enumerate(candidate.masks):
                left = value * (1 - WORTH) - (sum(known) - known[number])
                left = min(left, known[number] * (1 + most_above))
                known[number] = self._bounds.least_below(number, mask, left)
                if known[number] > left:
                    return False
            gain = value - sum(known)
            for spare in (s for s in self._spares if s == self._spares[0] or s < gain):
                self._attempt(self._limits(candidate, known, min(spare, gain)))
                if self._value() < value:
                    return True
        except OutOfBudget as end:
            if end.reason is not EndReason.LABELS:
                raise
        return False

    def _limits(self, candidate: _Candidate, least: Sequence[float], spare: float) -> ChoiceLimits:
        """Return what each Einsum may cost: its least, and `spare`."""
        return [
            {
                choice: self._bounds.limit_of_metric(cost + spare)
                for choice in self._bounds.choices_of(number, mask)
            }
            for number, (mask, cost) in enumerate(zip(candidate.masks, least, strict=True))
        ]
