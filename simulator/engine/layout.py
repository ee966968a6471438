"""Columns of the engine's rows.

The engine works on one int64 array, the store: a row is a piece of it, named by the address of
its first column, so that `store[queue + F_COUNT]` is a queue's count. One array and plain
addresses make the kernels' calls cheap. `tables.py` and `network.py` make the tables with row
numbers; `store.py` puts them into one store and turns numbers into addresses.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.int64]
Word = Any
"""A value of the store: an int64 in compiled kernels, a numpy scalar or int un-jitted."""
Memory = npt.NDArray[np.uint32]
"""The SRAM of all elements, in 32-bit units; addresses count 16-bit words."""

# An agent, that is a FIFO or an element, in the time wheel: the first columns of both.
A_WHEN: Final = 0  # cycle of the next visit, or -1
A_NEXT: Final = 1
A_PREVIOUS: Final = 2

# A FIFO of the network: an output queue, a router buffer, an input queue or an edge port.
F_HEAD: Final = 3
F_COUNT: Final = 4
F_CAP: Final = 5
F_RING: Final = 6  # first ring row
F_LATENCY: Final = 7  # cycles from push until the head may move
F_POPPED: Final = 8  # cycle of the last pop: its slot is free from the next cycle on
F_PUSHED: Final = 9  # cycle of the last push
F_WAITER: Final = 10  # agent that waits for space here, or -1
F_USER: Final = 11  # agent that takes from here, or -1 (edge output)
F_SHARED: Final = 12  # 1 if one of its links is used by other FIFOs too
F_POPS: Final = 13
F_COLOR: Final = 14
F_SUCCESSORS: Final = 15  # number of successors
F_NEXT: Final = 16  # successors, five columns
F_LINK: Final = 21  # link of each successor, five columns
F_WIDTH: Final = 26


# An element.
E_STATE: Final = 3
E_UNTIL: Final = 4
E_PC: Final = 5
E_ACTIVE: Final = 6  # bit per task
E_BLOCKED: Final = 7  # bit per task
E_TASK: Final = 8
E_TASK_START: Final = 9
E_TASKS: Final = 10  # first row of the task table
E_MEMORY: Final = 11  # first word
E_VARIABLES: Final = 12  # first variable
E_RUNS: Final = 13  # first counter of finished operations
E_THREADS: Final = 14  # first row of the thread table; row 0 is the main thread's operation
E_THREAD_COUNT: Final = 15
E_RUNNING: Final = 16  # running threads
E_TURN: Final = 17  # thread that had the datapath last
E_QUEUES_BUSY: Final = 18  # bit per queue
E_SINCE: Final = 19  # cycle up to which time is accounted
E_MOOD: Final = 20  # how the time since then counts (trace.STATES)
E_CYCLES: Final = 21  # four columns: cycles per state
E_QUEUES: Final = 25  # FIFO of each of the 16 queue slots, or -1
E_WIDTH: Final = 41

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
O_NUMBER: Final = 19  # of its code, from 0
O_WIDTH: Final = 20

TYPE_F32, TYPE_F16, TYPE_INT16, TYPE_INT32 = range(4)
NO_ACTION, ACTIVATE, UNBLOCK = range(3)
MAX_TASKS: Final = 62
"""Tasks of an element: bits of a column."""
USER_IS_ELEMENT: Final = -2
"""In `network.py` a queue used by element e has the user -2 - e."""

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
I_WIDTH: Final = 4

# The header of the store, at address 0.
(
    S_CYCLE,
    S_END,  # cycle at which everything so far has ended
    S_ERROR,
    S_ERROR_ELEMENT,
    S_ERROR_ROW,
    S_ERROR_VALUE,
    S_AGENTS,  # agents in the wheel
    S_LIMIT,
    S_SHUFFLE,
    S_RECORD,
    S_MARGIN,  # the most events of one cycle
    S_ELEMENTS,  # address of the first element; agents below it are FIFOs
    S_BATCH,  # address of the agents of one cycle
    S_EVENTS,  # events so far
    S_EVENT,  # address of the events, the last part of the store
    # Cycles of the profile.
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
    S_WIDTH,
) = range(26)

WHEEL: Final = 1024
"""Slots of the time wheel, a power of two; longer waits stay in their slot for another turn."""
WHEEL_AT: Final = 32
"""Address of the wheel, behind the header."""

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
