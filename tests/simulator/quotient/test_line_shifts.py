"""Which columns do the same later: the words that they take."""

from typing import cast

import numpy as np
import numpy.typing as npt
import pytest
from line_programs import line_program

from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.isa.machine_errors import RunStoppedError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.quotient import line_shifts
from tilewright.simulator.quotient.line_shifts import Delays, Representative, cycles_by_columns
from tilewright.simulator.quotient.narrow_run import NarrowRun
from tilewright.simulator.quotient.pattern_cycles import pattern_cycles
from tilewright.simulator.quotient.stream_times import TakenWords
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program


def words(*comes: int, gap: int = 1, row: tuple[int, ...] = ()) -> TakenWords:
    numbers = np.array(comes, dtype=np.int64)
    rows = np.array(row or [0] * len(comes), dtype=np.int64)
    return TakenWords(rows, numbers, numbers - gap)


def test_all_words_come_equally_late() -> None:
    column = Representative.of(3, words(10, 11, 30, 31))
    assert column.stands_for(words(10, 11, 30, 31))
    assert column.rests.tolist() == []
    assert column.stands_for(words(17, 18, 37, 38))
    assert column.rests.tolist() == [9]
    assert [delays.last for delays in column.delays] == [0, 7]


def test_words_come_later_behind_a_pause() -> None:
    column = Representative.of(3, words(10, 11, 30, 31))
    assert column.stands_for(words(10, 11, 35, 36))
    assert column.rests.tolist() == [29]
    assert column.stands_for(words(12, 13, 39, 40))
    assert column.rests.tolist() == [9, 29]
    assert [delays.last for delays in column.delays] == [5, 9]
    later = [delays.later(np.array([8, 9, 28, 29])).tolist() for delays in column.delays]
    assert later == [[8, 9, 28, 34], [8, 11, 30, 38]]


@pytest.mark.parametrize(
    "other",
    [
        words(17, 18, 37, 39),  # no pause between the last two, for the one before is in between
        words(9, 10, 30, 31),  # earlier
        words(17, 18, 30, 31),  # later, but then not any more
        words(17, 18, 37),  # fewer
        words(10, 11, 30, 31, row=(0, 0, 0, 1)),  # another row
        words(17, 18, 37, 38, gap=2),  # the words before them in the stream pass otherwise
    ],
)
def test_another_column_does_something_else(other: TakenWords) -> None:
    column = Representative.of(3, words(10, 11, 30, 31))
    assert not column.stands_for(other)
    assert column.delays == []


def test_rows_are_compared_with_rows() -> None:
    """Two rows whose words come at the same time: an order by cycles alone would mix them up."""
    column = Representative.of(0, words(10, 20, 10, 20, row=(0, 0, 1, 1)))
    assert not column.stands_for(words(12, 22, 13, 23, row=(0, 0, 1, 1)))
    assert column.stands_for(words(12, 22, 12, 22, row=(0, 0, 1, 1)))


def tiles(width: int) -> str:
    routes = "\n".join(
        f"route a [0:1, {c}:{c + 1}] rx W tx {'ER' if c < width - 1 else 'R'} counter {3 * width} "
        f"most 3 start {(3 * (width - c)) % (3 * width)} count_data"
        for c in range(width)
    )
    body = "loop p 2\n      @fmovs tile, in\n      @fmuls tile, tile, #2.0"
    return line_program(width, 6 * width, body, routes)


@pytest.mark.parametrize("width", [24, 61, 200])
def test_a_tile_each(width: int) -> None:
    program, profile = parse_program(tiles(width), "row.txt"), load_profile("wse3-sdk-sim")
    cycles, columns = cycles_by_columns(program, profile)
    assert columns < 16
    assert cycles == Machine(program, profile).cycles()
    found = pattern_cycles(program, profile)
    assert (found.cycles, found.reason, found.elements) == (cycles, "", columns)


def test_no_attempt_begins_when_time_is_over() -> None:
    program, profile = parse_program(tiles(61), "row.txt"), load_profile("wse3-sdk-sim")
    for find in (cycles_by_columns, pattern_cycles):
        with pytest.raises(RunStoppedError):
            find(program, profile, lambda: True)


def test_too_small_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    program, profile = parse_program(tiles(7), "row.txt"), load_profile("wse3-sdk-sim")
    with pytest.raises(NotCovered, match="too few"):
        cycles_by_columns(program, profile)
    monkeypatch.setattr(line_shifts, "LARGEST_SHARE", 1)
    assert cycles_by_columns(program, profile)[0] == Machine(program, profile).cycles()


class SlowExit:
    """Stands in for a run in which words come to a slow port in some cycles."""

    hop_cycles = 2

    def __init__(self, *arrivals: int) -> None:
        self.arrivals = np.array(arrivals, dtype=np.int64)

    def slow_exits(self, place: int) -> list[tuple[npt.NDArray[np.int64], int]]:
        assert place == 3
        return [(self.arrivals, 4)]


@pytest.mark.parametrize(
    ("arrivals", "last"),
    [
        ((10,), 10),  # sent before the column becomes later
        ((11,), 16),
        ((10, 11), 16),
        ((10, 11, 12), 20),  # the third waits for its turn behind the second
        ((), 0),
    ],
)
def test_words_at_a_slow_port_are_late_by_when_they_were_sent(
    arrivals: tuple[int, ...], last: int
) -> None:
    delays = Delays(np.array([9]), np.array([5]))
    run = cast(NarrowRun, SlowExit(*arrivals))
    assert line_shifts._last_exit(run, 3, [delays]) == last
