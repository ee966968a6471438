"""A layout as SVG: the grid, each cell's slice of the tensor, padding hatched.

One panel per index of the leading grid dimensions; rows and columns are the last two. Data are
drawn to scale within the allocated box of a cell.
"""

from __future__ import annotations

from html import escape
from itertools import product
from typing import Final

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.layout import Layout
from tilewright.mapper.layout.queries.explanation import by_x
from tilewright.mapper.layout.queries.padded_regions import Span, valid_spans
from tilewright.mapper.layout.unit_lookup import Cell

MOST_CELLS: Final = 4096
_WIDTH: Final = 720
_GAP: Final = 4
_LABEL: Final = 46
_SMALLEST_TEXT: Final = 62
_MOST_SPANS: Final = 64


def layout_picture(layout: Layout) -> str:
    """Return an SVG document of a layout's grid.

    Raises SpecError for more than 4,096 cells, and for a layout with a dimension in two groups.
    """
    if layout.split.cells > MOST_CELLS:
        raise SpecError(
            f"a picture of {layout.split.cells} cells would show nothing",
            instead=f"at most {MOST_CELLS} cells",
        )
    valid_spans(layout, 0, 0)
    return _Picture(layout).document()


class _Picture:
    """Draws a layout as SVG; holds the sizes in pixels that all cells have in common."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        grid = (1, 1, *layout.grid)
        self.lead, (self.rows, self.columns) = layout.grid[:-2], grid[-2:]
        self.step = max(6.0, min(130.0, (_WIDTH - _LABEL) / self.columns))
        self.gap = _GAP if self.step > 24 else 1
        self.side = self.step - self.gap
        self.panel = self.rows * self.step + 34
        self.words = self.side >= _SMALLEST_TEXT

    def document(self) -> str:
        layout = self.layout
        panels = list(product(*map(range, self.lead)))
        width = _LABEL + self.columns * self.step + 8
        height = 46 + self.panel * len(panels)
        shown = f"{by_x(layout.shape)} on a grid of {by_x(layout.grid)}"
        share = 100 * layout.padding_total / layout.allocated_scalars
        facts = (
            f"shard {by_x(layout.shard_shape)}, allocated {by_x(layout.allocated_shape)}, "
            f"{layout.bytes_per_unit} bytes per unit, {share:.1f} % padding"
        )
        across = max(width, 520)
        size = f'viewBox="0 0 {across:g} {height:g}" width="{across:g}" height="{height:g}"'
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {_FONT}>',
            f"<title>{escape(shown)}</title>",
            _STYLE,
            f'<text class="ink" x="4" y="16" font-size="14">{escape(shown)}</text>',
            f'<text class="faint" x="4" y="33">{escape(facts)}</text>',
        ]
        for number, lead in enumerate(panels):
            lines += self._panel(lead, 46 + number * self.panel)
        return "\n".join([*lines, "</svg>"])

    def _panel(self, lead: Cell, top: float) -> list[str]:
        lines = []
        if lead:
            lines.append(f'<text class="faint" x="4" y="{top + 10:g}">grid {_index(lead)}</text>')
        top += 16
        for row, column in product(range(self.rows), range(self.columns)):
            cell = (*lead, row, column)[-len(self.layout.grid) :]
            lines += self._cell(cell, _LABEL + column * self.step, top + row * self.step)
        lines += self._axis(top)
        return lines

    def _axis(self, top: float) -> list[str]:
        if self.side < 20:
            return []
        middle = self.step / 2
        rows = [
            f'<text class="faint" x="{_LABEL - 8}" y="{top + row * self.step + middle:g}" '
            f'text-anchor="end">{row}</text>'
            for row in range(self.rows)
        ]
        columns = [
            f'<text class="faint" x="{_LABEL + column * self.step + middle:g}" y="{top - 4:g}" '
            f'text-anchor="middle">{column}</text>'
            for column in range(self.columns)
        ]
        return rows + columns

    def _cell(self, cell: Cell, left: float, top: float) -> list[str]:
        layout = self.layout
        vertical, horizontal = self._spans(cell, -2), self._spans(cell, -1)
        empty = not layout.valid(cell)
        unit = layout.grid_map.unit(cell)
        title = f"cell {_index(cell)}, unit {_index(unit)}: " + (
            "no data"
            if empty
            else f"{layout.valid(cell)} scalars, {layout.padding(cell)} of padding"
        )
        lines = [
            f"<g><title>{escape(title)}</title>",
            (
                f'<rect class="pad" x="{left:g}" y="{top:g}" width="{self.side:g}" '
                f'height="{self.side:g}"/>'
            ),
        ]
        if not empty:
            for (low, high), (first, last) in product(vertical, horizontal):
                lines.append(
                    f'<rect class="data" x="{left + first * self.side:g}" '
                    f'y="{top + low * self.side:g}" width="{(last - first) * self.side:g}" '
                    f'height="{(high - low) * self.side:g}"/>'
                )
        lines.append(
            f'<rect class="edge" x="{left:g}" y="{top:g}" width="{self.side:g}" '
            f'height="{self.side:g}"/>'
        )
        if self.words:
            lines += self._slices(cell, left, top, empty)
        return [*lines, "</g>"]

    def _slices(self, cell: Cell, left: float, top: float, empty: bool) -> list[str]:
        if empty:
            texts = ["no data"]
        else:
            texts = [
                text
                for group in range(len(cell))
                if (text := self._slice(group, cell[group])) is not None
            ]
        return [
            f'<text class="ink halo" x="{left + 5:g}" y="{top + 15 + 13 * line:g}">{text}</text>'
            for line, text in enumerate(texts)
        ]

    def _slice(self, group: int, at: int) -> str | None:
        runs = self.layout.split.runs(group, at)
        if not runs or self.layout.split.extents[group] == 1:
            return None
        first, last = runs[0][1], runs[0][1] + runs[0][2] - 1
        shown = f"{first}–{last}" if last > first else str(first)
        return shown + (", …" if len(runs) > 1 else "")

    def _spans(self, cell: Cell, group: int) -> list[tuple[float, float]]:
        """Return the parts of a cell's box with data along a group, as fractions from 0 to 1.

        `group` counts from the last one (-1, -2); the whole box if the grid has fewer groups.
        """
        if len(cell) < -group:
            return [(0.0, 1.0)]
        extent = self.layout.allocated_shape[group]
        number = len(cell) + group
        spans = valid_spans(self.layout, number, cell[group])
        return [(low / extent, high / extent) for low, high in _thinned(spans)]


def _thinned(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """Join neighbouring spans, gaps included, so that at most _MOST_SPANS are left to draw."""
    if len(spans) <= _MOST_SPANS:
        return spans
    step = -(-len(spans) // _MOST_SPANS)
    parts = [spans[first : first + step] for first in range(0, len(spans), step)]
    return tuple((part[0][0], part[-1][1]) for part in parts)


def _index(index: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, index))})"


_FONT: Final = 'font-family="system-ui, sans-serif" font-size="11"'
_STYLE: Final = """<style>
.ink { fill: #1b1f24 } .faint { fill: #57606a }
.data { fill: #9ec5e8 } .pad { fill: url(#hatch) } .edge { fill: none; stroke: #57606a }
.halo { paint-order: stroke; stroke: #ffffffcc; stroke-width: 3px }
.ground { fill: #f3f4f6 } .line { stroke: #c2703d; stroke-width: 1.4 }
@media (prefers-color-scheme: dark) {
.ink { fill: #e6edf3 } .faint { fill: #9aa4af } .data { fill: #2f5f8a } .edge { stroke: #9aa4af }
.halo { stroke: #0d1117cc } .ground { fill: #20262d } .line { stroke: #d98c5f } }
</style>
<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" \
patternTransform="rotate(45)"><rect class="ground" width="6" height="6"/>\
<line class="line" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>"""
