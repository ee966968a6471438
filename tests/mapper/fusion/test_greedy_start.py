"""The start of a fused search that keeps one tensor after the other on chip."""

from __future__ import annotations

from fused_cases import chain
from fused_example import plan

from tilewright.mapper.fusion.join.exchange_choice_bounds import EinsumBounds
from tilewright.mapper.fusion.join.greedy_start import SPARES, ChoiceLimits, GreedyStart
from tilewright.mapper.fusion.join.join_deepening import JoinSearch
from tilewright.mapper.searches.budget import Budget


def test_tensors_are_tried_one_by_one_within_what_is_left() -> None:
    """The chain has two intermediates; each attempt pretends to cost what its Einsums do least."""
    problem = plan(64, chain(4, (2, 4, 2, 3))).problem
    search = JoinSearch(problem, Budget())
    bounds = EinsumBounds(problem, search._builder)
    value = 1e9
    masks: list[list[set[int]]] = []

    def attempt(limits: ChoiceLimits) -> None:
        nonlocal value
        masks.append([{choice.mask for choice in of_einsum} for of_einsum in limits])
        least = [
            bounds.least_below(number, next(iter(of_einsum)).mask, 1e9)
            for number, of_einsum in enumerate(limits)
        ]
        for of_einsum, cost in zip(limits, least, strict=True):
            (limit,) = of_einsum.values()
            spare = min(SPARES[0] * sum(least), value - sum(least))
            assert abs(limit.energy - (cost + spare)) < 1e-6 * sum(least)
        value = sum(least)

    GreedyStart(problem.exchanged, bounds, lambda: value, attempt).run()
    assert [max(map(max, tried)) > 0 for tried in masks] == [True] * len(masks)
    assert sum(len(mask) for mask in masks[-1]) == 3
    assert all(mask != {0} for mask in masks[-1])
    assert value <= search.solve().lower_bound


def test_einsums_may_cost_more_until_a_mapping_is_better() -> None:
    """Attempts with little to spare come first; each candidate ends with the most to spare."""
    problem = plan(64, chain(3, (2, 4, 2, 3))).problem
    bounds = EinsumBounds(problem, JoinSearch(problem, Budget())._builder)
    most: list[float] = []

    def attempt(limits: ChoiceLimits) -> None:
        most.append(sum(limit.energy for of_einsum in limits for limit in of_einsum.values()))

    GreedyStart(problem.exchanged, bounds, lambda: 1e9, attempt).run()
    assert most
    assert len(most) % len(SPARES) == 0
    for first in range(0, len(most), len(SPARES)):
        tried = most[first : first + len(SPARES)]
        assert tried == sorted(set(tried))
