"""The grid of a layout in characters: full cells, cells with padding, cells without data."""

from __future__ import annotations

from itertools import product
from typing import Final

from tilewright.mapper.layout.layout import Layout
from tilewright.mapper.layout.queries.picture import MOST_CELLS

MOST_ROWS: Final = 32
MOST_COLUMNS: Final = 64
FULL, PARTLY, NOTHING = "█", "▒", "·"


def character_picture(layout: Layout) -> str:
    """Return the last two dimensions of the grid, one character per cell, panel by panel.

    A panel has the cells of one index of the leading dimensions. █: all allocated scalars hold
    data; ▒: some are padding; ·: no data. Rows and columns beyond 32 and 64, and panels beyond 4,
    are left out, and say so.
    """
    rows, columns = (1, 1, *layout.grid)[-2:]
    lead = layout.grid[:-2]
    lines = []
    panels = list(product(*map(range, lead)))
    for panel in panels[:4]:
        if lead:
            lines.append(f"grid {panel}")
        for row in range(min(rows, MOST_ROWS)):
            cells = [(*panel, row, at) for at in range(min(columns, MOST_COLUMNS))]
            lines.append("  " + "".join(_sign(layout, c[-len(layout.grid) :]) for c in cells))
    if rows > MOST_ROWS or columns > MOST_COLUMNS or len(panels) > 4:
        lines.append("  …" + (" (--svg draws all)" if layout.split.cells <= MOST_CELLS else ""))
    return "\n".join(lines)


def _sign(layout: Layout, cell: tuple[int, ...]) -> str:
    if not layout.padding(cell):
        return FULL
    return PARTLY if layout.valid(cell) else NOTHING
