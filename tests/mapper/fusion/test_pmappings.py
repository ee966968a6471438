"""Orders of fused loops."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.mapper.fusion.pmappings.region import FusedLoop, FusedLoops, loop_orders
from tilewright.mapper.fusion.pmappings.tile_reservations import LoopOrder


def placed(*loops: tuple[int, int, int]) -> FusedLoops:
    return tuple(FusedLoop(*loop) for loop in loops)


def variables(ways: Iterable[LoopOrder]) -> set[tuple[int, ...]]:
    return {tuple(variable for variable, _ in way) for way in ways}


def test_loops_of_one_gap_stand_in_any_order() -> None:
    none = {0: frozenset[int](), 1: frozenset[int]()}
    assert variables(loop_orders(placed((0, 0, 0), (1, 0, 0), (2, 1, 0)), none)) == {
        (0, 1, 2),
        (1, 0, 2),
    }
    idle = {0: frozenset[int](), 1: frozenset({0})}
    assert variables(loop_orders(placed((0, 1, 0), (1, 1, 0)), idle)) == {(1, 0)}


def test_the_outer_loop_of_one_variable_comes_first() -> None:
    none = {0: frozenset[int](), 1: frozenset[int]()}
    found = set(loop_orders(placed((0, 0, 4), (0, 0, 0), (1, 0, 0)), none))
    assert found == {
        ((0, 4), (0, 0), (1, 0)), ((0, 4), (1, 0), (0, 0)), ((1, 0), (0, 4), (0, 0)),
    }  # fmt: skip
