"""Elements of a line wait for each other's words: what one of them does not take, stops others."""

import numpy as np
import pytest
from grid_mappings import einsum_workload, grid_arch

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.simulator.lowering.lower_bound.stream_times import StreamTimes
from tilewright.simulator.lowering.plan import plan_of
from tilewright.simulator.profiles.profile import load_profile

PROFILE = load_profile("wse2-sdk-sim")
ROUTER = PROFILE.router_buffer_words + PROFILE.hop_cycles - 1
QUEUE = max(PROFILE.input_queue_words) + PROFILE.arrival_to_execute_cycles - 1


COLUMNS, ROWS = 3, 4


def streamed(tiles: int) -> StreamTimes:
    """Return the times of a stream along rows, with so many tiles a period."""
    form = "matrix product"
    flat, einsum = grid_arch(form, 32, COLUMNS, ROWS), einsum_workload(form).einsums[0]
    space = GridMapspace(grid_of(flat), einsum)
    for family in space.families():
        plan = plan_of(space_time(flat, einsum, space.mapping_of(space.members(family)[0])))
        for stream in plan.streams:
            if (stream.lines, stream.tiles, plan.read.columns) == ("rows", tiles, COLUMNS):
                return StreamTimes(plan, stream, PROFILE)
    raise AssertionError(f"no stream of {tiles} tiles")


def ends_of_first_row(times: StreamTimes, begun: list[float]) -> list[float]:
    """Return when its elements have a tile; `begun`: when each could take the first word."""
    rows = times.plan.read.rows
    ends = times.received(np.array([begun] * rows), float(times.stream.tile_words))
    return [float(end) for end in ends[0]]


def test_the_words_of_a_tile_for_all_wait_for_the_last_element() -> None:
    times, late = streamed(1), 10_000.0
    words = times.stream.tile_words
    ends = ends_of_first_row(times, [0.0, 0.0, late])
    assert ends[2] == late + words
    for column in range(2):
        taken = words - 1 - ROUTER * (2 - column) - QUEUE
        if taken < 0:
            assert ends[column] < late
        else:
            assert late + taken < ends[column] <= late + words


def test_tiles_of_elements_further_on_stand_behind_one_that_is_not_taken() -> None:
    times, late = streamed(COLUMNS), 10_000.0
    words = times.stream.tile_words
    first, second, third = ends_of_first_row(times, [late, 0.0, 0.0])
    assert first == late + words
    assert third - second == words + PROFILE.hop_cycles
    taken = words - 1 - QUEUE
    if taken >= 0:
        assert second >= late + taken + words


@pytest.mark.parametrize("tiles", [1, COLUMNS])
def test_words_come_one_in_a_cycle(tiles: int) -> None:
    times = streamed(tiles)
    words = times.stream.tile_words
    ends = ends_of_first_row(times, [0.0] * COLUMNS)
    count = words * np.minimum(np.arange(COLUMNS) + 1, tiles)
    way = np.arange(COLUMNS) * PROFILE.hop_cycles + PROFILE.arrival_to_execute_cycles
    assert (np.array(ends) >= count + way).all()
    assert times.words[0].tolist() == count.tolist()
