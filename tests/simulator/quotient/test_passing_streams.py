"""Streams that pass along the columns, and what each column takes of them."""

import numpy as np
import pytest

from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.program.program import Program
from tilewright.simulator.quotient.passing_streams import passing_streams
from tilewright.simulator.text.parsing import parse_program

TEXT = """program rows 2 x 6
color a
color b
code even
  buffer v f32 [8]
  mem1d tile v extent 2
  input_queue 2 a
  fabin in queue 2 extent 2
  task main entry
    @fmovs tile, in
code odd
  buffer v f32 [8]
  mem1d tile v extent 2
  input_queue 2 a
  fabin in queue 2 extent 2
  task main entry
    @fmovs tile, in
    @fmuls tile, tile, #2.0
{places}
{filters}
{more}edge_input x side W [0:2] color a f32 count 12
"""
PLACES = "\n".join(
    f"place {('even', 'odd')[column % 2]} [0:2, {column}:{column + 1}]" for column in range(6)
)
FILTERS = "\n".join(
    f"route a [0:2, {c}:{c + 1}] rx W tx {'ER' if c < 5 else 'R'} "
    f"counter 12 most 2 start {(12 - 2 * c) % 12} count_data"
    for c in range(6)
)


def program(more: str = "", filters: str = FILTERS) -> Program:
    return parse_program(TEXT.format(places=PLACES, filters=filters, more=more), "rows.txt")


def test_each_column_takes_its_tile() -> None:
    (stream,) = passing_streams(program(), 1).streams
    for column in range(1, 6):
        ((rows, words),) = stream.taken(column, 12)
        assert rows.tolist() == [0, 1]
        assert words.tolist() == [2 * column, 2 * column + 1]


def test_columns_are_alike_but_for_filters() -> None:
    alike = passing_streams(program(), 1).alike
    assert len(set(alike.tolist())) == 2
    assert (alike[::2] == alike[0]).all()
    assert (alike[1::2] == alike[1]).all()


def test_a_narrow_grid_sends_to_the_east() -> None:
    streams = passing_streams(program(), 1)
    narrow = streams.narrow(np.array([0, 1, 4]))
    assert narrow.placement.tolist() == [[0, 1, 0]] * 2
    ((port,), routes) = narrow.edge_outputs, narrow.routes
    assert (port.side, port.color, port.first, port.positions, port.count) == ("E", "a", 0, 2, 12)
    assert {route.filter.start for route in routes} == {0, 10, 4}


@pytest.mark.parametrize(
    "more",
    [
        "route b [0:1, 3:4] rx R tx W\nroute b [0:1, 2:3] rx E tx R\n",
        "route b [0:2, 2:3] rx R tx E\nroute b [0:2, 3:4] rx W tx R\n",
        "route b [0:1, 0:4] rx W tx E\nroute b [0:1, 4:5] rx W tx R\n",
        "route b [0:1, 1:6] rx W tx E\n",
        "route b [0:1, 1:2] rx W tx S\n",
    ],
)
def test_what_else_crosses_the_columns_is_refused(more: str) -> None:
    with pytest.raises(NotCovered):
        passing_streams(program(more), 1)


def test_what_crosses_before_the_first_column_is_not_looked_at() -> None:
    more = "route b [0:1, 0:1] rx R tx E\nroute b [0:1, 1:2] rx W tx R\n"
    assert len(passing_streams(program(more), 2).streams) == 1


PAIR = "route b [0:2, {0}:{1}] rx R tx E\nroute b [0:2, {1}:{2}] rx W tx R\n"


@pytest.mark.parametrize(("columns", "group"), [((2, 3, 4), 2), ((4, 5, 6), 3), ((0, 1, 2), 2)])
def test_words_may_cross_inside_of_a_group(columns: tuple[int, int, int], group: int) -> None:
    streams = passing_streams(program(PAIR.format(*columns)), group, group)
    assert [stream.color for stream in streams.streams] == ["a"]
    assert streams.first == group


@pytest.mark.parametrize(("columns", "group"), [((1, 2, 3), 2), ((3, 4, 5), 2), ((2, 3, 4), 3)])
def test_words_that_leave_a_group_are_refused(columns: tuple[int, int, int], group: int) -> None:
    with pytest.raises(NotCovered, match="cross"):
        passing_streams(program(PAIR.format(*columns)), group, group)
    back = PAIR.format(*columns).replace("R tx E", "E tx R").replace("W tx R", "R tx W")
    with pytest.raises(NotCovered, match="cross"):
        passing_streams(program(back), group, group)


def test_filters_that_count_otherwise_are_refused() -> None:
    with pytest.raises(NotCovered, match="another way"):
        passing_streams(program(filters=FILTERS.replace("count_data", "count_data sparse")), 1)
