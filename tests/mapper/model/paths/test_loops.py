"""Loops of a path: tiles above and below, turns, remainders, steps."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from running_example import LANES, LOOPS, path_of, view_of

from tilewright.mapper.model.paths.loops import (
    PathLoop,
    average_turns,
    loops_of,
    parts,
    swapped_variables,
    temporal_steps,
)
from tilewright.mapper.workload.errors import MappingError


def temporal(outer: int, tile: int, initial: int | None = None, *, outermost: bool = True):
    even = initial in (None, tile) and outer % tile == 0
    return PathLoop("m", outer, tile, initial, None, "", even, outermost)


def test_loops_of_the_running_example() -> None:
    loops = loops_of(path_of(), view_of())
    assert loops == {
        3: PathLoop("m", 8, 2, None, None, "", even=True, outermost=True),
        5: PathLoop("n", 2, 1, None, None, "", even=True, outermost=True),
        6: PathLoop("k", 4, 1, None, None, "", even=True, outermost=True),
        7: PathLoop("m", 2, 1, None, None, "", even=True, outermost=False),
    }
    assert [loop.turns for loop in loops.values()] == [4, 2, 4, 2]
    lanes = loops_of(path_of(LANES), view_of())
    assert [(loop.spatial, loop.dim) for loop in lanes.values()] == [
        (None, ""), ("MAC", "x"), (None, ""), ("MAC", "y"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Temporal {rank_variable: k", "Temporal {rank_variable: q", "no rank variable 'q'"),
        ("m, tile_shape: 2", "m, tile_shape: 9", "tile_shape of a loop over m is outside"),
        ("m, tile_shape: 2", "m, tile_shape: 2, initial_tile_shape: 9", "initial_tile_shape of a"),
        ("n, tile_shape: 1", "n, tile_shape: 2", "has to reach tile_shape 1"),
    ],
)
def test_what_the_einsum_does_not_allow_is_refused(old: str, new: str, words: str) -> None:
    assert old in LOOPS
    with pytest.raises(MappingError, match=words) as caught:
        loops_of(path_of(LOOPS.replace(old, new)), view_of())
    assert caught.value.where is not None


def test_parts_come_in_order_of_time() -> None:
    assert parts(temporal(11, 8), 11) == ((8, 1), (3, 1))
    assert parts(temporal(12, 4), 12) == ((4, 3),)
    assert parts(temporal(7, 3, initial=2), 7) == ((2, 1), (3, 1), (2, 1))
    assert parts(temporal(7, 3, initial=4), 3) == ((3, 1),)  # the first tile takes all there is


@given(st.integers(1, 60), st.data())
def test_parts_add_up_to_the_tile_above(outer: int, data: st.DataObject) -> None:
    tile = data.draw(st.integers(1, outer))
    initial = data.draw(st.none() | st.integers(1, outer))
    loop = temporal(outer, tile, initial)
    sizes = parts(loop, outer)
    assert sum(size * often for size, often in sizes) == outer
    assert sum(often for _, often in sizes) == loop.turns
    assert max(size for size, _ in sizes) <= loop.largest


def test_steps_add_in_time_and_run_side_by_side_on_lanes() -> None:
    """7 in tiles of 3, 3, 1: seven steps. 11 over 8 lanes in two rounds: two steps."""
    assert temporal_steps([temporal(7, 3), temporal(3, 1, outermost=False)], 7) == 7
    lane = PathLoop("m", 8, 1, None, "MAC", "x", even=True, outermost=False)
    assert temporal_steps([temporal(11, 8), lane], 11) == 2
    wide = PathLoop("m", 8, 4, None, "MAC", "x", even=True, outermost=False)
    assert temporal_steps([temporal(11, 8), wide, temporal(4, 1, outermost=False)], 11) == 4 + 3
    assert temporal_steps([], 5) == 1


def test_average_turns_have_no_remainder() -> None:
    assert average_turns(temporal(11, 8), rounds_up=False) == Fraction(11, 8)
    assert average_turns(temporal(11, 8), rounds_up=True) == 2
    assert average_turns(temporal(11, 8, outermost=False), rounds_up=True) == Fraction(11, 8)
    assert average_turns(temporal(12, 4), rounds_up=False) == 3


def test_variables_whose_loops_change_places() -> None:
    loops = loops_of(path_of(), view_of())
    assert swapped_variables([3, 5, 6, 7], loops) == frozenset()
    assert swapped_variables([7, 5, 6, 3], loops) == {"m"}
    assert swapped_variables([6, 5], loops) == frozenset()  # loops over different variables
