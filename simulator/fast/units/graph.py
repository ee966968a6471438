"""A program as a graph of units, and the units' times: the tables that the kernels work on.

A unit is one run of an operation on queues, or one message that passes a branch of a route or
enters at an edge. Its times, one per word, are a list of affine segments (`segments.py`). A
straight line of queues and routers between two units is one channel with a latency L, a capacity K
and a credit delay C, exactly, if every queue on it holds at least latency + 1 words (engines.md
§2.2). A port is the FIFO at the end of a channel. `fifo_lines.py` finds the lines,
`graph_tables.py` builds the tables, `solve.py` finds the times.

Example: a chain reduce of 512 elements has one unit per element (its receive, add and send are one
operation), and 511 channels of one router each.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.fast.units.ramp_filters import RampFilters

Ints = npt.NDArray[np.int64]

# A unit.
(
    U_KIND,
    U_SIZE,
    U_GAP,
    U_IN,  # first input port and its first index, then the second one's
    U_IN_AT,
    U_IN2,
    U_IN2_AT,
    U_OUT,  # output port and first index
    U_OUT_AT,
    U_FIRST,  # first unit of the element, or of the node
    U_OP,  # row of `op`: what its start refers to
    U_ASYNC,
    U_NEXT,  # next unit of the node, or -1
    U_START,  # cycle at which an edge's first word waits outside
    U_STEP,
    U_WIDTH,
) = range(16)
THREAD, NODE, EDGE = range(3)

# A port, named by its FIFO: the units that pass words through it, and the channel that feeds it.
(
    P_AT,
    P_COUNT,
    P_WORDS,
    P_SOURCE,
    P_LATENCY,
    P_SPACE,
    P_CREDIT,
    P_CHILD,
    P_CHILDREN,
    P_FILTER,  # row of `filter`, or -1: of an input queue behind a filter
    P_WIDTH,
) = range(11)
# What a port contends for: its first rival, how many, which goes first if never served; a bit for
# each shared link of its group that it sends on, that of the link to the element if a filter keeps
# words from it, the filter's row or -1 (contests.py).
C_RIVAL, C_RIVALS, C_RANK, C_LINKS, C_RAMP, C_FILTER, C_WIDTH = range(7)


class UnitGraph(NamedTuple):
    """Hold a program as units that exchange words through channels: the input of the solver.

    A unit is one run of an operation on queues in one element, or one message through a branch of a
    route or in at an edge. A port is the FIFO at the end of a channel, a straight line of FIFOs.

    - `unit`: (units, U_WIDTH) size in words, gap in cycles, ports and first words, its start.
    - `port`: (FIFOs, P_WIDTH) first entry and number of entries, words, and source, latency, space
      and credit delay of its channel.
    - `entry`: (entries, 2) unit and number of its first word; the entries of a port follow each
      other in the order of the words.
    - `child`: the ports to which each port's words go.
    - `op`: (operations, 6) first term and number of terms of a start, first follower and their
      number, first span and their number: rows of the next tables.
    - `term`: (terms, 3) kind, earlier operation, cycles after it; an operation starts at the
      maximum of its terms.
    - `follower`: operations of the same element that start after an operation.
    - `span`: (spans, 3) first term, number of terms, and cycles of the main thread's spans beside
      operations on microthreads; `span_term`: like `term`.
    - `contest`: (ports, C_WIDTH) rivals, rank and contended links; empty if there are none.
    - `rival`: the ports that contend with another port, directly or by others.
    - `filter`: (filters, K_WIDTH) the counter filters at ramps (`ramp_filters.py`).
    """

    unit: Ints
    port: Ints
    entry: Ints
    child: Ints
    op: Ints
    term: Ints
    follower: Ints
    span: Ints
    span_term: Ints
    contest: Ints
    rival: Ints
    filter: Ints


class UnitLayout(NamedTuple):
    """Say which units belong to which code, and where each FIFO's words come from and go.

    A unit is one run of an operation on queues in one element. `elements`: those of each code.
    `first`: first unit of each code; element i, operation k is unit first + i * operations + k.
    `first_op`: first operation of each code. `down`: (FIFOs,) the FIFO at the end of each one's
    line; `root`: the FIFO where its stream begins. `filters`: the counter filters at ramps.
    """

    elements: tuple[Ints, ...]
    first: tuple[int, ...]
    first_op: tuple[int, ...]
    down: Ints
    root: Ints
    filters: RampFilters


class WordSpan(NamedTuple):
    """Name `size` words of a port (a timed FIFO) from number `first` on, with times `shift` later.

    Words with a negative number have the time NEVER, before every cycle.
    """

    port: int
    first: int
    size: int
    shift: int


class CycleRange(NamedTuple):
    """Hold two cycles, `first` and `last`; each kernel says whether `last` is part of the range."""

    first: int
    last: int


class Served(NamedTuple):
    """Say how many words of a FIFO went over contended links, and in which cycle the last one."""

    words: int
    last: int


class Arbitration(NamedTuple):
    """Say from which cycles a unit's words could go: a list of segments in a working buffer.

    A unit is one run of an operation, or one message. segments: rows of the list; start: first
    cycle in which the unit may go; buffer: number of the buffer in `Times.work`.
    """

    segments: int
    start: int
    buffer: int


UNKNOWN: Final = -1
(
    X_EVALUATIONS,
    X_LIMIT,  # evaluations after which the solver gives up
    X_OUTCOME,
    X_ISSUE,  # cycles of the profile
    X_COMPLETION,
    X_WINDOW,  # cycles after the earliest change; units that it does not concern before wait
    X_CHANGES,  # evaluations that changed times
    X_ARBITRATE,  # addresses of the arbiter's kernels, where links are contended
    X_STORE_READINESS,
    X_READY,  # segments of the readiness that the last evaluation left in work[2]
    X_SINCE,  # cycle from which on the last change holds: times before it stay
    X_RIVALRY,  # 1: arbiters decide on contended links; 0: as if each color had a link
    X_WIDTH,
) = range(13)
FOREVER: Final = 1 << 50
SOLVED, TOO_LONG, TOO_FINE = range(3)
"""Outcomes of the solver, beside UNKNOWN: some units wait for each other."""

(B_ENTRY, B_PIECE, B_DONE, B_WORD, B_LAST, B_NEXT, B_LINKS, B_ALIKE, B_WINS, B_WIDTH) = range(10)
"""The bid of a FIFO for links of its router: the entry of its next word, the word's segment and its
number in it and in the stream; the cycle in which the FIFO was served last; the first cycle in
which it can bid; the links that the next word wants, as bits, and how many words want the same;
whether it wins the cycle that is being decided."""


class Times(NamedTuple):
    """Hold the cycles of all units' words, and the working space of the solver.

    A unit is one run of an operation on queues, or one message. Its times are segments (t, r, m),
    each for the cycles t, t + r, ... m times.

    - `segment`: (units, capacity, 3) the times; `pieces`: (units,) segments of each, 0 if not
      known.
    - `start`: (units,) cycle of each unit's dispatch.
    - `first`, `last`: (units,) cycles of its first and last word, once solved. While the solver
      runs, `first` has the cycle from which on what a unit reads has changed, and `last` is the
      list of the units that wait until earlier cycles are solved.
    - `header`: limits, outcome and counts of the solver, by columns X_...
    - `queue`, `queued`: ring of the units to evaluate, and which units are in it.
    - `work`: (4, capacity, 3) lists of segments.
    - `ready`: (units, capacity, 3) for contended links, the cycles from which each word could go;
      `arrived`: (units,) the number of these segments.
    - `bid`: (rivals on one link, B_WIDTH) the rivals of the link that is being simulated.
    """

    segment: Ints
    pieces: Ints
    start: Ints
    first: Ints
    last: Ints
    header: Ints
    queue: Ints
    """Ring of the units to evaluate; its tail is the last number."""
    queued: Ints
    work: Ints
    ready: Ints
    arrived: Ints
    bid: Ints
