"""What the report shows of one design: plain JSON values, one section per Einsum.

A section: `einsum`; `loop_nest`, the mapping as text; `energy_by`, joule by component; `time_by`,
in `time_unit`, under `time_title`; `facts`, short statements by name; and for a simulated design
`maps`, name -> {unit, values [H][W]}, and `timeline`, {unit, end, not_shown, lanes: [{name,
spans: [[start, end, what, kind]]}]}.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MAX_LANES = 16
MAX_SPANS = 800


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


def timeline(
    unit: str, end: float, lanes: Iterable[tuple[str, Sequence[Sequence[object]]]]
) -> dict[str, Any]:
    """Return the timeline of the first lanes, with at most MAX_SPANS spans in all."""
    kept: list[dict[str, Any]] = []
    left, dropped = MAX_SPANS, 0
    for name, spans in lanes:
        room = left if len(kept) < MAX_LANES else 0
        if room > 0:
            kept.append({"name": name, "spans": [list(span) for span in spans[:room]]})
        left -= min(len(spans), room)
        dropped += max(0, len(spans) - room)
    return {"unit": unit, "end": end, "lanes": kept, "not_shown": dropped}


def _ranked(values: Mapping[str, float]) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in sorted(values.items(), key=lambda item: (-item[1], item[0]))
    }
