"""What a run returns: final memory, edge streams, cycles, counts and the timeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, overload

import numpy as np
import numpy.typing as npt

IDLE, BUSY, WAIT_INPUT, WAIT_OUTPUT = range(4)
STATES = ("idle", "busy", "wait_input", "wait_output")
"""States of an element, the last axis of `Trace.element_cycles`."""
DEPENDENT, CONFLICT, ACCUMULATOR, INTERLOCK, WAVELETS, BACKPRESSURE = range(6)
STALLS = (
    "dependent",
    "read conflict",
    "dependent accumulator",
    "interlock",
    "not enough wavelets",
    "backpressure",
)
"""Reasons why an element stalls, the last axis of `Trace.stall_cycles` (machine.md)."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Counts:
    """Action counts of a run, summed over all elements; all exact.

    `memory_reads`, `memory_writes`: values (of any width) that operations read and wrote, by buffer
    name; a scalar source in memory counts one read per operation, a reduction's destination one
    write per value. `memory_read_words`, `memory_write_words`: the same in 16-bit words over all
    buffers. `macs`, `adds`, `multiplies`, `moves`: values processed by operations of that kind.
    `maps`: values for which a map ran its body and stored a result. `labelled`: values processed by
    operations on descriptors, by the label that the program gave them. `wavelet_hops`: wavelets
    moved from router to neighbour router. `ramp_in_words`, `ramp_out_words`: wavelets from routers
    into input queues, from output queues into routers. `edge_in_words`, `edge_out_words`: wavelets
    over the border of the grid.
    """

    memory_reads: Mapping[str, int]
    memory_writes: Mapping[str, int]
    memory_read_words: int
    memory_write_words: int
    macs: int
    adds: int
    multiplies: int
    moves: int
    wavelet_hops: int
    ramp_in_words: int
    ramp_out_words: int
    edge_in_words: int
    edge_out_words: int
    maps: int = 0
    labelled: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One operation or task of one element: dispatched at cycle `start`, complete at cycle `end`.

    `row`, `column`: the element; `task`: the task that issued it; `operation`: its name, `task` for
    a task itself; `label`: the word the program gave it; `thread`: `main`, or `ut0`, `ut1`, ... for
    a microthread.
    """

    row: int
    column: int
    task: str
    operation: str
    label: str
    thread: str
    start: int
    end: int


class EntryKind(NamedTuple):
    """What many entries of a timeline share: task, operation, label and thread.

    The fields are those of `TimelineEntry`.
    """

    task: str
    operation: str
    label: str
    thread: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Timeline(Sequence[TimelineEntry]):
    """The recorded operations and tasks of a run, a sequence of `TimelineEntry`.

    Stored as a table: `table` has a row per entry (row and column of the element, number of the
    kind, start and end cycle), `kinds` the names that entries share.
    """

    kinds: tuple[EntryKind, ...]
    table: Ints

    def __len__(self) -> int:
        return int(self.table.shape[0])

    @overload
    def __getitem__(self, index: int) -> TimelineEntry: ...
    @overload
    def __getitem__(self, index: slice) -> Timeline: ...
    def __getitem__(self, index: int | slice) -> TimelineEntry | Timeline:
        if isinstance(index, slice):
            return Timeline(self.kinds, self.table[index])
        return self._entry(self.table[index].tolist())

    def __iter__(self) -> Iterator[TimelineEntry]:
        return map(self._entry, self.table.tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Timeline | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def _entry(self, row: list[int]) -> TimelineEntry:
        y, x, kind, start, end = row
        return TimelineEntry(y, x, *self.kinds[kind], start, end)


@dataclass(frozen=True, slots=True)
class IntervalOccupancy:
    """What links carried and queues held in each interval of a run, as exact sums.

    `interval`: cycles of an interval (the last may end after the run). `link_words`: wavelets,
    shape (intervals, H, W, 5), ports N E S W R. `queue_word_cycles`: words times cycles in queues,
    shape (intervals, H, W, 17): input queues 0-7, output queues 0-7, all router buffers.
    """

    interval: int
    link_words: Ints
    queue_word_cycles: Ints

    def link_shares(self) -> npt.NDArray[np.float64]:
        """Return the share of each interval's cycles in which each link carried a wavelet, 0 to 1.

        Shape (intervals, H, W, 5).
        """
        return self.link_words / self.interval

    def queue_words(self) -> npt.NDArray[np.float64]:
        """Return the mean number of words in each queue per interval.

        Words on the way into a queue are counted in it. Shape (intervals, H, W, 17).
        """
        return self.queue_word_cycles / self.interval


@dataclass(frozen=True, slots=True)
class Trace:
    """Where the cycles and wavelets of a run went, per element and link.

    `element_cycles`: (H, W, 4) cycles idle, busy, waiting for input, waiting for output; they add
    up to the run's cycles. `stall_cycles`: (H, W, 6) cycles by the reasons of STALLS; the last two
    are the waits of `element_cycles`, the others part of its busy cycles. `link_words`: (H, W, 5)
    wavelets sent by N, E, S, W, R. `element_macs`: (H, W) multiply-accumulates. `timeline`:
    operations in order of start, empty unless recorded.
    `queue_word_cycles`: (H, W, 17) words times cycles in input queues 0-7, output queues 0-7 and
    the router's buffers, None unless counted. `occupancy`: by interval, None unless recorded.
    `operation_work`: of each code, runs and stalled cycles of its operations. `stalls`: when the
    elements of the timeline stall, and why.
    """

    element_cycles: Ints
    stall_cycles: Ints
    link_words: Ints
    element_macs: Ints
    timeline: Timeline
    queue_word_cycles: Ints | None = None
    """(H, W, 17): cycles that words were in a queue or on the way into it, summed over the words.

    Input queues 0 to 7, output queues 0 to 7, all router buffers together; over the run's cycles
    it is the mean number of words. None unless the machine counts it.
    """
    occupancy: IntervalOccupancy | None = None
    operation_work: tuple[Ints, ...] = ()
    """Of each code (operations, 2): runs, and cycles stalled on memory, in all elements."""
    stalls: Ints = field(default_factory=lambda: np.zeros((0, 5), dtype=np.int64))
    """(stalls, 5): row, column, reason, start, end; of the timeline's elements, by start."""

    def cycles_by_reason(self) -> dict[str, int]:
        """Return the cycles of all elements by what they do: busy, idle, and each reason to stall.

        They add up to the run's cycles times the elements.
        """
        idle, at_work = self.element_cycles[..., (IDLE, BUSY)].sum(axis=(0, 1)).tolist()
        stalled = self.stall_cycles.sum(axis=(0, 1)).tolist()
        busy = at_work - sum(stalled[:WAVELETS])
        return {"busy": busy, "idle": idle} | dict(zip(STALLS, stalled, strict=True))


