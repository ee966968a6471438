"""Tables of text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import east_asian_width

GAP = "  "


def text_table(rows: Sequence[Sequence[str]], align: str, indent: str = "") -> list[str]:
    """Return the lines of a table, the first row being its head.

    `rows`: cells, all rows of equal length; `align`: `<` or `>` for each column; `indent`: stands
    before each line. Columns that are empty below the head are left out; so are trailing blanks.
    """
    shown = [i for i in range(len(align)) if any(row[i] for row in rows[1:])]
    widths = {i: max(_width(row[i]) for row in rows) for i in shown}
    return [
        (indent + GAP.join(_cell(row[i], widths[i], align[i]) for i in shown)).rstrip()
        for row in rows
    ]


def _cell(text: str, width: int, side: str) -> str:
    blanks = " " * (width - _width(text))
    return blanks + text if side == ">" else text + blanks


def _width(text: str) -> int:
    """Return the columns that a text takes on a terminal."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)
