"""What columns take of passing streams: a few rows say what all of them do."""

from dataclasses import replace

import numpy as np
from line_programs import line_program

from tilewright.simulator.quotient.line_shifts import Representative
from tilewright.simulator.quotient.passing_streams import PassingStream, PassingStreams
from tilewright.simulator.quotient.stream_times import StreamTimes
from tilewright.simulator.text.parsing import parse_program

ROWS, COLUMNS, WORDS = 9, 6, 12
SHARED = (
    f"route a [0:1, 0:{COLUMNS - 1}] rx W tx ER\nroute a [0:1, {COLUMNS - 1}:{COLUMNS}] rx W tx R"
)


def drawn(seed: int) -> StreamTimes:
    """Draw a stream whose rows are of two kinds, some of them at other times."""
    rng = np.random.default_rng(seed)
    paces = np.cumsum(rng.integers(1, 1 + rng.integers(1, 40), (2, WORDS)), axis=1)
    kind = rng.integers(0, 2, ROWS)
    times = paces[kind] + rng.integers(0, 1 + rng.integers(0, 30), (ROWS, 1))
    filters = np.empty((2, COLUMNS, 3), dtype=np.int64)
    filters[..., 0], filters[..., 1] = WORDS, rng.choice([1, 2, 3])
    filters[..., 2] = -np.arange(COLUMNS) * rng.choice([0, 1, 2]) % WORDS
    alone = np.full((ROWS, COLUMNS), rng.integers(0, 2))
    rows = np.arange(ROWS)
    stream = PassingStream("a", rows, filters[kind], alone, WORDS, "f32")
    program = parse_program(line_program(COLUMNS, WORDS, "@fmovs tile, in", SHARED), "row.txt")
    streams = PassingStreams(program, 0, (stream,), np.zeros(COLUMNS, dtype=np.int64))
    return StreamTimes.of(streams, (times,), 1)


def said(times: StreamTimes, column: int) -> tuple[bool, list[int], list[tuple[list[int], ...]]]:
    """Return whether column 0 does what another one does later, where it rests, and how late."""
    other = Representative.of(0, times.taken(0, 0))
    stands = other.stands_for(times.taken(column, column))
    delays = [(delays.since.tolist(), delays.cycles.tolist()) for delays in other.delays]
    return stands, other.rests.tolist(), delays


def test_the_outermost_rows_say_what_all_rows_do() -> None:
    outcomes = []
    for seed in range(300):
        few = drawn(seed)
        every = replace(few, outermost=tuple(zip(few.streams.streams, few.times, strict=True)))
        assert len(few.outermost[0][1]) <= 4 < ROWS
        for column in range(1, COLUMNS):
            assert said(few, column) == said(every, column), (seed, column)
            outcomes.append(said(few, column)[0])
    assert 300 < sum(outcomes) < len(outcomes) - 300


def test_columns_of_one_kind_take_the_same_words() -> None:
    for seed in range(40):
        times = drawn(seed)
        kinds, taken = times.kinds, [times.taken(column, 0) for column in range(COLUMNS)]
        for column in range(1, COLUMNS):
            same = all(map(np.array_equal, taken[0], taken[column]))
            assert same or kinds[column] != kinds[0]
            assert not same or kinds[column] == kinds[0]
