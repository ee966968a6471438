"""Which lines of a grid repeat, and which a small grid keeps."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.examples.gemv import gemv_like
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput
from tilewright.simulator.quotient.line_blocks import (
    KEPT_PERIODS,
    LineBlock,
    cut_lines,
    line_digests,
)


def digests(text: str) -> np.ndarray:
    return np.array([[ord(letter), 0] for letter in text], dtype=np.uint64)


def kept(text: str, margin: int) -> tuple[str, tuple[LineBlock, ...]]:
    cut = cut_lines(digests(text), margin)
    return "".join(text[line] for line in cut.numbers), cut.blocks


def test_equal_lines_are_kept_three_times_with_margins() -> None:
    assert kept("l" + 20 * "m" + "r", 1) == ("lmmmmmr", (LineBlock(2, 1, 18),))
    assert kept("l" + 20 * "m" + "r", 2) == ("lmmmmmmmr", (LineBlock(3, 1, 16),))


def test_a_longer_cut_copies_lines_that_are_equal() -> None:
    """Two blocks of 9 periods of two lines: the longer cut has one period more of each."""
    text = "f" + 11 * "oe" + "xx" + 11 * "uv" + "l"
    cut = cut_lines(digests(text), 1)
    longer = cut.lengthened(9)
    assert longer.numbers.size == cut.numbers.size + 4
    copies = cut.numbers[cut.copied(9)]
    assert [text[line] for line in copies] == [text[line] for line in longer.numbers]
    assert cut.copied(10).tolist() == list(range(cut.numbers.size))


def test_lines_that_alternate_and_what_is_left_over() -> None:
    text, blocks = kept("f" + 12 * "oe" + "o" + "x", 1)
    assert (text, blocks) == ("f" + 5 * "oe" + "ox", (LineBlock(3, 2, 10),))


def test_a_stretch_is_cut_if_it_saves_what_it_keeps() -> None:
    assert kept(9 * "a", 1) == (9 * "a", ())
    assert kept(10 * "a", 1) == (5 * "a", (LineBlock(1, 1, 8),))


def test_several_blocks() -> None:
    text, blocks = kept("a" * 12 + "x" + "ab" * 10, 1)
    assert text == "aaaaa" + "x" + "ab" * 5
    assert blocks == (LineBlock(1, 1, 10), LineBlock(8, 2, 8))


def test_nothing_repeats() -> None:
    assert kept("abcdefg", 1) == ("abcdefg", ())


@settings(max_examples=30, deadline=None)
@given(st.text("ab", max_size=60), st.integers(1, 3))
def test_what_is_kept_has_the_lines_of_its_blocks(text: str, margin: int) -> None:
    cut = cut_lines(digests(text), margin)
    lines, end = [], 0
    for block in cut.blocks:
        first = block.start + block.period
        lines += list(cut.numbers[end:first])
        begin = int(cut.numbers[block.start])
        lines += range(begin + block.period, begin + block.times * block.period)
        end = block.start + KEPT_PERIODS * block.period
        piece = text[begin - margin * block.period :][: (block.times + 2 * margin) * block.period]
        assert piece[block.period :] == piece[: -block.period]
    assert [*lines, *cut.numbers[end:]] == list(range(len(text)))


def test_a_longer_grid_has_a_period_more_of_some_blocks() -> None:
    cut = cut_lines(digests("a" * 12 + "x" + "ab" * 10), 1)
    assert list(cut.lengthened(10).numbers) == sorted({*cut.numbers, 4})
    assert list(cut.lengthened(8).numbers) == sorted({*cut.numbers, 21, 22})


def test_lines_differ_in_codes_routes_and_ports() -> None:
    program = gemv_like(6, 9, 4, 1)
    rows, columns = line_digests(program)
    assert [len(np.unique(lines, axis=0)) for lines in (rows, columns)] == [4, 4]
    assert (columns[1] == columns[3]).all()
    assert not (columns[1] == columns[2]).all()


@pytest.mark.parametrize("first", [0, 1])
def test_a_port_on_some_columns(first: int) -> None:
    _, columns = line_digests(multicast(first))
    outside = 3 - 3 * first
    inside = [column for column in range(4) if column != outside]
    assert len(np.unique(columns[inside], axis=0)) == 1
    assert (columns[outside] != columns[1]).all()


def multicast(first: int) -> Program:
    """Return a program in which all columns but one get words from the north."""
    builder = ProgramBuilder("p", 1, 4)
    color = builder.color("x")
    builder.route(color, Area(0, first, 1, 3), rx="N", tx="R")
    builder.edge_input(EdgeInput("x", "N", first, 3, color, "f32", 4))
    code = builder.code("c")
    code.input_queue(2, color)
    builder.place("c", Area(0, 0, 1, 4))
    return builder.build()


def test_ports_of_other_intervals_differ() -> None:
    program = multicast(0)
    ports = tuple(EdgeOutput(f"out {c}", "S", c, 1, "x", "f32", 1, 1 + c // 2) for c in range(4))
    _, columns = line_digests(replace(program, edge_inputs=(), routes=(), edge_outputs=ports))
    assert (columns[0] == columns[1]).all()
    assert (columns[1] != columns[2]).all()
