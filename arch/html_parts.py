"""Small pieces of HTML for notebooks: tables and preformatted text, with styles of their own."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_CELL = "padding:2px 10px;border-bottom:1px solid #8884;text-align:{};white-space:nowrap"
_NEST = {
    "storage": "font-weight:600;color:#0d9488",
    "spatial": "color:#b45309",
    "step": "font-style:italic;opacity:.7",
    "compute": "opacity:.7",
}


def html_table(rows: Sequence[Sequence[str]], align: str, title: str = "") -> str:
    """Return a table as HTML, the first row being its head.

    `rows`: cells, all rows of equal length; `align`: `<` or `>` for each column. Columns that are
    empty below the head are left out.
    """
    shown = [i for i in range(len(align)) if any(row[i] for row in rows[1:])]
    caption = f"<caption style='text-align:left;font-weight:600'>{escape(title)}</caption>"
    body = "".join(_row(row, shown, align, "td") for row in rows[1:])
    head = _row(rows[0], shown, align, "th")
    return (
        f"<table style='border-collapse:collapse;font-size:13px;margin:8px 0'>"
        f"{caption if title else ''}<thead>{head}</thead><tbody>{body}</tbody></table>"
    )


def html_lines(lines: Sequence[tuple[str, str]]) -> str:
    """Return lines (text, kind of node of a loop nest) as preformatted HTML."""
    spans = [f"<span style='{_NEST.get(kind, '')}'>{escape(text)}</span>" for text, kind in lines]
    return f"<pre style='font-size:12.5px;line-height:1.45'>{chr(10).join(spans)}</pre>"


def html_text(text: str) -> str:
    """Return a paragraph of HTML."""
    return f"<p style='margin:4px 0'>{escape(text)}</p>"


def _row(row: Sequence[str], shown: Sequence[int], align: str, tag: str) -> str:
    sides = {"<": "left", ">": "right"}
    cells = (
        f"<{tag} style='{_CELL.format(sides[align[i]])}'>{escape(row[i])}</{tag}>" for i in shown
    )
    return f"<tr>{''.join(cells)}</tr>"
