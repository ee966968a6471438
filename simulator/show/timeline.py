"""The timeline of a run as trace events that Perfetto and chrome://tracing open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tilewright.simulator.program.routes import PORTS
from tilewright.simulator.run.trace import STALLS, IntervalOccupancy, RunResult, TimelineEntry

QUEUES: Final = (
    *(f"input queue {number}" for number in range(8)),
    *(f"output queue {number}" for number in range(8)),
    "router buffers",
)
"""Names of the queues of an element, as `Trace.queue_word_cycles` has them."""
STALL_TRACK: Final = 99
"""Number of an element's track of stalls, behind those of its threads."""


def perfetto(result: RunResult, clock_hz: float | None = None) -> dict[str, Any]:
    """Return the timeline of a run as trace events, JSON data that Perfetto opens.

    There is a process per element, a track per thread, and a track of the reasons for which the
    element stalls. A run recorded in intervals adds counter
    tracks, for the elements of the timeline (without one, for all): the share of cycles in which
    each link is used, the mean words in each queue. Times are in microseconds of a clock of
    `clock_hz`; without one, a microsecond stands for a cycle.
    """
    scale = 1.0 if clock_hz is None else 1e6 / clock_hz
    entries = result.trace.timeline
    occupancy = result.trace.occupancy
    places = sorted(
        {(entry.row, entry.column) for entry in entries}
        | {(row, column) for row, column in result.trace.stalls[:, :2].tolist()}
    )
    if occupancy is not None and not places:
        places = list(np.ndindex(*occupancy.link_words.shape[1:3]))
    processes = {place: number for number, place in enumerate(places, start=1)}
    events = _names(entries, processes)
    events += (_event(entry, processes[entry.row, entry.column], scale) for entry in entries)
    events += _stalls(result, processes, scale)
    if occupancy is not None:
        for (row, column), process in processes.items():
            events += _counters(occupancy, row, column, process, scale)
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def _event(entry: TimelineEntry, process: int, scale: float) -> dict[str, Any]:
    """Return the event of an operation or a task; `scale`: microseconds per cycle."""
    is_task = entry.operation == "task"
    return {
        "name": entry.task if is_task else f"{entry.operation} {entry.label}".strip(),
        "cat": "task" if is_task else "operation",
        "ph": "X",
        "ts": entry.start * scale,
        "dur": (entry.end - entry.start) * scale,
        "pid": process,
        "tid": _track(entry),
        "args": {"task": entry.task, "start_cycle": entry.start, "end_cycle": entry.end},
    }


def _stalls(
    result: RunResult, processes: dict[tuple[int, int], int], scale: float
) -> list[dict[str, Any]]:
    """Return an event for each stall of the elements, on tracks of their own."""
    table = result.trace.stalls.tolist()
    title = {"name": "stalls"}
    stalling = sorted({processes[row, column] for row, column, *_ in table})
    events: list[dict[str, Any]] = [
        {"name": "thread_name", "ph": "M", "pid": process, "tid": STALL_TRACK, "args": title}
        for process in stalling
    ]
    for row, column, reason, start, end in table:
        events.append(
            {
                "name": STALLS[reason],
                "cat": "stall",
                "ph": "X",
                "ts": start * scale,
                "dur": (end - start) * scale,
                "pid": processes[row, column],
                "tid": STALL_TRACK,
                "args": {"start_cycle": start, "end_cycle": end},
            }
        )
    return events


def _counters(
    occupancy: IntervalOccupancy, row: int, column: int, process: int, scale: float
) -> list[dict[str, Any]]:
    """Return trace events of an element's links and queues, one for each change of a value.

    process: number of the element's process in the trace; scale: microseconds per cycle.
    """
    links = occupancy.link_shares()[:, row, column]
    queues = occupancy.queue_words()[:, row, column]
    tracks = [(f"link {port}", "share", links[:, i]) for i, port in enumerate(PORTS)]
    tracks += [(name, "words", queues[:, i]) for i, name in enumerate(QUEUES)]
    events = []
    for name, unit, values in tracks:
        if not values.any():
            continue
        changes = np.flatnonzero(np.diff(values, prepend=-1.0))
        for interval in changes.tolist():
            start, value = interval * occupancy.interval * scale, float(values[interval])
            args = {unit: value}
            events.append({"name": name, "ph": "C", "ts": start, "pid": process, "args": args})
    return events


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
