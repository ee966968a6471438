"""Find a good fused mapping fast: put one exchanged tensor after the other on chip.

It starts from a mapping that keeps nothing on chip. For each exchanged tensor, the largest first,
it asks what the workload costs at least with that tensor on chip, too, and if that is less than
what is known, joins only mappings with just these tensors on chip. Each Einsum may then cost its
least and a little of what is left to the best mapping so far, then more, so that the tables are
small. What improves on that mapping is kept.

Example: attention keeps its probabilities on chip, then its scores, then none of its projections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors, TensorPlace
from tilewright.mapper.fusion.join.cost_limit import CostLimit
from tilewright.mapper.fusion.join.exchange_choice_bounds import EinsumBounds
from tilewright.mapper.fusion.pmappings.pmapping_builder import OnChipChoice
from tilewright.mapper.searches.budget import EndReason, OutOfBudget

ROUNDS = 2  # in which tensors that did not help are tried once more
SPARES = (0.001, 0.01, 0.05)  # of what all Einsums cost at least
WORTH = 1e-6  # relative: what a tensor must save at least to be tried

ChoiceLimits = list[dict[OnChipChoice, CostLimit]]  # per Einsum


class _Candidate(NamedTuple):
    """A tensor that may stay on chip, with the sets of tensors on chip that it leads to."""

    place: TensorPlace
    masks: tuple[int, ...]


class GreedyStart:
    """Choose the tensors on chip one by one.

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
        self._boundaries = [exchanged.places_of_einsum(einsum) for einsum in einsums]

    def run(self) -> None:
        """Try all tensors, and those that did not help once more after others did.

        Raises OutOfBudget when the time or the memory of the budget ends; where a tensor alone
        needs too many partial mappings, it is left out.
        """
        masks = (0,) * len(self._boundaries)
        for _ in range(ROUNDS):
            before = masks
            for place in self._ranked_places(masks):
                candidate = self._with_place(masks, place)
                if self._improves(candidate):
                    masks = candidate.masks
            if masks == before:
                return

    def _ranked_places(self, masks: Sequence[int]) -> list[TensorPlace]:
        """Return the places that hold no tensor yet, those that may save most first."""
        places = dict.fromkeys(place for several in self._boundaries for place in several)
        kept = {tensor for tensor, _ in self._places_in(masks)}
        candidates = [self._with_place(masks, p) for p in places if p.tensor not in kept]
        ranked = sorted((sum(self._known(c)), n) for n, c in enumerate(candidates))
        return [candidates[number].place for _, number in ranked]

    def _places_in(self, masks: Sequence[int]) -> Iterator[TensorPlace]:
        for mask, boundary in zip(masks, self._boundaries, strict=True):
            yield from (place for i, place in enumerate(boundary) if mask >> i & 1)

    def _with_place(self, masks: Sequence[int], place: TensorPlace) -> _Candidate:
        added = (
            1 << boundary.index(place) if place in boundary else 0 for boundary in self._boundaries
        )
        return _Candidate(place, tuple(mask | bit for mask, bit in zip(masks, added, strict=True)))

    def _known(self, candidate: _Candidate) -> list[float]:
        """Return what each Einsum costs at least, as far as it is known."""
        return [self._bounds.known_least(n, mask) for n, mask in enumerate(candidate.masks)]

    def _improves(self, candidate: _Candidate) -> bool:
        """Look for a mapping with just these tensors on chip; tell whether it is better."""
        known, value = self._known(candidate), self._value()
        try:
            for number, mask in enumerate(candidate.masks):
                left = value * (1 - WORTH) - (sum(known) - known[number])
                known[number] = self._bounds.least_below(number, mask, left)
                if known[number] > left:
                    return False
            for spare in self._spares(sum(known), value):
                self._attempt(self._limits(candidate, known, spare))
                if self._value() < value:
                    return True
        except OutOfBudget as end:
            if end.reason is not EndReason.LABELS:
                raise
        return self._value() < value

    @staticmethod
    def _spares(least: float, value: float) -> Iterator[float]:
        """Yield how much more than its least each Einsum may cost, little first.

        With little to spare there are few pmappings, and mostly one that is good enough. With more
        than the last share there would be too many.
        """
        for share in SPARES:
            if share * least >= value - least:
                break
            yield share * least
        else:
            return
        yield value - least

    def _limits(self, candidate: _Candidate, least: Sequence[float], spare: float) -> ChoiceLimits:
        """Return what each Einsum may cost: its least, and `spare`."""
        return [
            {
                choice: self._bounds.limit_of_metric(cost + spare)
                for choice in self._bounds.choices_of(number, mask)
            }
            for number, (mask, cost) in enumerate(zip(candidate.masks, least, strict=True))
        ]
