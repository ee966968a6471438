"""The start of a fused search that keeps one tensor after the other on chip."""

from __future__ import annotations

from math import inf

from fused_cases import chain
from fused_example import plan

from tilewright.mapper.fusion.join.exchange_choice_bounds import EinsumBounds
from tilewright.mapper.fusion.join.greedy_start import SPARES, ChoiceLimits, GreedyStart
from tilewright.mapper.fusion.join.join_deepening import JoinSearch
from tilewright.mapper.searches.budget import Budget


class Attempts:
    """Attempts that pretend to find a mapping at what its Einsums cost at least, if they may."""

    def __init__(self, masks_of_mapping: int) -> None:
        self.problem = plan(64, chain(4, (2, 4, 2, 3))).problem
        self.search = JoinSearch(self.problem, Budget())
        self.bounds = EinsumBounds(self.problem, self.search._builder)
        self.value = inf
        self.tried: list[tuple[int, ...]] = []
        self.spares: list[float] = []
        self._most = masks_of_mapping

    def attempt(self, limits: ChoiceLimits) -> None:
        """Note the tensors on chip and what all Einsums may cost above their least."""
        masks = tuple(next(iter(of_einsum)).mask for of_einsum in limits)
        least = [self.bounds.least_below(n, mask, 1e9) for n, mask in enumerate(masks)]
        pairs = zip(limits, least, strict=True)
        spares = {round(limit.energy - cost, 6) for one, cost in pairs for limit in one.values()}
        assert len(spares) == 1
        self.tried.append(masks)
        self.spares.append(spares.pop())
        if sum(mask.bit_count() for mask in masks) <= self._most:
            self.value = min(self.value, sum(least))

    def run(self) -> bool:
        """Run the greedy start."""
        exchanged = self.problem.exchanged
        return GreedyStart(exchanged, self.bounds, lambda: self.value, self.attempt).run()


def test_all_tensors_are_tried_at_once() -> None:
    attempts = Attempts(masks_of_mapping=4)
    assert attempts.run()
    assert attempts.tried == [(1, 3, 1)]
    assert attempts.value <= attempts.search.solve().lower_bound


def test_tensors_are_tried_one_by_one_with_more_and_more_to_spare() -> None:
    """Y and Z are exchanged, and only one has room: a second one is never better."""
    attempts = Attempts(masks_of_mapping=2)
    assert not attempts.run()
    most = [sum(mask.bit_count() for mask in masks) for masks in attempts.tried]
    assert most[: len(SPARES)] == [4] * len(SPARES)
    assert most[len(SPARES)] == 2
    assert set(most[len(SPARES) + 1 :]) == {4}
    first = attempts.spares[0]
    for spare, share in zip(attempts.spares, SPARES, strict=False):
        assert abs(spare - first * share / SPARES[0]) < 1e-5
