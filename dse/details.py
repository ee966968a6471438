"""What the report shows of one design: plain JSON values, one section per Einsum.

A section: `einsum`; `loop_nest`, the mapping as text; `energy_by`, joule by component; `time_by`,
in `time_unit`, under `time_title`; `facts`, short statements by name; and for a simulated design
`maps`, name -> {unit, values [H][W]}, and `timeline`, {unit, end, lanes_in_all, lanes:
[{name, spans: [[start, end, what, kind]]}]}.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MAX_LANES = 16
MAX_SPANS = 120

Span = tuple[float, float, str, str]  # start, end, what, kind
Lane = tuple[str, Sequence[Span]]


def section(
    einsum: str,
    loop_nest: str,
    energy_by: Mapping[str, float],
    time_by: Mapping[str, float],
    facts: Mapping[str, object],
) -> dict[str, Any]:
    """Return a section; the breakdowns largest first."""
    return {
        "einsum": einsum,
        "loop_nest": loop_nest,
        "energy_by": _ranked(energy_by),
        "time_by": _ranked(time_by),
        "time_unit": "s",
        "time_title": "Time by component, side by side",
        "facts": dict(facts),
    }


def timeline(unit: str, end: float, lanes: Sequence[Lane]) -> dict[str, Any]:
    """Return a timeline of at most MAX_LANES lanes, spread evenly, of at most MAX_SPANS spans each.

    Where a lane has more spans, neighbours are joined into one that says how many they are.
    """
    count = min(len(lanes), MAX_LANES)
    chosen = [lanes[at * (len(lanes) - 1) // max(1, count - 1)] for at in range(count)]
    return {
        "unit": unit,
        "end": end,
        "lanes": [{"name": name, "spans": _joined(spans)} for name, spans in chosen],
        "lanes_in_all": len(lanes),
    }


def _joined(spans: Sequence[Span]) -> list[list[object]]:
    size = -(-len(spans) // MAX_SPANS)
    groups = [spans[at : at + size] for at in range(0, len(spans), size or 1)]
    return [list(group[0]) if len(group) == 1 else _join(group) for group in groups]


def _join(group: Sequence[Span]) -> list[object]:
    kinds: dict[str, float] = {}
    for start, end, _, kind in group:
        kinds[kind] = kinds.get(kind, 0.0) + end - start
    most = max(sorted(kinds), key=lambda kind: kinds[kind])
    what = f"{len(group)} operations with the pauses between them, mostly {most}"
    return [group[0][0], group[-1][1], what, most]


def _ranked(values: Mapping[str, float]) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in sorted(values.items(), key=lambda item: (-item[1], item[0]))
    }
