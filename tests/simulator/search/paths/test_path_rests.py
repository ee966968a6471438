"""What is left of a path: never more than it costs, and no step makes it less by more than that."""

from __future__ import annotations

from math import inf
from operator import attrgetter

import pytest
from cascades import cascade_arch, cascade_workload
from explore import at_night

from tilewright.simulator.search.cascade_search import Cascade
from tilewright.simulator.search.grid_mapping import GridRequest, cascade_of
from tilewright.simulator.search.paths import cost_tables, path_rests
from tilewright.simulator.search.paths.path_graph import Contents, PathQuestion, Rest

NAMES = ("two products", "normalized rows", "smoothing", "elementwise chain")
MOST_STATES = 400


def cascade(name: str) -> Cascade:
    return cascade_of(cascade_arch(2, 2), cascade_workload(name), GridRequest())


def rest_of(paths: Cascade, question: PathQuestion) -> Rest:
    return paths.rests(question, attrgetter("bound")).of


@pytest.mark.parametrize("most", [4, path_rests.MOST_COSTS, *at_night(60)])
@pytest.mark.parametrize("reshards", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_no_step_makes_the_rest_less_by_more_than_it_costs(
    name: str, reshards: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds for small tables, too, from which tensors are left out."""
    monkeypatch.setattr(path_rests, "MOST_COSTS", most)
    monkeypatch.setattr(cost_tables, "MOST_COSTS", most)
    paths, question = cascade(name), PathQuestion("bound", reshards)
    rest, states = rest_of(paths, question), [(0, start) for start in paths.space.starts]
    seen, checked = set(states), 0
    while states and len(seen) < MOST_STATES:
        number, contents = states.pop()
        if number == len(paths.options):
            assert rest(number, contents) == 0
            continue
        before = rest(number, contents)
        for step in paths._steps(number, contents):
            if not reshards and any(move.is_reshard for move in step.moves):
                continue
            cost = step.search.bound + sum(move.bound for move in step.moves)
            behind = rest(number + 1, step.after)
            assert before <= (cost + behind) * (1 + 1e-12)
            checked += cost + behind < inf
            if (number + 1, step.after) not in seen:
                seen.add((number + 1, step.after))
                states.append((number + 1, step.after))
    assert checked > (20 if reshards else 3)


@pytest.mark.parametrize("name", NAMES)
def test_the_least_path_is_that_of_a_search_without_rests(name: str) -> None:
    paths = cascade(name)

    def nothing(_number: int, _contents: Contents) -> float:
        return 0.0

    for reshards in (False, True):
        question = PathQuestion("bound", reshards)
        least, plain = paths.best_path(question), paths.graph.best_path(question, nothing)
        assert least is not None
        assert plain is not None
        assert least.value == pytest.approx(plain.value, rel=1e-12)
        rest = rest_of(paths, question)(0, paths.space.starts[0])
        assert rest == pytest.approx(least.value, rel=1e-12)  # all tiles fit beside what stays
