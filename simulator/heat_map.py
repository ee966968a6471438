"""Heat maps of a run as SVG: cycles per element by state, words per link."""

from __future__ import annotations

from html import escape
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tilewright.simulator.routes import PORTS
from tilewright.simulator.trace import STATES, RunResult

SIDE: Final = 720
"""Pixels of the longer side of a map."""
MOST: Final = 128
"""Cells per side; larger grids are shown as means of blocks."""
SMALL: Final = 16
"""Cells per side up to which cells have borders and numbers."""
LARGEST: Final = 72
"""Pixels of a cell's side at most."""
COLD, HOT = (247, 251, 255), (8, 48, 107)


def heat_maps(result: RunResult) -> dict[str, str]:
    """Return an SVG per state of the elements and per port of the routers that has words.

    A run with looks also gives links and queues over time: a column per interval, a row per link
    or queue that is used, element by element.
    """
    states = result.trace.element_cycles
    maps = {
        f"cycles {name}": heat_map(states[..., i], f"cycles {name.replace('_', ' ')}")
        for i, name in enumerate(STATES)
    }
    words = result.trace.link_words
    for i, port in enumerate(PORTS):
        if words[..., i].any():
            maps[f"words {port}"] = heat_map(words[..., i], f"words that leave by {port}")
    held = result.trace.occupancy
    if held is not None:
        shares, means = _rows(held.link_shares()), _rows(held.queue_words())
        maps["links over time"] = heat_map(shares, f"links, {held.interval} cycles per column")
        maps["queues over time"] = heat_map(means, f"queues, {held.interval} cycles per column")
    return maps


def _rows(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return (rows, intervals) of what is not zero all the time, at least one row."""
    rows = values.reshape(values.shape[0], -1).T
    used = rows[rows.any(axis=1)]
    return used if used.size else rows[:1]


def heat_map(values: npt.NDArray[Any], title: str) -> str:
    """Return an SVG of a (H, W) array of counts, darker where there are more.

    The colors start at 0, or at the least value where all are above half of the greatest; the
    legend says so.
    """
    cells, block = _blocks(np.asarray(values, dtype=np.float64))
    height, width = cells.shape
    size = min(LARGEST, max(1, SIDE // max(height, width)))
    low, top = _scale(cells)
    label = f"{title}: {low:g} to {top:g}" + (", colors from the least value" if low else "")
    label += f", means of {block} x {block} elements" if block > 1 else ""
    small = max(height, width) <= SMALL
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{max(width * size + 1, 420)}" '
            f'height="{height * size + 25}" shape-rendering="crispEdges">'
        ),
        f'<text x="0" y="15" font-family="sans-serif" font-size="13">{escape(label)}</text>',
    ]
    for row in range(height):
        for column in range(width):
            value = float(cells[row, column])
            share = (value - low) / (top - low) if top > low else 0.0
            told = f"({row * block}, {column * block}): {value:g}"
            place = column * size, 24 + row * size, size
            parts.append(_cell(place, share, told, ' stroke="#8a94a3"' if small else ""))
            if small:
                parts.append(_number(place, value, share))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _scale(cells: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the values of the lightest and the darkest color."""
    low, top = float(cells.min(initial=np.inf)), float(cells.max(initial=0.0))
    return (low if top / 2 < low < top else 0.0), top


def _cell(place: tuple[int, int, int], share: float, told: str, border: str) -> str:
    """Return a cell at (x, y, side)."""
    x, y, size = place
    return (
        f'<rect x="{x}" y="{y}" width="{size}" height="{size}" fill="{_color(share)}"{border}>'
        f"<title>{told}</title></rect>"
    )


def _number(place: tuple[int, int, int], value: float, share: float) -> str:
    """Return the value in a cell at (x, y, side)."""
    x, y, size = place
    return (
        f'<text x="{x + size // 2}" y="{y + size // 2 + 4}" text-anchor="middle" '
        f'font-family="sans-serif" font-size="11" fill="{"#fff" if share > 0.5 else "#222"}" '
        f'pointer-events="none">{_short(value)}</text>'
    )


def _short(value: float) -> str:
    """Return a value in at most six letters or three digits and a unit."""
    shown = f"{value:g}"
    if len(shown) <= 6 and "e" not in shown:
        return shown
    units = ((1e9, "G"), (1e6, "M"), (1.0, ""))
    size, unit = next((pair for pair in units if value >= pair[0]), (1.0, ""))
    return f"{value / size:.3g}{unit}"


def _blocks(values: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], int]:
    """Return means of square blocks so that at most MOST cells stand on a side."""
    block = -(-max(values.shape) // MOST)
    if block == 1:
        return values, 1
    height, width = (-(-side // block) * block for side in values.shape)
    padded = np.full((height, width), np.nan)
    padded[: values.shape[0], : values.shape[1]] = values
    shaped = padded.reshape(height // block, block, width // block, block)
    return np.asarray(np.nanmean(shaped, axis=(1, 3))), block


def _color(share: float) -> str:
    mixed = (round(a + (b - a) * share) for a, b in zip(COLD, HOT, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)
