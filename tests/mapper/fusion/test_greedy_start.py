"""The start of a fused search that keeps one tensor after the other on chip."""

from __future__ import annotations

from fused_cases import chain
from fused_example import plan

from tilewright.mapper.fusion.join.exchange_choice_bounds import EinsumBounds
from tilewright.mapper.fusion.join.greedy_start import ChoiceLimits, GreedyStart
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
            assert abs(limit.energy - (cost + value - sum(least))) < 1e-6 * value
        value = sum(least)

    GreedyStart(problem.exchanged, bounds, lambda: value, attempt).run()
    assert [max(map(max, tried)) > 0 for tried in masks] == [True] * len(masks)
    assert sum(len(mask) for mask in masks[-1]) == 3
    assert all(mask != {0} for mask in masks[-1])
    assert value <= search.solve().lower_bound
