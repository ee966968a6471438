"""Scripts and routes as a graph of units: every run of a queue operation, every message.

A unit is a list of times: of an element's operation on queues, or of one message that passes a
branch of a route or enters at an edge. Straight lines of queues and routers between two units are
one channel with a latency L, a capacity K and a credit delay C (the theorem of engines.md
§2.2), exact when every queue on the way holds at least latency + 1 words. `fifo_lines.py` finds
them, `graph_tables.py` makes the tables.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

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
P_AT, P_COUNT, P_WORDS, P_SOURCE, P_LATENCY, P_SPACE, P_CREDIT, P_CHILD, P_CHILDREN, P_WIDTH = (
    range(10)
)
# What contends for a link: first rival of a port, how many, which goes first if never served.
C_RIVAL, C_RIVALS, C_RANK, C_WIDTH = range(4)


class Graph(NamedTuple):
    """Tables for the kernels."""

    unit: Ints
    port: Ints
    entry: Ints
    """(unit, first index) in order for each port."""
    child: Ints
    """Ports that each port's words go to."""
    op: Ints
    """(first term, terms, first follower, followers) per operation of all scripts."""
    term: Ints
    """(kind, operation, cycles)."""
    follower: Ints
    """Operations of the same element whose start depends on it."""
    contest: Ints
    """(ports, C_WIDTH), or empty if no link is contended."""
    rival: Ints
    """Ports on the same link, of those on contended ones."""


class Layout(NamedTuple):
    """What belongs to which code and FIFO, for everything after the times are known."""

    elements: tuple[Ints, ...]
    """Elements of each code."""
    first: tuple[int, ...]
    """First unit of each code: element i, operation k is unit first + i * operations + k."""
    first_op: tuple[int, ...]
    down: Ints
    """Next port down of each FIFO."""
    root: Ints
    """FIFO where its stream begins."""


UNKNOWN: Final = -1
(
    X_EVALUATIONS,
    X_LIMIT,  # evaluations after which to give up
    X_OUTCOME,
    X_ISSUE,  # cycles of the profile
    X_COMPLETION,
    X_WINDOW,  # cycles after the earliest start; units that start later wait
    X_CHANGES,  # evaluations that changed something
    X_PLAY,  # address of the arbiter, where links are contended
    X_READY,  # segments of the readiness that the last evaluation left in work[2]
    X_WIDTH,
) = range(10)
FOREVER: Final = 1 << 50
SOLVED, TOO_LONG, TOO_FINE = range(3)
"""Outcomes, beside UNKNOWN: some units wait for each other."""

PLAY, KEEP = range(2)
"""What the arbiter is to do (arbiter.play_unit)."""
B_ENTRY, B_PIECE, B_DONE, B_LAST, B_NEXT, B_WIDTH = range(6)
"""A rival beside a unit: the entry and the place in its list of its next word, the cycle in which
it was served last, the first cycle in which it can bid."""


class Times(NamedTuple):
    """The times of all units, and room to work."""

    segment: Ints
    """(units, room, 3)."""
    pieces: Ints
    """Segments per unit; 0: not known."""
    start: Ints
    """Dispatch of each unit, the earliest cycle of its first element."""
    first: Ints
    """Time of each unit's first word, once solved."""
    last: Ints
    """While solving, `first` and `last` hold the start of units that wait, and these units."""
    header: Ints
    queue: Ints
    """Ring of the units to evaluate; its tail is the last number."""
    queued: Ints
    work: Ints
    """(4, room, 3)."""
    ready: Ints
    """(units, room, 3) where links are contended: the cycles from which each word could go."""
    arrived: Ints
    """Segments of it per unit."""
    bid: Ints
    """Room for the rivals on one link (arbiter.py)."""
