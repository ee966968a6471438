"""The words of the text form: tokens, names, numbers, expressions, and errors with their column."""

from __future__ import annotations

import pytest

from tilewright.simulator.isa.index_expression import Index
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.text.tokens import (
    MAX_LINE,
    Line,
    Reader,
    print_index,
    print_name,
    print_number,
)


def line(text: str) -> Line:
    return Line("file", 3, text)


@pytest.mark.parametrize("name", ["x", "a_1", "two words", 'quo"te', "ümlaut", "1st", ""])
def test_names_read_back(name: str) -> None:
    assert line(print_name(name)).name() == name


@pytest.mark.parametrize("value", [0, -7, 0.5, -0.0, 1e-30, float("inf"), 1 << 40])
def test_numbers_read_back(value: float) -> None:
    read = line(f"#{print_number(value)}").number()
    assert (type(read), repr(read)) == (type(value), repr(value))


@pytest.mark.parametrize(
    "index", [Index(3), Index(-1, (("k", 1),)), Index(0, (("j", -2), ("a b", 5)))]
)
def test_expressions_read_back(index: Index) -> None:
    assert line(print_index(index)).index() == index
    minus = line(print_index(index).replace("+ -", "- ").replace(" - ", "-")).index()
    assert minus == index


def test_a_word_takes_one_token() -> None:
    words = line("  load %dsr_dest 1 // a comment")
    assert words.depth == 1
    assert words.choose(("load", "task"), "declaration") == "load"
    assert words.marked("%", "a register") == "dsr_dest"
    assert words.integer() == 1
    assert not words.more


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("lod x", 1, "unknown declaration"),
        (" load", 2, "indentation goes in steps of two blanks"),
        ("load $", 6, "this is no word of the program's text"),
    ],
)
def test_errors_name_line_and_column(text: str, column: int, message: str) -> None:
    with pytest.raises(ProgramError, match=message) as caught:
        line(text).choose(("load", "task"), "declaration")
    assert caught.value.where is not None
    assert (caught.value.where.line, caught.value.where.column) == (3, column)


def test_a_close_word_is_proposed() -> None:
    with pytest.raises(ProgramError) as caught:
        line("tsak").choose(("load", "task"), "declaration")
    assert caught.value.instead == "task"


def test_a_property_given_twice_is_refused() -> None:
    with pytest.raises(ProgramError, match="property given twice"):
        line("extent 4 extent 5").settings({"extent": Line.integer}, "property")


def test_a_missing_property_is_named() -> None:
    with pytest.raises(ProgramError, match="a property is missing"):
        line("").settings({"extent": Line.integer}, "property", ("extent",))


def test_a_line_that_is_too_long_is_refused() -> None:
    with pytest.raises(ProgramError, match="the line is too long"):
        line("x" * (MAX_LINE + 1))


def test_the_reader_skips_comments_and_knows_depths() -> None:
    reader = Reader("# first\ncode a\n\n  // second\n  buffer b\n", "file")
    outer = reader.at(0)
    assert outer is not None
    assert outer.peek() == "code"
    reader.declare("code a")
    reader.advance()
    inner = reader.at(1)
    assert inner is not None
    assert (inner.row, inner.peek(1)) == (5, "b")
    reader.advance()
    assert reader.at(0) is None
    assert reader.place_of("code a, task t: wrong").line == 2