@dataclass(frozen=True, slots=True)
class EdgeStream:
    """What left by one edge output: `values` and arrival `cycles`, shapes (positions, count)."""

    values: npt.NDArray[np.generic]
    cycles: Ints


@dataclass(frozen=True, slots=True)
class RunResult:
    """The outcome of one run.

    `cycles`: when the last task, operation and edge output ended. `memory`: final values by buffer
    name, (H, W, *shape), zero where an element has no such buffer. `edges`: what left by each edge
    output. `counts`: action counts over the grid. `trace`: cycles and words per element and link.
    `assumed`: the figures that the result rests on and nobody has published. `notes`: what the run
    was to note instead of ending with an error.
    """

    cycles: int
    memory: Mapping[str, npt.NDArray[np.generic]]
    edges: Mapping[str, EdgeStream]
    counts: Counts
    trace: Trace
    assumed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        names = {"memory": list(self.memory)[:6], "edges": list(self.edges)[:6]}
        words = [f"{kind} {', '.join(found)}" for kind, found in names.items() if found]
        return f"<RunResult: {'; '.join([f'{self.cycles} cycles', *words])}>"

    def _repr_html_(self) -> str:
        """Return the run as a table for a notebook: cycles, and the values that left the grid."""
        from tilewright.arch.html_parts import html_table

        rows = [["", ""], ["cycles", str(self.cycles)]]
        rows += [[f"edge {name}", str(edge.values)[:400]] for name, edge in self.edges.items()]
        return html_table(rows, "<<", repr(self).strip("<>"))
