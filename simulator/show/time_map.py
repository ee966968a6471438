"""Links and queues over time as SVG: a row per link or queue, a column per interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.simulator.program.routes import PORTS
from tilewright.simulator.run.trace import IntervalOccupancy
from tilewright.simulator.show.color_scale import (
    BAR,
    TOP,
    ColorScale,
    TickUnit,
    bar,
    frame,
    side_labels,
    top_ticks,
)
from tilewright.simulator.show.timeline import QUEUES

MOST_ROWS: Final = 64
"""Links or queues in a picture; of more, those with the greatest sums."""
MOST_COLUMNS: Final = 160
"""Columns in a picture; of more intervals, several make one."""
ROW: Final = 13
"""Pixels of a row."""
WIDTH: Final = 640
"""Pixels of all columns."""
WIDEST: Final = 40
"""Pixels of a column at most."""
LEFT: Final = 160
"""Pixels of the rows' names."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _TimeRows:
    """What a picture shows: a row for each element and kind, a column for some cycles.

    `values`: (rows, columns) means; `names`: of the rows; `interval`: cycles of a column; `cycles`:
    of the run.
    """

    values: Floats
    names: tuple[str, ...]
    interval: int
    cycles: int
    of: int
    """Rows there are that are not zero all the time."""


def time_maps(occupancy: IntervalOccupancy, cycles: int) -> dict[str, str]:
    """Return two pictures (SVG) of a run that was recorded in intervals, by name.

    `links over time`: share of the cycles in which each link carried a word; `queues over time`:
    mean number of words in each queue. `cycles`: length of the run.
    """
    links = _rows(occupancy.link_shares(), PORTS, occupancy.interval, cycles)
    queues = _rows(occupancy.queue_words(), QUEUES, occupancy.interval, cycles)
    return {
        "links over time": _picture(links, "links, share of cycles with a word"),
        "queues over time": _picture(queues, "queues, mean words"),
    }


def _rows(values: Floats, kinds: tuple[str, ...], interval: int, cycles: int) -> _TimeRows:
    """Return the rows to show of values (intervals, H, W, kinds): the fullest ones, by element.

    interval: cycles between values; cycles: of the run.
    """
    rows = values.reshape(values.shape[0], -1).T
    used = np.flatnonzero(rows.any(axis=1))
    fullest = np.argsort(-rows[used].sum(axis=1), kind="stable")[:MOST_ROWS]
    shown = used[np.sort(fullest)]
    places = zip(*np.unravel_index(shown, values.shape[1:]), strict=True)
    names = tuple(f"({row}, {column}) {kinds[kind]}" for row, column, kind in places)
    merged = -(-values.shape[0] // MOST_COLUMNS)
    return _TimeRows(_means(rows[shown], merged), names, merged * interval, cycles, used.size)


def _means(rows: Floats, merged: int) -> Floats:
    """Return the means of every `merged` columns; the last one may have fewer."""
    starts = np.arange(0, rows.shape[1], merged)
    counts = np.diff(np.append(starts, rows.shape[1]))
    return np.asarray(np.add.reduceat(rows, starts, axis=1) / counts)


def _picture(rows: _TimeRows, title: str) -> str:
    """Return rows as an SVG, darker where there is more."""
    count, columns = rows.values.shape
    pixels = max(1, min(WIDEST, WIDTH // max(1, columns)))
    scale = ColorScale(0.0, float(rows.values.max(initial=0.0)))
    label = f"{title}: {scale.legend()}; {rows.interval} cycles per column"
    label += f", the {count} fullest of {rows.of}" if count < rows.of else ""
    parts = [_ground(count, columns * pixels, scale)]
    parts += [
        _time_cell(rows, row, column, pixels, scale)
        for row, column in np.argwhere(rows.values).tolist()
    ]
    unit = TickUnit(rows.interval, "cycle")
    parts.append(top_ticks(LEFT - pixels // 2, columns, pixels, unit))
    parts.append(side_labels(LEFT, ROW, rows.names))
    right = LEFT + columns * pixels + BAR[0] + 8
    parts.append(bar(scale, right))
    return frame(max(right + 64, 600), TOP + max(count * ROW, BAR[2]) + 2, label, parts)


def _ground(count: int, width: int, scale: ColorScale) -> str:
    """Return the SVG of the background, in the color of 0: `count` rows, `width` pixels wide."""
    return (
        f'<path d="M{LEFT} {TOP}h{width}v{count * ROW}h-{width}z" '
        f'fill="{scale.color(0.0)}" stroke="#c8d0da"/>'
    )


def _time_cell(rows: _TimeRows, row: int, column: int, pixels: int, scale: ColorScale) -> str:
    """Return the cell of a row and column; pixels: width of a column."""
    value = float(rows.values[row, column])
    first = column * rows.interval
    last = min(first + rows.interval, max(rows.cycles, first + 1)) - 1
    return (
        f'<rect x="{LEFT + column * pixels}" y="{TOP + row * ROW}" width="{pixels}" '
        f'height="{ROW}" fill="{scale.color(value)}">'
        f"<title>{rows.names[row]}, cycles {first} to {last}: {value:g}</title></rect>"
    )
