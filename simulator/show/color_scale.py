"""Colors, ticks and frames that the heat maps of a run share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

COLD, HOT = (247, 251, 255), (8, 48, 107)
TITLE: Final = 15
"""Baseline of a map's title in pixels."""
TOP: Final = 40
"""Pixels above a map's cells: the title and the ticks of the columns."""
BAR: Final = (34, 12, 96)
"""The bar of colors in pixels: its distance from the cells, its width, its height."""
STEPS: Final = 24
"""Colors in the bar."""
BETWEEN: Final = 34
"""Pixels between two ticks at least."""
SANS: Final = 'font-family="sans-serif"'


@dataclass(frozen=True, slots=True)
class ColorScale:
    """A linear scale of colors, from light at the value `low` to dark at `top`."""

    low: float
    top: float

    @classmethod
    def of(cls, cells: npt.NDArray[np.float64]) -> ColorScale:
        """Return the scale for an array of values: from 0 to the greatest.

        It begins at the least value instead if all are above half of the greatest.
        """
        low, top = float(cells.min(initial=np.inf)), float(cells.max(initial=0.0))
        return cls(low if top / 2 < low < top else 0.0, top)

    def share(self, value: float) -> float:
        """Return where a value lies between the lightest (0) and the darkest color (1)."""
        return (value - self.low) / (self.top - self.low) if self.top > self.low else 0.0

    def color(self, value: float) -> str:
        """Return the color of a value as #rrggbb."""
        return mixed(self.share(value))

    def legend(self) -> str:
        """Return the range of the scale in words, such as `0 to 128`."""
        told = f"{self.low:g} to {self.top:g}"
        return told + (", colors from the least value" if self.low else "")


def mixed(share: float) -> str:
    """Return the color at a share, 0 to 1, of the way from light to dark, as #rrggbb."""
    parts = (round(a + (b - a) * share) for a, b in zip(COLD, HOT, strict=True))
    return "#" + "".join(f"{part:02x}" for part in parts)


def frame(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """Return an SVG of width x height pixels from its title and the SVG text of its parts."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'shape-rendering="crispEdges">'
    )
    named = f'<text x="0" y="{TITLE}" {SANS} font-size="13">{escape(title)}</text>'
    return "\n".join([head, named, *parts, "</svg>"]) + "\n"


def bar(scale: ColorScale, x: int) -> str:
    """Return the SVG of a scale's legend bar at pixel x, the greatest value on top.

    Empty if the scale has only one value.
    """
    if scale.top <= scale.low:
        return ""
    _, width, height = BAR
    step = height // STEPS
    colors = "".join(
        f'<rect x="{x}" y="{TOP + i * step}" width="{width}" height="{step}" '
        f'fill="{mixed(1 - i / (STEPS - 1))}"/>'
        for i in range(STEPS)
    )
    ends = _label(x + width + 5, TOP + 9, short(scale.top), "start")
    ends += _label(x + width + 5, TOP + height, short(scale.low), "start")
    return f'<g class="scale">{colors}{ends}</g>'


def tick_step(pixels: float) -> int:
    """Return the number of cells between two ticks: the least of 1, 2, 5, 10, ...

    with enough space. `pixels`: size of a cell.
    """
    step = 1
    while step * pixels < BETWEEN:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return step


class TickUnit(NamedTuple):
    """The unit of a map's columns.

    `per_column`: units that a column stands for; `name`: of the unit. Columns of 16 cycles:
    `TickUnit(16, "cycle")`.
    """

    per_column: int
    name: str


def top_ticks(left: int, count: int, pixels: float, unit: TickUnit) -> str:
    """Return the SVG of the numbers above a map's columns, with the unit's name at the end.

    `left`: pixel of the first column; `count`: columns; `pixels`: width of a column.
    """
    step = tick_step(pixels)
    shown = "".join(
        _label(left + int((i + 0.5) * pixels), TOP - 5, str(i * unit.per_column), "middle")
        for i in range(0, count, step)
    )
    shown += _label(left + int(count * pixels) + 4, TOP - 5, unit.name, "start")
    return f'<g class="columns">{shown}</g>'


def side_labels(left: int, pixels: int, labels: Iterable[str]) -> str:
    """Return the SVG of the labels left of a map's rows; an empty label is left out.

    `left`: pixel where the rows begin; `pixels`: height of a row.
    """
    shown = "".join(
        _label(left - 4, TOP + int((i + 0.5) * pixels) + 4, label, "end")
        for i, label in enumerate(labels)
        if label
    )
    return f'<g class="rows">{shown}</g>'


def _label(x: int, y: int, text: str, anchor: str) -> str:
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" {SANS} font-size="10" fill="#555">'
        f"{escape(text)}</text>"
    )


def short(value: float) -> str:
    """Return a number as it is in at most six letters, else in three digits with G or M."""
    shown = f"{value:g}"
    if len(shown) <= 6 and "e" not in shown:
        return shown
    units = ((1e9, "G"), (1e6, "M"), (1.0, ""))
    size, unit = next((pair for pair in units if value >= pair[0]), (1.0, ""))
    return f"{value / size:.3g}{unit}"
