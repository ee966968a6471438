"""Where a grid is cut into pieces, and which rows of a piece are equal."""

import numpy as np
import pytest

from tilewright.simulator.program.program import Program
from tilewright.simulator.quotient.pieces.column_pieces import column_pieces, piece_of
from tilewright.simulator.text.parsing import parse_program

TEXT = """program sums 4 x 5
color xs
color c
color d
code each
  buffer v f32 [8]
  mem1d tile v extent 3
  input_queue 2 xs
  fabin in queue 2 extent 3
  task main entry
    @fmovs tile, in
place each [0:4, 0:5]
route xs [0:4, 0:4] rx W tx ER
route xs [0:4, 4:5] rx W tx R
route c [0:3, 2:3] rx R tx S
route c [3:4, 2:3] rx N tx R
edge_input x side W [0:4] color xs f32 count 3
"""


def sums(*routes: str) -> Program:
    return parse_program("\n".join([TEXT.rstrip(), *routes, ""]), "sums.txt")


def test_pieces_end_where_other_rows_are_joined() -> None:
    assert column_pieces(sums()) == (range(2), range(2, 3), range(3, 5))
    assert column_pieces(sums("route d [0:1, 3:4] rx R tx S")) == (
        *(range(2), range(2, 3), range(3, 4), range(4, 5)),
    )


@pytest.mark.parametrize("route", ["route d [1:2, 2:3] rx R tx W", "route d [1:2, 1:2] rx E tx R"])
def test_words_that_go_west_allow_no_cut(route: str) -> None:
    assert column_pieces(sums(route)) == (range(3), range(3, 5))


def test_rows_are_equal_if_equal_words_enter_them() -> None:
    early, late = np.array([1, 2, 3]), np.array([1, 2, 5])
    enters = {("xs", 0): early, ("xs", 1): late, ("xs", 2): early, ("d", 3): early}
    piece = piece_of(sums(), range(3, 5), enters)
    assert piece.equal.tolist() == [0, 1, 0, 3]
    assert [(row, place) for row, place, _ in piece.entering()] == [
        *((0, ("xs", 0)), (1, ("xs", 1)), (2, ("d", 3))),
    ]
    assert list(piece.leaving()) == []


def test_joined_rows_stay_together() -> None:
    piece = piece_of(sums(), range(2, 3), {})
    assert piece.rows.tolist() == [0, 1, 2, 3]
    assert list(piece.leaving()) == [(row, ("xs", row)) for row in range(4)]
    ports = piece.with_ports(9)
    assert not ports.edge_inputs
    assert [(port.first, port.count) for port in ports.edge_outputs] == [(r, 9) for r in range(4)]
