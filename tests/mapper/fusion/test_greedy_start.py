"""The start of a fused search that keeps one tensor after the other on chip."""

from __future__ import annotations

from math import inf

import pytest
from fused_cases import chain
from fused_example import machine, plan

from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.fusion.bounds.exchange_choice_bounds import EinsumBounds
from tilewright.mapper.fusion.fused_answer import mapping_of_joined, tensors_on_chip
from tilewright.mapper.fusion.fused_plan import plan_fused_search
from tilewright.mapper.fusion.fused_problem import OBJECTIVE_VALUES
from tilewright.mapper.fusion.groups.fusion_groups import EqualParts, JoinedMapping, PartLimits
from tilewright.mapper.fusion.groups.greedy_start import GreedyStart
from tilewright.mapper.fusion.join.join_deepening import JoinSearch
from tilewright.mapper.fusion.pmappings import pmapping_builder
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.request import request_of
from tilewright.studies import path_of

LEAKING_PAIR = """
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: 484, K: 32, N: 16, P: 32}
  einsums:
  - {einsum: "Y[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: Y}}
  - {einsum: "Z[m, p] = Y[m, n] * C[n, p]", renames: {input: Y, weight: C, output: Z}}
"""


class Start:
    """A greedy start that notes which parts it joins, and what the mappings cost that it takes."""

    def __init__(self, capacity: int) -> None:
        self.problem = plan(capacity, chain(6, (2, 4, 2, 4, 2, 4))).problem
        self.search = JoinSearch(self.problem, Budget())
        self.bounds = EinsumBounds(self.problem, self.search._builder)
        self.joined: list[tuple[int, int]] = []
        self.values: list[float] = []

    def join(self, part: PartLimits) -> JoinedMapping | None:
        """Join a part as the search does."""
        self.joined.append((part.first, len(part.limits)))
        return self.search._joins.of_part(part)

    def run(self) -> bool:
        """Run the greedy start."""
        return GreedyStart(self.problem, self.bounds, self.join, self.take).run()

    def take(self, mapping: JoinedMapping) -> None:
        """Note what a mapping of the workload costs; the search takes it."""
        self.values.append(mapping.label.energy)
        self.search._take(mapping)


def test_all_tensors_are_tried_at_once() -> None:
    start = Start(1000)
    assert start.run()
    assert start.joined[-1] == (0, 5)
    assert start.values[-1] == pytest.approx(start.search.solve().lower_bound)


def test_groups_grow_and_the_model_confirms_what_they_cost_together() -> None:
    """Tensors on chip link Einsums 0 and 1, and 2 and 3; nothing stays on chip between these."""
    start = Start(200)
    assert not start.run()
    assert start.values == sorted(start.values, reverse=True)
    pairs = [part for part in start.joined if part[1] == 2]
    assert start.joined[:5] == [(n, 1) for n in range(5)]
    assert {(0, 2), (2, 2)} <= set(pairs)
    best = start.search._best.mapping
    assert best is not None
    assert tensors_on_chip(start.search._result(None)) == ("T1", "T3")
    mapping = mapping_of_joined(best, start.problem.exchanged)
    workload = start.problem.exchanged.workload
    assert evaluate(machine(200), workload, mapping).energy == start.values[-1]
    assert start.values[-1] >= start.search.solve().lower_bound > 0
    parts = EqualParts(start.problem)
    assert parts.key(1, 2) == parts.key(3, 4) != parts.key(2, 3)


def test_where_leakage_is_much_a_start_uses_many_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []
    for leaks_much in (pmapping_builder.LEAKS_MUCH, inf):
        monkeypatch.setattr(pmapping_builder, "LEAKS_MUCH", leaks_much)
        request = request_of(path_of("hardware", "gpu_like"), LEAKING_PAIR, {})
        problem = plan_fused_search(request, "energy", OBJECTIVE_VALUES["energy"]).problem
        label = JoinSearch(problem.with_few_placements(6), Budget()).solve().label
        assert label is not None
        starts.append(label)
    assert starts[0].latency < 0.6 * starts[1].latency
    assert starts[0].energy < 0.9 * starts[1].energy
