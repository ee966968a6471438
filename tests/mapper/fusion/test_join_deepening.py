"""The search of joined pmappings under rising limits."""

from __future__ import annotations

import pytest
from fused_example import graph_within, join_search, plan

from tilewright.mapper.fusion.join.join_deepening import JoinSearch
from tilewright.mapper.searches.budget import Budget


@pytest.mark.parametrize(("buffer_bits", "energy"), [(12, 2568.0), (8, 3376.0)])
def test_the_optimum_of_the_running_example(buffer_bits: int, energy: float) -> None:
    result = join_search(buffer_bits).solve()
    assert result.label is not None
    assert result.label.energy == energy
    assert result.lower_bound == energy
    assert not result.exhausted


@pytest.mark.parametrize(("buffer_bits", "energy", "templates"), [(12, 2568.0, 60), (8, 3376.0, 0)])
def test_a_start_with_few_placements_changes_no_optimum(
    buffer_bits: int, energy: float, templates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values: list[float] = []
    module = "tilewright.mapper.fusion.join.join_strategy"
    monkeypatch.setattr(f"{module}.LARGE", 0)
    monkeypatch.setattr(f"{module}.FEW_TEMPLATES", templates)
    problem = plan(buffer_bits).problem
    search = JoinSearch(problem, Budget(), lambda value, _: values.append(value))
    result = search.solve()
    assert result.label is not None
    assert result.label.energy == result.lower_bound == energy
    assert min(values) == energy


def test_a_used_up_budget_leaves_a_lower_bound() -> None:
    result = join_search(8, Budget(labels=1)).solve()
    assert result.exhausted
    assert 0 < result.lower_bound <= 3376.0


def test_a_seed_is_never_lost() -> None:
    """A search that starts from the optimum and has no budget returns it."""
    best = join_search(8).solve()
    again = JoinSearch(plan(8).problem, Budget(labels=1), seed=best).solve()
    assert again.label is not None
    assert again.label.energy == 3376.0


def test_graphs_have_the_mappings_within_a_limit() -> None:
    """With 12 bits no capacity binds between the Einsums: the least of the graph is the optimum."""
    search = join_search(12)
    graph = graph_within(search, (2568.0, 1e9))
    assert graph is not None
    assert graph.least_costs[0] == 2568.0
    assert graph_within(search, (2500.0, 1e9)) is None


def test_slices_of_energy_start_at_the_least() -> None:
    slices = list(join_search(12).energy_slices((0.0, 0.5)))
    assert [limit for limit, _ in slices] == [2568.0, 1.5 * 2568.0]
    sizes = [graph.size for _, graph in slices if graph is not None]
    assert len(sizes) == 2
    assert sizes[0] <= sizes[1]


def test_ceilings_of_a_product_are_quotients() -> None:
    """An energy-delay product of P leaves P / least latency for the energy, and the reverse."""
    search = JoinSearch(plan(12, objective="edp").problem, Budget())
    result = search.solve()
    energy, latency = result.least_costs
    assert search.cost_ceilings(1000.0) == (1000.0 / latency, 1000.0 / energy)
