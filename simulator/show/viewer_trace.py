"""The timeline of a run as lines of text that the public trace viewer of the vendor's runs plays.

The viewer (github davidz-cerebras/wse-viz, plain JavaScript) reads the log of the vendor's
simulator line by line (trace-parser.js); a line says what happens in one cycle at P<column>.<row>:

    @0 dimX=2, dimY=1
    @9 P1.0: [EX OP] ^ 0x0001: T00 FMACS
    @13 P1.0: [EX OP] IDLE
    @13 P1.0: Not enough wavelets (0/1) for SRC0 with C3, IN_Q[2], SIMD-1
    @13 P1.0 (hwtile) landing C3 from link W,
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np

from tilewright.simulator.isa.dsd import Fabin, Fabout
from tilewright.simulator.isa.machine_errors import InputDataError
from tilewright.simulator.isa.resolving import resolve
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.code_parts import all_operations
from tilewright.simulator.program.program import ElementCode, Program
from tilewright.simulator.program.routes import PORTS
from tilewright.simulator.run.trace import (
    ACCUMULATOR,
    BACKPRESSURE,
    CONFLICT,
    DEPENDENT,
    WAVELETS,
    EntryKind,
    RunResult,
    TimelineEntry,
)
from tilewright.simulator.show.inspection import inspect_program

PIPE_STALLS: Final = {
    DEPENDENT: "Pipe: 2, Msg: stall: dependent S0DS0",
    CONFLICT: "Pipe: 5, Msg: stall: read conflict",
    ACCUMULATOR: "Pipe: 7, Msg: stall: dependent accum0",
}
STEPS: Final = {"N": (-1, 0, "S"), "E": (0, 1, "W"), "S": (1, 0, "N"), "W": (0, -1, "E")}
"""By the port that a wavelet leaves: rows and columns that it goes, and the port it lands from."""


class _QueueOperand(NamedTuple):
    """A queue operand: which source it is, its queue and the number of its color."""

    source: int
    queue: int
    color: int


class _TraceSpan(NamedTuple):
    """What an element does for some cycles; of several things the one of least rank is shown.

    `start`, `end`: cycles; `line`: text that the viewer shows.
    """

    rank: int
    start: int
    end: int
    line: str
    reason: str = ""
    """A second line, for a stall."""


_IDLE = _TraceSpan(0, 0, 0, "[EX OP] IDLE")


def viewer_trace(program: Program, profile: Profile, result: RunResult) -> str:
    """Return a recorded run as text for the viewer.

    It shows the elements of the timeline: their operations, tasks between operations, and stalls
    with their reasons. Where links were recorded in intervals of one cycle, wavelets land at
    routers, on links that only one color may use. A register's number is not known: it is 0. Raises
    InputDataError for a run without a timeline.
    """
    if not len(result.trace.timeline):
        raise InputDataError("the run has no timeline", value=None, instead="run(timeline=True)")
    rows = [(0, 0, f"@0 dimX={program.width}, dimY={program.height}")]
    spans = _spans(program, result)
    for (row, column), of_element in spans.items():
        place = f"P{column}.{row}"
        rows += ((cycle, 1, f"@{cycle} {place}: {text}") for cycle, text in _shown(of_element))
    rows += ((cycle, 2, line) for cycle, line in _landings(program, profile, result))
    rows.sort(key=lambda line: line[:2])
    return "".join(f"{text}\n" for _, _, text in rows)


def _spans(program: Program, result: RunResult) -> dict[tuple[int, int], list[_TraceSpan]]:
    """Return, by element (row, column), what it does and when."""
    streams = [_streams(program, code) for code in program.codes]
    numbers = {kind: number for number, kind in enumerate(result.trace.timeline.kinds)}
    spans: dict[tuple[int, int], list[_TraceSpan]] = {}
    entries: dict[tuple[int, int], list[TimelineEntry]] = {}
    for entry in result.trace.timeline:
        place = entry.row, entry.column
        kind = EntryKind(entry.task, entry.operation, entry.label, entry.thread)
        spans.setdefault(place, []).append(_span_of(entry, numbers[kind]))
        entries.setdefault(place, []).append(entry)
    for row, column, reason, start, end in result.trace.stalls.tolist():
        known = streams[int(program.placement[row, column])]
        beside = [e for e in entries.get((row, column), ()) if e.start < end and start < e.end]
        text = _stall(reason, beside, known)
        spans.setdefault((row, column), []).append(
            _IDLE._replace(start=start, end=end, reason=text)
        )
    return spans


def _span_of(entry: TimelineEntry, number: int) -> _TraceSpan:
    """Return what the viewer shows of an entry; `number`: of its kind."""
    thread = 0 if entry.thread == "main" else 1 + int(entry.thread.removeprefix("ut"))
    is_task = entry.operation == "task"
    name = f"task:{entry.task}" if is_task else entry.operation.upper()
    line = f"[EX OP] ^ 0x{number:04x}: T{thread:02d} {name}"
    return _TraceSpan(90 if is_task else 10 + thread, entry.start, entry.end, line)


def _stall(
    reason: int,
    beside: list[TimelineEntry],
    known: Mapping[tuple[str, str, str], tuple[_QueueOperand | None, _QueueOperand | None]],
) -> str:
    """Return the line of a stall; empty if it is not known what for."""
    if reason in PIPE_STALLS:
        return PIPE_STALLS[reason]
    for entry in beside:
        stream = known.get((entry.task, entry.operation, entry.label), (None, None))
        waited = stream[0 if reason == WAVELETS else 1]
        if waited is None:
            continue
        if reason == BACKPRESSURE:
            return f"Pipe: 1, Msg: stall: backpressure on C{waited.color} for OUT_Q[{waited.queue}]"
        return (
            f"Not enough wavelets (0/1) for SRC{waited.source} with C{waited.color}, "
            f"IN_Q[{waited.queue}], SIMD-1"
        )
    return ""


def _streams(
    program: Program, code: ElementCode
) -> dict[tuple[str, str, str], tuple[_QueueOperand | None, _QueueOperand | None]]:
    """Return by (task, operation, label) the first source and the destination of an operation.

    None stands for one that is no queue.
    """
    colors = {color.name: color.id for color in program.colors}
    bound = {("in", queue.id): colors[queue.color] for queue in code.input_queues}
    bound |= {("out", queue.id): colors[queue.color] for queue in code.output_queues}
    known: dict[tuple[str, str, str], tuple[_QueueOperand | None, _QueueOperand | None]] = {}
    for task, operation in all_operations(code):
        resolved = resolve(code, task.name, operation)
        source = destination = None
        for number, operand in enumerate(resolved.sources):
            if source is None and isinstance(operand.dsd, Fabin):
                queue = operand.dsd.queue
                source = _QueueOperand(number, queue, bound.get(("in", queue), 0))
        if isinstance(resolved.dest.dsd, Fabout):
            queue = resolved.dest.dsd.queue
            destination = _QueueOperand(0, queue, bound.get(("out", queue), 0))
        key = task.name, operation.operation, operation.label
        known.setdefault(key, (source, destination))
    return known


def _shown(spans: list[_TraceSpan]) -> Iterator[tuple[int, str]]:
    """Yield (cycle, text) at each change of what the viewer shows of an element."""
    cuts = sorted({cycle for span in spans for cycle in (span.start, span.end)})
    begins = sorted(spans, key=lambda span: span.start)
    running: list[_TraceSpan] = []
    number, shown = 0, ""
    for cycle in cuts:
        while number < len(begins) and begins[number].start <= cycle:
            running.append(begins[number])
            number += 1
        running = [span for span in running if span.end > cycle]
        first = min(running, default=_IDLE, key=lambda span: (span.rank, span.start))
        if first.line + first.reason != shown:
            yield cycle, first.line
            if first.reason:
                yield cycle, first.reason
        shown = first.line + first.reason


def _landings(program: Program, profile: Profile, result: RunResult) -> Iterator[tuple[int, str]]:
    """Yield (cycle, line) for the wavelets that go from router to router."""
    occupancy = result.trace.occupancy
    if occupancy is None or occupancy.interval != 1:
        return
    colors = inspect_program(program, profile).link_colors
    for cycle, row, column, port in np.argwhere(occupancy.link_words > 0).tolist():
        bits = int(colors[row, column, port])
        name = PORTS[port]
        if name not in STEPS or bits.bit_count() != 1:
            continue
        down, right, origin = STEPS[name]
        y, x = row + down, column + right
        if 0 <= y < program.height and 0 <= x < program.width:
            landed = cycle + profile.hop_cycles
            color = bits.bit_length() - 1
            yield landed, f"@{landed} P{x}.{y} (hwtile) landing C{color} from link {origin},"
