"""Heat maps of a run as SVG: cycles per element by state, words per link."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.program.routes import PORTS
from tilewright.simulator.run.trace import STALLS, STATES, WAVELETS, RunResult
from tilewright.simulator.show.color_scale import (
    BAR,
    SANS,
    TOP,
    ColorScale,
    TickUnit,
    bar,
    frame,
    short,
    side_labels,
    tick_step,
    top_ticks,
)
from tilewright.simulator.show.time_map import time_maps

SIDE: Final = 720
"""Pixels of the longer side of a map."""
MOST: Final = 128
"""Cells per side; larger grids are shown as means of blocks."""
SMALL: Final = 16
"""Cells per side up to which cells have borders and numbers."""
LARGEST: Final = 72
"""Pixels of a cell's side at most."""
LEFT: Final = 36
"""Pixels left of the cells: the numbers of the rows."""


def heat_maps(result: RunResult) -> dict[str, str]:
    """Return the pictures (SVG) of a run by name.

    One for each state of the elements (cycles idle, busy, waiting for input or output), one for
    each reason for which busy elements stall, and one for each port of the routers that sent words.
    If the run was recorded in intervals, also links and queues over time.
    """
    states = result.trace.element_cycles
    maps = {
        f"cycles {name}": heat_map(states[..., i], f"cycles {name.replace('_', ' ')}")
        for i, name in enumerate(STATES)
    }
    stalls = result.trace.stall_cycles
    for i, name in enumerate(STALLS[:WAVELETS]):
        if stalls[..., i].any():
            maps[f"stalls {name}"] = heat_map(stalls[..., i], f"cycles stalled: {name}")
    words = result.trace.link_words
    for i, port in enumerate(PORTS):
        if words[..., i].any():
            maps[f"words {port}"] = heat_map(words[..., i], f"words that leave by {port}")
    occupancy = result.trace.occupancy
    return maps if occupancy is None else maps | time_maps(occupancy, result.cycles)


def heat_map(values: npt.NDArray[Any], title: str) -> str:
    """Return an SVG of an array (height, width) of numbers, darker where they are greater.

    The colors start at 0, or at the least value where all are above half of the greatest; title
    and bar say so. Large grids are shown as means of blocks.
    """
    cells, block = _blocks(np.asarray(values, dtype=np.float64))
    height, width = cells.shape
    size = min(LARGEST, max(1, SIDE // max(height, width)))
    scale = ColorScale.of(cells)
    label = f"{title}: {scale.legend()}"
    label += f", means of {block} x {block} elements" if block > 1 else ""
    small = max(height, width) <= SMALL
    parts = []
    for row in range(height):
        for column in range(width):
            value = float(cells[row, column])
            tooltip = f"({row * block}, {column * block}): {value:g}"
            square = _Square(LEFT + column * size, TOP + row * size, size)
            parts.append(_cell(square, scale.color(value), tooltip, small))
            if small:
                parts.append(_number(square, value, scale.share(value)))
    parts += _edges(cells.shape, size, block)
    right = LEFT + width * size + BAR[0]
    parts.append(bar(scale, right))
    return frame(max(right + 64, 470), TOP + max(height * size, BAR[2]) + 2, label, parts)


def _edges(shape: tuple[int, ...], size: int, block: int) -> list[str]:
    """Return the numbers of rows and columns."""
    step = tick_step(2 * size)
    rows = (str(i * block) if i % step == 0 else "" for i in range(shape[0]))
    return [
        top_ticks(LEFT, shape[1], size, TickUnit(block, "column")),
        side_labels(LEFT, size, rows),
    ]


class _Square(NamedTuple):
    """The left upper corner and the side of a cell, in pixels."""

    x: int
    y: int
    side: int


def _cell(square: _Square, color: str, tooltip: str, border: bool) -> str:
    """Return a cell in one color."""
    x, y, side = square
    line = ' stroke="#8a94a3"' if border else ""
    return (
        f'<rect x="{x}" y="{y}" width="{side}" height="{side}" fill="{color}"{line}>'
        f"<title>{tooltip}</title></rect>"
    )


def _number(square: _Square, value: float, share: float) -> str:
    """Return the value in the middle of a cell; share: of the way to the darkest color."""
    x, y, side = square
    return (
        f'<text x="{x + side // 2}" y="{y + side // 2 + 4}" text-anchor="middle" '
        f'{SANS} font-size="11" fill="{"#fff" if share > 0.5 else "#222"}" '
        f'pointer-events="none">{short(value)}</text>'
    )


def _blocks(values: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], int]:
    """Return the means of square blocks of a map, and the side of a block in elements.

    The side is the least with which at most MOST blocks stand side by side.
    """
    block = -(-max(values.shape) // MOST)
    if block == 1:
        return values, 1
    height, width = (-(-side // block) * block for side in values.shape)
    padded = np.full((height, width), np.nan)
    padded[: values.shape[0], : values.shape[1]] = values
    shaped = padded.reshape(height // block, block, width // block, block)
    return np.asarray(np.nanmean(shaped, axis=(1, 3))), block
