"""Scripts and routes as a graph of units: every run of a queue operation, every message.

A unit is a list of times: of an element's operation on queues, or of one message that passes a
branch of a route or enters at an edge. Straight lines of queues and routers between two units are
one channel with a latency L, a capacity K and a credit delay C (the theorem of engines.md
§2.2), exact when every queue on the way holds at least latency + 1 words. `fifo_lines.py` finds
them, `graph_tables.py` makes the tables.
"""

from __future__ import annotations

from typing import NamedTuple

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


class Fifos(NamedTuple):
    """FIFOs whose words may meet."""

    down: Ints
    """As in Layout."""
    node: npt.NDArray[np.bool_]
    """Whether a FIFO is a port of its own."""
    work: Ints
    """(4, segments of a FIFO at most, 3): room."""


class Pairs(NamedTuple):
    """Pairs of FIFOs on one link, and the part of each FIFO."""

    some: Ints
    others: Ints
    part: Ints
