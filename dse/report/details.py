"""What the report shows of one design: plain JSON values, one section per Einsum.

A section: `einsum`; `loop_nest`, the mapping as text, under `text_title` if given; `energy_by`,
joule by component; for the models with tensors `traffic`, joule by component, action and tensor;
`time_by`, in `time_unit`, under `time_title`; `facts`, short statements by name; for a layout
`pictures`, name -> SVG; and for a simulated design `maps`, name -> {unit, values [H][W]}, and
`timeline`, {unit, end, lanes_in_all, lanes: [{name, spans: [[start, end, what, kind]]}]}.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

MAX_LANES = 16
MAX_SPANS = 120

Numbers = npt.NDArray[np.int64]


class LaneSpans(NamedTuple):
    """The spans of one lane (row) of a timeline, in order, as an array for each column.

    `start`, `end`: times; `kind`: position in `names`, which holds (text, kind of operation).
    """

    start: Numbers
    end: Numbers
    kind: Numbers
    names: Sequence[tuple[str, str]]
    """(what, kind)."""


Lane = tuple[str, LaneSpans]


def section(
    einsum: str,
    loop_nest: str,
    energy_by: Mapping[str, float],
    time_by: Mapping[str, float],
    facts: Mapping[str, object],
) -> dict[str, Any]:
    """Return the report's section on one Einsum of a design, as plain JSON values.

    `loop_nest`: the mapping as text; `energy_by`: joule by component; `time_by`: seconds by
    component; `facts`: short statements by name. The breakdowns are sorted, largest first.
    """
    return {
        "einsum": einsum,
        "loop_nest": loop_nest,
        "energy_by": _ranked(energy_by),
        "time_by": _ranked(time_by),
        "time_unit": "s",
        "time_title": "Time by component, side by side",
        "facts": dict(facts),
    }


def traffic(energy_by: Mapping[str, float]) -> dict[str, float]:
    """Return energies by memory, action and tensor, in joule: `Main: read WU`, `MAC: compute`.

    The keys of `energy_by` are `einsum/component/tensor/action`, or without the tensor.
    """
    energies: dict[str, float] = {}
    for key, energy in energy_by.items():
        _, component, *rest = key.split("/")
        tensor, action = (rest[0], rest[1]) if len(rest) == 2 else ("None", rest[-1])
        moved = f"{component}: {action}" + ("" if tensor == "None" else f" {tensor}")
        energies[moved] = energies.get(moved, 0.0) + float(energy)
    return energies


def timeline(unit: str, end: float, lanes: Sequence[Lane]) -> dict[str, Any]:
    """Return a timeline for the report, as plain JSON values.

    `unit`: of the times; `end`: the last time; `lanes`: (name, spans) of its rows. At most 16 lanes
    are kept, spread evenly, with at most 120 spans each; where a lane has more, neighbours are
    joined into one that says how many they are.
    """
    count = min(len(lanes), MAX_LANES)
    chosen = [lanes[position * (len(lanes) - 1) // max(1, count - 1)] for position in range(count)]
    return {
        "unit": unit,
        "end": end,
        "lanes": [{"name": name, "spans": _joined(spans)} for name, spans in chosen],
        "lanes_in_all": len(lanes),
    }


def _joined(spans: LaneSpans) -> list[list[object]]:
    size = max(1, -(-len(spans.start) // MAX_SPANS))
    first = np.arange(0, len(spans.start), size)
    last = np.minimum(first + size, len(spans.start)) - 1
    ends = zip(spans.start[first].tolist(), spans.end[last].tolist(), strict=True)
    most_frequent = _most(spans, size)
    spans_shown: list[list[object]] = []
    for (start, end), count, kind, kind_number in zip(
        ends, last - first + 1, most_frequent, first, strict=True
    ):
        label = f"{count} operations with the pauses between them, mostly {kind}"
        told = [label, kind] if count > 1 else list(spans.names[spans.kind[kind_number]])
        spans_shown.append([float(start), float(end), *told])
    return spans_shown


def _most(spans: LaneSpans, size: int) -> list[str]:
    """Return the kind that takes longest in each group of `size` spans, the first by name."""
    kinds = sorted({kind for _, kind in spans.names})
    groups = -(-len(spans.start) // size)
    place = np.array([kinds.index(kind) for _, kind in spans.names], dtype=np.int64)[spans.kind]
    cell = np.arange(place.size) // size * len(kinds) + place
    shape = groups, len(kinds)
    time = np.bincount(cell, spans.end - spans.start, minlength=groups * len(kinds)).reshape(shape)
    occurs = np.bincount(cell, minlength=groups * len(kinds)).reshape(shape) > 0
    return [kinds[index] for index in np.where(occurs, time, -1).argmax(axis=1).tolist()]


def _ranked(values: Mapping[str, float]) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in sorted(values.items(), key=lambda item: (-item[1], item[0]))
    }
