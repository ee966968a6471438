"""Tables of text."""

from __future__ import annotations

from tilewright.arch.text_table import text_table


def test_columns_stand_under_their_heads():
    rows = [("name", "bits", "note"), ("A", "5", ""), ("Bee", "1,000", "x")]
    assert text_table(rows, "<><", "  ") == [
        "  name   bits  note",
        "  A         5",
        "  Bee   1,000  x",
    ]


def test_empty_columns_are_left_out():
    assert text_table([("a", "b"), ("1", "")], "<<") == ["a", "1"]


def test_wide_characters_take_two_columns():
    assert text_table([("a", "b"), ("語", "1"), ("xy", "2")], "<<")[1:] == ["語  1", "xy  2"]
