"""The proof's own reading of a mapping: loops, holders and steps above each Compute."""

from __future__ import annotations

from mapping_inputs import FUSED, GOOD, mapping

from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.verification.einsum_schedule import (
    common_loops,
    schedules_of,
    turning_above,
    turns_of_loops,
    with_lanes_below,
)


def test_branches_share_what_stands_above_their_sequential() -> None:
    first, second = schedules_of(load_mapping(FUSED))
    assert (first.einsum, second.einsum) == ("Y", "Z")
    assert [loop.variable for loop in first.loops] == ["m", "m", "n"]
    assert second.loops == first.loops[:1]
    assert common_loops(first, second) == 1
    assert (first.loops[0].tile, first.loops[0].first) == (2, 3)
    assert (first.loops[1].component, first.loops[1].dim) == ("PE", "x")
    assert [holder.loops_above for holder in first.holders] == [0, 0, 0, 0, 1]
    assert first.outermost_holder("A") == first.holders[0]
    assert first.holders[0].is_persistent


def test_lanes_below_a_holder_of_a_memory_above_their_fanout() -> None:
    """Only such holders are made anew: a long chain has thousands of others."""
    schedule, _ = schedules_of(load_mapping(FUSED))
    levels = {"DRAM": 0, "BUF": 1, "PE": 2, "MAC": 3} | {
        holder.component: 0 for holder in schedule.holders
    }
    placed = with_lanes_below(schedule, levels)
    for before, after in zip(schedule.holders, placed.holders, strict=True):
        above = schedule.loops[: before.loops_above]
        assert after.lanes_below == {n for n, loop in enumerate(above) if loop.is_spatial}
        assert after.lanes_below or after is before


def test_einsums_in_lists_of_their_own_share_no_loop() -> None:
    (schedule,) = schedules_of(mapping(GOOD))
    assert common_loops(schedule, schedule) == 0
    assert schedule.component == "MAC"


def test_turns_over_bounds_that_tiles_do_not_divide() -> None:
    first, _ = schedules_of(load_mapping(FUSED))
    assert turns_of_loops(first, {"m": 8, "n": 5}) == [4, 3, 5]  # m: 3, 2, 2, 1
    assert turns_of_loops(first, {"m": 8}) == [4, 3, 1]  # n is no variable of the Einsum


def test_loops_that_turn_above_a_holder() -> None:
    (schedule,) = schedules_of(mapping(GOOD))
    dram, *_, buffer = schedule.holders
    assert turning_above(dram, schedule, {"m": 4, "k": 6}) == []
    assert turning_above(buffer, schedule, {"m": 4, "k": 6}) == [schedule.loops[0]]
    assert turning_above(buffer, schedule, {"m": 2, "k": 6}) == []


def test_a_toll_is_no_place_where_a_tensor_is_held() -> None:
    text = GOOD.replace(
        "Storage {tensors: [A, B, Z]",
        "Toll {tensors: [A], component: LINK}\nStorage {tensors: [A, B, Z]",
    )
    (schedule,) = schedules_of(mapping(text))
    assert schedule.holders[0].is_toll
    held = schedule.outermost_holder("A")
    assert held is not None
    assert held.component == "DRAM"
