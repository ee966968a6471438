"""What is known of the options of a cascade, and tables of what steps cost."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from cascades import cascade_arch, cascade_workload

from tilewright.simulator.search.cascade_search import Cascade
from tilewright.simulator.search.fronts.cascade_items import CascadeItems, StepCosts
from tilewright.simulator.search.grid_certificate import Costs, GridObjective, PricedTime
from tilewright.simulator.search.grid_mapping import GridRequest, cascade_of
from tilewright.simulator.search.paths.path_graph import PathQuestion

OBJECTIVES: tuple[GridObjective, ...] = ("latency", "energy", PricedTime(0.02))


def cascade(name: str) -> Cascade:
    workload = cascade_workload(name)
    return cascade_of(cascade_arch(2, 2), workload, GridRequest(), counts_energy=True)


@pytest.mark.parametrize("name", ["two products", "smoothing"])
def test_searches_stand_for_the_mappings_that_fit(name: str) -> None:
    paths = cascade(name)
    items = CascadeItems(paths)
    assert len(items.fronts) == sum(
        len(option.by_persistent) for option in chain.from_iterable(paths.options)
    )
    for option in chain.from_iterable(paths.options):
        for words in (option.most_words, option.most_words - 1):
            search = option.search(words)
            fitting = [f for f in option.families if f.words <= words]
            if search is None:
                assert not fitting
                continue
            front, most = items.of_search(search)
            assert [item.entry.family for item in front.items if item.words <= most] == [
                family.family for family in fitting
            ]
        for objective in OBJECTIVES:
            least = min(family.costs.value(objective) for family in option.families)
            assert items.least(option, objective) == pytest.approx(least, rel=1e-12)


@pytest.mark.parametrize("name", ["smoothing", "elementwise chain"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_tables_have_the_bounds_of_all_steps(name: str, objective: GridObjective) -> None:
    paths = cascade(name)
    items = CascadeItems(paths)
    costs = StepCosts(paths, items, objective)
    states = list(paths.graph.starts)
    for _ in range(paths.graph.depth):
        after = dict[int, None]()
        for state in states:
            table = paths.graph.steps_from(state)
            after.update(dict.fromkeys(table.targets.tolist()))
            moved, least = costs.moved(table.moves), costs.least_of(table.searches)
            rows, places = costs.of_rows(table.searches)
            for row, step in enumerate(table.steps):
                bounds = [move.bounds for move in step.moves]
                total = Costs(sum(b.latency for b in bounds), sum(b.energy for b in bounds))
                assert moved[row] == pytest.approx([*total, total.value(objective)])
                front, words = items.of_search(step.search)
                numbers = front.unbeaten(words)
                assert costs.numbers[places[rows == row]].tolist() == numbers.tolist()
                values = costs.of_items[places[rows == row]]
                assert values[:, :2].tolist() == front.costs(numbers).tolist()
                assert least[row].tolist() == values.min(axis=0).tolist()
        states = list(after)


def test_places_of_states_are_those_of_bounds_of_what_is_left() -> None:
    paths = cascade("elementwise chain")
    items, rests = CascadeItems(paths), paths.rests(PathQuestion("bound"), lambda o: o.bound)
    (start,) = paths.graph.starts
    targets = np.unique(paths.graph.steps_from(start).targets)
    places = items.places(targets, rests.places_of)
    expected = [rests.of(*paths.graph.states[state]) for state in targets]
    assert rests.of_rows(1, places).tolist() == expected
    assert len({tuple(row) for row in places.tolist()}) == targets.size
