"""Runs of some columns alone: when words leave them, when they rest, when they end."""

import numpy as np
import pytest
from line_programs import line_program
from passing_programs import passing_program

from tilewright.simulator.compile import columns as at
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.quotient.narrow_run import NarrowRun, may_depend_on_data
from tilewright.simulator.quotient.passing_streams import PassingStreams, passing_streams
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

WSE3 = load_profile("wse3-sdk-sim")
WORK = "@fmuls tile, tile, #2.0"
TEXT = line_program(
    5, 3, f"@fmovs tile, in\n    {WORK}",
    "route a [0:1, 0:4] rx W tx ER\nroute a [0:1, 4:5] rx W tx R",
)  # fmt: skip


def row(text: str = TEXT) -> PassingStreams:
    return passing_streams(parse_program(text, "row.txt"), 1)


def test_words_leave_a_hop_later_per_column() -> None:
    streams, passed = row(), []
    for columns in (1, 2, 3):
        run = NarrowRun(streams, np.arange(columns), WSE3)
        run.step_to_end()
        passed.append(run.passed(streams.streams[0]))
    assert np.diff(passed[0][0]).tolist() == [1, 1]
    assert (passed[1] - passed[0] == WSE3.hop_cycles).all()
    assert (passed[2] - passed[1] == WSE3.hop_cycles).all()


def test_a_column_rests_before_its_words_come_and_after_its_end() -> None:
    run = NarrowRun(row(), np.arange(4), WSE3)
    run.step_to(3)
    first = run.rests(3)
    run.step_to(7)
    waits = run.rests(3)
    run.step_to(14)
    works = run.rests(3)
    run.step_to_end()
    assert (first, waits, works, run.rests(3)) == (False, True, False, True)


@pytest.mark.parametrize("seed", range(0, 60, 4))
def test_the_last_end_is_that_of_the_machine(seed: int) -> None:
    """What leaves a column is not its end; so the columns are compared without such ports."""
    streams = passing_streams(passing_program(seed), 2)
    run = NarrowRun(streams, np.arange(6), WSE3)
    try:
        run.step_to_end()
    except NotCovered:
        pytest.skip("some columns alone do not end")
    assert run.ends().max() == max(run.store[at.S_END], run.last_outside)


def test_ends_are_by_column() -> None:
    streams = row()
    run = NarrowRun(streams, np.arange(4), WSE3)
    run.step_to_end()
    ends = run.ends()
    assert np.diff(ends).tolist() == [WSE3.hop_cycles] * 3
    whole = Machine(streams.program, WSE3).cycles()
    assert whole == ends[-1] + WSE3.hop_cycles


BY_DATA = f"k = add.i32 #1, #2\n    if k < 2\n      {WORK}"
PLACE_BY_DATA = "k = add.i32 #1, #2\n    @fmuls tile, tile[1*k], #2.0"
BESIDE = f"k = add.i32 #1, #2\n    loop i 2\n      {WORK}"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("count 3", "count 4", "do not end"),
        (WORK, BY_DATA, "depends on data"),
    ],
)
def test_refused(old: str, new: str, reason: str) -> None:
    streams = row(TEXT.replace(old, new))
    with pytest.raises(NotCovered, match=reason):
        NarrowRun(streams, np.arange(3), WSE3).step_to_end()


def test_counters_of_data_that_decide_nothing() -> None:
    """The cycles of the columns alone are those of the machine, which has the values, too."""
    streams = row(TEXT.replace(WORK, BESIDE))
    run = NarrowRun(streams, np.arange(3), WSE3)
    run.step_to_end()
    ends = run.ends()
    assert np.diff(ends).tolist() == [WSE3.hop_cycles] * 2
    hops_left = streams.program.width - len(ends)
    assert Machine(streams.program, WSE3).cycles() == ends[-1] + hops_left * WSE3.hop_cycles
    once = NarrowRun(row(), np.arange(3), WSE3)
    once.step_to_end()
    assert (ends > once.ends()).all(), "the loop beside the counter runs twice"


@pytest.mark.parametrize(
    ("work", "may"), [(WORK, False), (BESIDE, False), (BY_DATA, True), (PLACE_BY_DATA, True)]
)
def test_what_may_depend_on_data(work: str, *, may: bool) -> None:
    program = parse_program(TEXT.replace(WORK, work), "row.txt")
    assert may_depend_on_data(program.codes[0]) == may
