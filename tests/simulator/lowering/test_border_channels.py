"""How the places of a side share its channels: no more words in a cycle, all in about one time."""

from dataclasses import replace

import pytest
from grid_mappings import random_space_time

from tilewright.mapper.grid.host_streams import host_streams
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.lowering.border_channels import (
    UNLIMITED,
    SideLoad,
    entry_side,
    paced_streams,
    word_intervals,
)
from tilewright.simulator.lowering.plan import plan_of, program_of, with_reduction


def test_the_example_of_a_wafer() -> None:
    assert word_intervals([SideLoad(720, 16)], 60) == [12]
    assert word_intervals([SideLoad(60, 16)], 60) == [1]
    assert word_intervals([], 60) == []


def test_loads_have_the_part_of_the_channels_that_they_have_of_the_words() -> None:
    loads = [SideLoad(120, 10), SideLoad(120, 30), SideLoad(1, 400)]
    intervals = word_intervals(loads, 60)
    assert intervals == [9, 3, 1]
    assert sum(load.places / each for load, each in zip(loads, intervals, strict=True)) <= 60
    times = [load.words * each for load, each in zip(loads, intervals, strict=True)]
    assert max(times) <= (120 * 10 + 120 * 30 + 400) / 60 + max(load.words for load in loads)


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_no_side_of_a_program_passes_more_words_than_it_has_channels(channels: int) -> None:
    slow = 0
    for seed in range(80):
        try:
            plan = plan_of(random_space_time(seed)[1], channels=channels)
        except InfeasibleMapping:
            continue
        program = program_of(plan)
        for ports in (program.edge_inputs, program.edge_outputs):
            for side in "NESW":
                shared = [port for port in ports if port.side == side]
                places = {p for q in shared for p in range(q.first, q.first + q.positions)}
                if len(places) > channels:
                    slow += 1
                    assert sum(port.positions / port.interval for port in shared) <= channels
                else:
                    assert all(port.interval == 1 for port in shared)
        other = with_reduction(plan_of(plan.read, channels=channels), plan.read.reduction)
        assert program_of(other).edge_outputs == program.edge_outputs
    assert slow > 30


def test_streams_differ_in_their_interval_only() -> None:
    for seed in range(40):
        try:
            read = random_space_time(seed)[1]
        except InfeasibleMapping:
            continue
        streams = host_streams(read)
        assert paced_streams(streams, UNLIMITED) == streams
        paced = paced_streams(streams, 1)
        assert tuple(replace(stream, interval=1) for stream in paced) == streams
        assert {entry_side(stream) for stream in paced} <= {"W", "N"}
