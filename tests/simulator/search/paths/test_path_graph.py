"""The least path of a graph of options equals the least of all paths, one by one."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import cast

import pytest

from tilewright.simulator.exchanges.exchange_move import Move
from tilewright.simulator.search.candidate_search import CandidateSearch
from tilewright.simulator.search.paths import path_graph
from tilewright.simulator.search.paths.path_graph import (
    Contents,
    OptionPath,
    OptionStep,
    PathGraph,
    PathQuestion,
    PathsLeft,
    Which,
)

DEPTH = 4


@dataclass(eq=False)
class _Item:
    """Stands for a search or a move: what a walk asks of it."""

    bound: float
    value: float
    is_reshard: bool = False


def _item(rng: random.Random) -> _Item:
    bound = rng.randint(1, 9)
    return _Item(
        bound, inf if rng.random() < 0.2 else bound + rng.randint(0, 3), rng.random() < 0.4
    )


class _Case:
    """A random graph. `steps`: by Einsum and what is held in front of it."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.steps: dict[tuple[int, Contents], list[OptionStep]] = {}
        for number in range(DEPTH):
            for place in range(3):
                self.steps[number, self._held(number, place)] = [
                    OptionStep(
                        self._held(number + 1, rng.randrange(3)),
                        cast("CandidateSearch", _item(rng)),
                        tuple(cast("Move", _item(rng)) for _ in range(rng.randrange(3))),
                    )
                    for _ in range(rng.randint(0, 4))
                ]

    @staticmethod
    def _held(number: int, place: int) -> Contents:
        return Contents((("T", place),)) if 0 < number < DEPTH else Contents()

    def steps_of(self, number: int, held: Contents) -> Sequence[OptionStep]:
        return self.steps[number, held]

    def sums(self, number: int, held: Contents, which: str, *, reshards: bool) -> Iterator[float]:
        """Yield the sums of all paths from a state on."""
        if number == DEPTH:
            yield 0.0
            return
        for step in self.steps[number, held]:
            if reshards or not any(move.is_reshard for move in step.moves):
                here = sum(getattr(item, which) for item in (step.search, *step.moves))
                for behind in self.sums(number + 1, step.after, which, reshards=reshards):
                    yield here + behind

    def least(self, which: str, *, reshards: bool) -> float:
        return min(self.sums(0, Contents(), which, reshards=reshards), default=inf)

    def rest(self, which: str) -> Callable[[int, Contents], float]:
        behind = self.behind(which)
        return lambda number, _: behind[number]

    def behind(self, which: str) -> list[float]:
        least = [
            min((getattr(s.search, which) for (n, _), of in self.steps.items() if n == number
                 for s in of), default=inf)
            for number in range(DEPTH)
        ]  # fmt: skip
        return [sum(least[number:]) for number in range(DEPTH + 1)]


@pytest.mark.parametrize("seed", range(40))
def test_the_path_is_the_least_of_all(seed: int) -> None:
    case = _Case(seed)
    graph = PathGraph(DEPTH, case.steps_of)
    kinds: tuple[Which, ...] = ("bound", "value")
    for which in kinds:
        for reshards in (False, True):
            behind, least = case.rest(which), case.least(which, reshards=reshards)
            path = graph.best_path(PathQuestion(which, reshards), behind)
            assert (inf if path is None else path.value) == least
            assert path is None or path.value == _sum(path, which)
            below = graph.best_path(PathQuestion(which, reshards, least), behind)
            assert below is None
    for step in case.steps[0, Contents()]:
        step.search.bound = 100  # type: ignore[misc]  # bounds change between walks
    again = graph.best_path(PathQuestion("bound"), case.rest("bound"))
    assert (inf if again is None else again.value) == case.least("bound", reshards=True)


def bound_shown(case: _Case, question: PathQuestion) -> float:
    try:
        path = PathGraph(DEPTH, case.steps_of).best_path(question, case.rest("bound"))
    except PathsLeft as left:
        return left.bound
    return inf if path is None else path.value


@pytest.mark.parametrize("seed", range(40))
def test_a_search_that_ends_before_has_a_bound_and_any_path(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = _Case(seed)
    least = case.least("bound", reshards=True)
    for visits in range(12):
        asked = iter(range(visits))
        question = PathQuestion("bound", is_over=lambda left=asked: next(left, None) is None)
        assert bound_shown(case, question) <= least
    whole = PathQuestion("bound")
    assert bound_shown(case, whole) == least
    hasty = PathQuestion("bound", is_hasty=True, is_over=lambda: True)
    graph = PathGraph(DEPTH, case.steps_of)
    path = graph.best_path(hasty, case.rest("bound"))
    assert (path is None) == (least == inf)
    assert path is None or least <= path.value == _sum(path, "bound")
    monkeypatch.setattr(path_graph, "MOST_STEPS", -1)
    if least < inf:
        with pytest.raises(PathsLeft):
            PathGraph(DEPTH, case.steps_of).best_path(PathQuestion("bound"), case.rest("bound"))


def _sum(path: OptionPath, which: str) -> float:
    assert len(path.searches) == DEPTH
    return sum(getattr(item, which) for item in (*path.searches, *path.moves))
