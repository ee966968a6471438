"""The rounds of a front: what is stated holds in each of them, and nothing is left at the end."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import pytest
from cascades import cascade_arch, cascade_workload
from explore import at_night

from tilewright.mapper.searches.budget import Budget
from tilewright.simulator.search.cascade_search import Cascade
from tilewright.simulator.search.fronts import box_paths
from tilewright.simulator.search.fronts.front_boxes import unbeaten
from tilewright.simulator.search.fronts.front_walk import FrontWalk
from tilewright.simulator.search.grid_certificate import Costs
from tilewright.simulator.search.grid_mapping import GridRequest, cascade_of, map_on_grid

NAMES = ["normalized rows", *at_night("smoothing", "elementwise chain", "two products")]
OVER = Budget(deadline=0.0)
ROUNDED = 1 + 1e-8


def never() -> bool:
    return False


def nothing() -> None:
    pass


def cascade(name: str, **options: object) -> Cascade:
    workload = cascade_workload(name)
    request = GridRequest()
    return cascade_of(cascade_arch(2, 2), workload, request, counts_energy=True, **options)  # type: ignore[arg-type]


def walk_of(name: str, **options: object) -> FrontWalk:
    """A walk that knows the fastest mapping."""
    run = map_on_grid(cascade_arch(2, 2), cascade_workload(name), GridRequest()).execution
    return FrontWalk(cascade(name, **options), [Costs(run.latency, run.energy)])


def points_of(walk: FrontWalk) -> list[Costs]:
    return unbeaten([*walk._known, *(path.costs for path in walk.paths)])


def farthest(points: list[Costs], mappings: list[Costs]) -> float:
    """The gap that covers all mappings by points."""
    return max(
        min(max(p.latency / m.latency, p.energy / m.energy) for p in points) - 1 for m in mappings
    )


def rounds(walk: FrontWalk) -> Iterator[tuple[float, list[Costs]]]:
    """The gap and the points after each round."""
    seen: list[tuple[float, list[Costs]]] = [(walk.gap, points_of(walk))]
    walk.go_on(never, lambda: seen.append((walk.gap, points_of(walk))))
    yield from seen


@pytest.mark.parametrize("name", NAMES)
def test_in_each_round_the_gap_covers_all_points(name: str) -> None:
    walk = walk_of(name)
    seen = list(rounds(walk))
    front = points_of(walk)
    assert walk.gap == 0
    assert len(front) > (name != "elementwise chain")
    assert seen[0][0] > 0
    for gap, points in seen:
        assert farthest(points, front) <= (1 + gap) * ROUNDED - 1
    assert min(gap for gap, _ in seen[: len(seen) // 2]) < seen[0][0]
    assert walk.executed > 0
    before = walk.executed
    walk.go_on(never, nothing)
    assert walk.executed == before


@pytest.mark.parametrize("name", NAMES[:1])
def test_points_run_and_beat_no_other(name: str) -> None:
    walk = walk_of(name)
    walk.go_on(never, nothing)
    paths = walk.unbeaten_paths
    assert all(path.is_exact for path in paths)
    costs = [path.costs for path in paths]
    assert unbeaten(costs) == costs
    assert set(costs) <= set(points_of(walk))


def test_further_divisions_come_once_the_first_are_done() -> None:
    walk = walk_of("smoothing")
    assert not walk.widen()
    walk.go_on(never, nothing)
    first = points_of(walk)
    assert not walk.has_all_divisions
    assert not walk.widen(OVER)
    assert walk.widen()
    assert not walk.has_all_divisions
    assert walk.gap == 0  # of the first ones
    walk.go_on(never, nothing)
    assert walk.has_all_divisions
    assert walk.gap == 0
    assert len(points_of(walk)) > len(first)
    assert unbeaten([*points_of(walk), *first]) == points_of(walk)


def test_what_takes_too_long_leaves_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    walk = walk_of("normalized rows")
    walk.go_on(lambda: True, nothing)
    assert walk.executed == 0
    assert 0 < walk.gap < inf
    monkeypatch.setattr(box_paths, "MOST_LABELS", -1)
    walk.go_on(never, nothing)
    assert walk.executed == 0
    assert 0 < walk.gap < inf


def test_options_that_were_left_out_count_with_their_floors() -> None:
    whole, short = walk_of("normalized rows"), walk_of("normalized rows", budget=OVER)
    assert not short.cascade.is_whole
    for walk in (whole, short):
        walk.go_on(never, nothing)
    assert whole.gap == 0
    assert 0 < short.gap < inf
    front = points_of(whole)
    assert farthest(points_of(short), front) <= (1 + short.gap) * ROUNDED - 1
