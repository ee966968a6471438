"""What may be a further point is in a box, and floors say how far it may be from the points."""

from __future__ import annotations

import random
from math import inf

import pytest

from tilewright.simulator.search.fronts.front_boxes import (
    NEARLY,
    BoxFloors,
    FrontBox,
    boxes_of,
    unbeaten,
)
from tilewright.simulator.search.grid_certificate import Costs, PricedTime


def drawn(seed: int, number: int = 40) -> list[Costs]:
    rng = random.Random(seed)
    return [Costs(rng.randint(10, 99), rng.randint(10, 99)) for _ in range(number)]


def is_in(point: Costs, box: FrontBox) -> bool:
    return point.latency < box.below.latency and point.energy < box.below.energy


def is_beaten(point: Costs, front: list[Costs]) -> bool:
    return any(p.latency <= point.latency and p.energy <= point.energy for p in front)


@pytest.mark.parametrize("seed", range(20))
def test_points_are_in_boxes_if_none_of_a_front_beats_them(seed: int) -> None:
    front = unbeaten(drawn(seed, 6))
    assert front == sorted(front)
    boxes = boxes_of(front)
    assert len(boxes) == len(front) + 1
    for point in drawn(seed + 100):
        assert any(is_in(point, box) for box in boxes) == (not is_beaten(point, front))
        for box in boxes:
            if is_in(point, box):
                assert point.value(box.objective) < box.top


def test_what_differs_by_rounding_is_one_point() -> None:
    rounded = 5.0 * (1 - 1e-12)
    assert unbeaten([Costs(2.0, rounded), Costs(1.0, 5.0)]) == [Costs(1.0, 5.0)]
    assert unbeaten([Costs(1.0, 5.0), Costs(1.0, 4.0), Costs(2.0, 4.0)]) == [Costs(1.0, 4.0)]
    (left, below) = boxes_of([Costs(1.0, 5.0)])
    assert left.below == (NEARLY, inf)
    assert below.below == (inf, 5.0 * NEARLY)


def test_the_line_of_a_box_has_both_its_points() -> None:
    fast, frugal = Costs(2.0, 9.0), Costs(4.0, 5.0)
    _, box, _ = boxes_of([fast, frugal])
    assert box.objective == PricedTime(2.0)
    assert fast.value(box.objective) == frugal.value(box.objective) == 13.0
    assert box.top == pytest.approx(17.0)


@pytest.mark.parametrize("seed", range(60))
def test_floors_hold_in_boxes_within_others_and_gaps_cover_all(seed: int) -> None:
    """Of a set of mappings some are known; floors are the least values in boxes of fewer points."""
    mappings, rng = drawn(seed), random.Random(seed)
    floors = BoxFloors(Costs(5.0, 5.0))
    known = unbeaten(rng.sample(mappings, 2))
    for number in (0, 2, 4):
        for box in boxes_of(known):
            values = [m.value(box.objective) for m in mappings if is_in(m, box)]
            assert floors.of(box) <= min(values, default=box.top)
            if rng.random() < 0.7:
                floors.note(box, min(values, default=inf) * rng.choice([1.0, 0.8]))
                assert floors.of(box) <= min(values, default=box.top)
        gap = max(map(floors.gap_of, boxes_of(known)))
        assert (gap == 0) <= all(is_beaten(m, known) for m in mappings)
        for mapping in mappings:
            assert any(
                k.latency <= mapping.latency * (1 + gap) * (1 + 2e-9)
                and k.energy <= mapping.energy * (1 + gap) * (1 + 2e-9)
                for k in known
            )
        known = unbeaten([*known, *rng.sample(mappings, 3 + number)])


def test_an_empty_box_has_no_gap() -> None:
    floors = BoxFloors(Costs(0.0, 0.0))
    left, between, below = boxes_of([Costs(2.0, 9.0), Costs(4.0, 5.0)])
    assert floors.gap_of(left) == inf
    floors.note(left, inf)
    floors.note(below, 4.0)
    floors.note(between, 13.0)
    assert floors.gap_of(left) == 0
    assert floors.gap_of(below) == pytest.approx(0.25)
    assert floors.gap_of(between) == pytest.approx(4 / 13)
    assert floors.least == pytest.approx((2.0, 4.0))
