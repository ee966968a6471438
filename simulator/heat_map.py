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
    """Return an SVG of a (H, W) array of counts, darker where there are more."""
    cells, block = _blocks(np.asarray(values, dtype=np.float64))
    height, width = cells.shape
    size = max(1, SIDE // max(height, width))
    top = float(cells.max(initial=0.0))
    label = f"{title}: 0 to {top:g}" + (
        f", means of {block} x {block} elements" if block > 1 else ""
    )
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{max(width * size, 320)}" '
            f'height="{height * size + 24}" shape-rendering="crispEdges">'
        ),
        f'<text x="0" y="15" font-family="sans-serif" font-size="13">{escape(label)}</text>',
    ]
    for row in range(height):
        for column in range(width):
            value = float(cells[row, column])
            parts.append(
                f'<rect x="{column * size}" y="{24 + row * size}" width="{size}" '
                f'height="{size}" fill="{_color(value / top if top else 0.0)}">'
                f"<title>({row * block}, {column * block}): {value:g}</title></rect>"
            )
    return "\n".join([*parts, "</svg>"]) + "\n"


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
