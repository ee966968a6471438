"""Columns of the engine's tables. Every table is int64; a row is one thing of the machine.

Static tables come from `tables.py` (codes) and `network.py` (queues and routers); the engine
changes state columns only. Fresh columns go to the end of a group.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.int64]

# A FIFO of the network: an output queue, a router buffer, an input queue or an edge port.
F_HEAD: Final = 0
F_COUNT: Final = 1
F_CAP: Final = 2
F_RING: Final = 3  # first ring row
F_LATENCY: Final = 4  # cycles from push until the head may move
F_POPPED: Final = 5  # cycle of the last pop: its slot is free from the next cycle on
F_PUSHED: Final = 6  # cycle of the last push
F_WAITER: Final = 7  # agent that waits for space here, or -1
F_USER: Final = 8  # agent that takes from here, or -1 (edge output)
F_SHARED: Final = 9  # 1 if one of its links is used by other FIFOs too
F_POPS: Final = 10
F_COLOR: Final = 11
F_SUCCESSORS: Final = 12  # number of successors
F_NEXT: Final = 13  # successors, five columns
F_LINK: Final = 18  # link of each successor, five columns
F_WIDTH: Final = 23

# Agents (FIFOs, then elements) in the time wheel.
A_WHEN: Final = 0  # cycle of the next visit, or -1
A_NEXT: Final = 1
A_PREVIOUS: Final = 2

# An element.
E_STATE: Final = 0
E_UNTIL: Final = 1
E_PC: Final = 2
E_ACTIVE: Final = 3  # bit per task
E_BLOCKED: Final = 4  # bit per task
E_TASK: Final = 5
E_TASK_START: Final = 6
E_TASKS: Final = 7  # first row of the task table
E_MEMORY: Final = 8  # first word
E_VARIABLES: Final = 9  # first variable
E_RUNS: Final = 10  # first counter of finished operations
E_OPS: Final = 11  # first row of the operation table of its code
E_THREADS: Final = 12  # first row of the thread table; row 0 is the main thread's operation
E_THREAD_COUNT: Final = 13
E_RUNNING: Final = 14  # running threads
E_TURN: Final = 15  # thread that had the datapath last
E_QUEUES_BUSY: Final = 16  # bit per queue
E_SINCE: Final = 17  # cycle up to which time is accounted
E_MOOD: Final = 18  # how the time since then counts (trace.STATES)
E_CYCLES: Final = 19  # four columns: cycles per state
E_WIDTH: Final = 23

M_IDLE, M_READY, M_DISPATCH, M_SYNC = range(4)
"""States of the main thread."""

# A thread: one DSD operation in flight.
T_STATE: Final = 0
T_OP: Final = 1
T_LEFT: Final = 2
T_NEXT: Final = 3  # first cycle in which the next element may go
T_FRACTION: Final = 4
T_SCALAR: Final = 5
T_START: Final = 6
T_MOOD: Final = 7
T_OPERANDS: Final = 8  # three operands of five columns: position, four counters
T_OPERAND_WIDTH: Final = 5
T_WIDTH: Final = 23

FREE, RUNNING, COMPLETING = range(3)
"""States of a thread."""

# An operation.
O_ARITHMETIC: Final = 0
O_TYPE: Final = 1
O_EXTENT: Final = 2
O_OPERANDS: Final = 3  # rows of dest, first and second source, or -1 (scalar or none)
O_SCALAR_ROW: Final = 6  # operand row of a scalar in memory, or -1
O_SCALAR: Final = 7  # bits of an immediate scalar
O_FABRIC: Final = 8  # 1 if an operand is a queue
O_ASYNC: Final = 9
O_THREAD: Final = 10
O_ACTION: Final = 11
O_ACTION_TASK: Final = 12
O_LOAD: Final = 13  # cycles from fetch to dispatch
O_GROUP: Final = 14
O_CYCLES: Final = 15  # numerator of cycles per group (memory) or per element (fabric)
O_DENOMINATOR: Final = 16
O_REDUCTION: Final = 17
O_QUEUES: Final = 18  # bit per queue that it uses
O_WIDTH: Final = 19

TYPE_F32, TYPE_F16, TYPE_INT16, TYPE_INT32 = range(4)
NO_ACTION, ACTIVATE, UNBLOCK = range(3)

# An operand of an operation.
D_KIND: Final = 0
D_BASE: Final = 1  # first word (memory) or queue slot
D_WIDE: Final = 2  # words per element
D_DIMENSIONS: Final = 3
D_EXTENT: Final = 4  # four columns, innermost first
D_STRIDE: Final = 8  # four columns, innermost first, words, with the jump back
D_TERMS: Final = 12
D_VARIABLE: Final = 13  # four columns
D_FACTOR: Final = 17  # four columns, words
D_LOW: Final = 21  # least word touched, relative to D_BASE
D_HIGH: Final = 22  # greatest word touched
D_FIRST: Final = 23  # first word of the buffer
D_LAST: Final = 24  # last word of the buffer
D_WIDTH: Final = 25

MEMORY, FABRIC_IN, FABRIC_OUT = range(3)
OUTPUT_SLOT: Final = 8
"""Queue slots: 0..7 input queues, 8..15 output queues."""

# An instruction: code and three arguments.
(
    I_OPERATION,
    I_LOOP,
    I_END_LOOP,
    I_SET,
    I_ADD,
    I_UNLESS_BELOW,
    I_JUMP,
    I_ACTIVATE,
    I_BLOCK,
    I_UNBLOCK,
    I_END,
) = range(11)

# Cycles of the profile that the element needs at run time.
(
    K_ISSUE,
    K_LOOP,
    K_COUNTER,
    K_TAKEN,
    K_NOT_TAKEN,
    K_CONTROL,
    K_SWITCH,
    K_COMPLETION,
    K_MEMORY_COMPLETION,
    K_EXECUTE,
    K_WIDTH,
) = range(11)

# Status of the run.
(
    S_CYCLE,
    S_END,
    S_ERROR,
    S_ERROR_ELEMENT,
    S_ERROR_ROW,
    S_ERROR_VALUE,
    S_AGENTS,
    S_EVENTS,
    S_LIMIT,
    S_SHUFFLE,
    S_RECORD,
    S_MARGIN,  # the most events of one cycle
    S_WIDTH,
) = range(13)

(
    OK,
    ERROR_TWO_ARRIVALS,
    ERROR_QUEUE_BUSY,
    ERROR_THREAD_BUSY,
    ERROR_BOUNDS,
    ERROR_LIMIT,
    EVENTS_FULL,
) = range(7)

# An event of the timeline.
V_ELEMENT, V_ROW, V_THREAD, V_START, V_END, V_WIDTH = range(6)


class Fabric(NamedTuple):
    """Queues, routers and the time wheel."""

    fifo: Table
    ring: Table
    """(entries, 2): cycle from which an entry may move, payload."""
    agent: Table
    wheel: Table
    bid: Table
    """(links, 2): cycle of the last bid, FIFO that leads it."""
    status: Table


class Codes(NamedTuple):
    """Static tables of the codes."""

    operation: Table
    operand: Table
    instruction: Table
    task: Table
    """First instruction of each task."""
    cycles: Table


class Elements(NamedTuple):
    """State of the elements."""

    element: Table
    thread: Table
    queue: npt.NDArray[np.int32]
    """(elements, 16): FIFO of each queue slot, or -1."""
    variable: Table
    runs: Table
    word: npt.NDArray[np.uint16]
    double: npt.NDArray[np.uint32]
    """The same memory as `word`, in 32-bit units."""
    event: Table
