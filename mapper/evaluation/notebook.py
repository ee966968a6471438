"""How results look in a notebook: HTML of a mapping and of a score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.arch.html_parts import html_lines, html_table, html_text
from tilewright.arch.quantities import label, quantity
from tilewright.mapper.evaluation.breakdown import breakdown
from tilewright.mapper.evaluation.breakdown_tables import cost_tables
from tilewright.mapper.mapping.nest_lines import nest_lines, nest_text

if TYPE_CHECKING:
    from tilewright.mapper.mapping.mapping import Mapping
    from tilewright.mapper.mapping.score import Score

_TOTALS = ("energy", "latency", "edp", "area", "leak_power")


def mapping_html(mapping: Mapping, score: Score | None = None) -> str:
    """Return the loop nest of a mapping as HTML; with a score, with the sizes of its tiles."""
    lines = nest_lines(mapping.nodes, bits=score.memory_bits if score is not None else None)
    kinds = [line.kind for line in lines]
    return html_lines(list(zip(nest_text(lines).splitlines(), kinds, strict=True)))


def score_html(score: Score) -> str:
    """Return the totals of a score, and its tables by component, tensor and Einsum, as HTML."""
    totals = [(label(name), shown_total(score, name)) for name in _TOTALS]
    rows = [tuple(name for name, _ in totals), tuple(value for _, value in totals)]
    tables = [
        html_table([table.head, *table.rows], table.align, table.title)
        for table in cost_tables(breakdown(score), score)
    ]
    proof = "verified" if score.verified else "not verified"
    notes = [html_text(f"note: {note}") for note in score.notes]
    return "".join([html_table(rows, ">" * len(totals)), *tables, html_text(proof), *notes])


def shown_total(score: Score, name: str) -> str:
    """Return a total of a score with its unit; times that nothing takes are not modelled."""
    if name == "area" and score.area == 0:
        return "not given"
    if name in {"latency", "edp"} and not score.is_timed:
        return "not modelled"
    return quantity(float(getattr(score, name)), name)
