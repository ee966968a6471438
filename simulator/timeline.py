"""The timeline of a run as trace events that Perfetto and chrome://tracing open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.simulator.trace import RunResult, TimelineEntry


def perfetto(result: RunResult, clock_hz: float | None = None) -> dict[str, Any]:
    """Return the timeline as a JSON-able trace: a process per element, a track per thread.

    Times are in microseconds with a clock, else one microsecond stands for one cycle.
    """
    scale = 1.0 if clock_hz is None else 1e6 / clock_hz
    entries = result.trace.timeline
    places = sorted({(entry.row, entry.column) for entry in entries})
    processes = {place: number for number, place in enumerate(places, start=1)}
    events = _names(entries, processes)
    for entry in entries:
        name = f"{entry.operation} {entry.label}".strip()
        events.append(
            {
                "name": entry.task if entry.operation == "task" else name,
                "cat": "task" if entry.operation == "task" else "operation",
                "ph": "X",
                "ts": entry.start * scale,
                "dur": (entry.end - entry.start) * scale,
                "pid": processes[entry.row, entry.column],
                "tid": _track(entry),
                "args": {"task": entry.task, "start_cycle": entry.start, "end_cycle": entry.end},
            }
        )
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def _track(entry: TimelineEntry) -> int:
    """Return the track: 0 tasks, 1 synchronous operations, then the microthreads."""
    if entry.thread == "main":
        return 0 if entry.operation == "task" else 1
    return 2 + int(entry.thread.removeprefix("ut"))


def _names(
    entries: Sequence[TimelineEntry], processes: dict[tuple[int, int], int]
) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    for (row, column), pid in processes.items():
        title = {"name": f"element ({row}, {column})"}
        events.append({"name": "process_name", "ph": "M", "pid": pid, "args": title})
    tracks = {
        (processes[entry.row, entry.column], _track(entry)): entry.thread for entry in entries
    }
    for (pid, tid), thread in sorted(tracks.items()):
        title = {"name": ("tasks", "operations")[tid] if tid < 2 else thread}
        events.append({"name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": title})
    return events
