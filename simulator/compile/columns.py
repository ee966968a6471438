"""Columns of the engine's tables, and the numbers of opcodes, states, errors and features.

The engine works on one int64 array, the store: a row is a piece of it, named by the address of
its first column, so that `store[queue + F_COUNT]` is a queue's count. One array and plain
addresses make the kernels' calls cheap. `code_encoder.py` and `network.py` make the tables with row
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

# An agent, that is a FIFO or an element. The columns that every visit needs stand first, in two
# lines of the processor's cache.
A_WHEN: Final = 0  # cycle of the next visit, or of the last one
A_WORK: Final = 4  # what a visit looks at after the row itself: the ring or the first thread
A_NEXT: Final = 20  # neighbours in a slot of the time wheel, or -1
A_PREVIOUS: Final = 21

# A FIFO of the network: an output queue, a router buffer, an input queue or an edge port.
F_HEAD: Final = 1
F_COUNT: Final = 2
F_CAP: Final = 3
F_RING: Final = A_WORK  # first ring row: (ready, payload), then (popped, payload)
F_CREDIT: Final = 5  # cycles from a pop until its slot can be used again
F_LATENCY: Final = 6  # cycles from push until the head may move
F_WAKE: Final = 7  # a push wakes the user when fewer entries than this were there
F_USER: Final = 8  # agent that takes from here, or -1 (edge output)
F_WAITER: Final = 9  # agent that waits for space here, or -1
F_POPPED: Final = 10  # cycle of the last pop
F_POPS: Final = 11
F_PUSHED: Final = 12  # cycle of the last push
F_SHARED: Final = 13  # SHARES if one of its links is used by other FIFOs too, STEERED: see F_WAY
F_SUCCESSORS: Final = 14  # number of successors
F_NEXT: Final = 15  # successors, five columns
F_COLOR: Final = 22
F_WAY: Final = 23  # way of a router buffer that chooses among its successors, or -1
F_LINK: Final = 24  # link of each successor, five columns
F_WAITED: Final = 29  # cycles that its words were there, if S_QUEUES
F_WIDTH: Final = 32
SHARES, STEERED = 1, 2
NEVER_USED: Final = -(1 << 40)
"""A slot's time before its first entry."""

# A way: a router buffer whose successors depend on a switch, a filter or the wavelet.
W_STATE: Final = 0  # router state of its element and color
W_TARGETS: Final = 1  # successors of the head that bids in this cycle, a bit each
W_MASKS: Final = 2  # four columns, one per position: successors, and ACCEPTS
W_SENT: Final = 6  # five columns: wavelets per successor
W_RAMP: Final = 11  # bit of the successor that is the ramp, or 0
W_COPIES: Final = 12  # four bits per successor: 1 + the successor that it gets a copy of, or 0
W_WIDTH: Final = 13
ACCEPTS: Final = 1 << 5
"""Set in a mask when the position takes wavelets from this buffer's ports."""

# The state of a router for one color: switch position and filter.
X_POSITION: Final = 0
X_BEFORE: Final = 1  # position before the last change
X_SINCE: Final = 2  # first cycle of the position
X_VALID: Final = 3  # bit per valid position
X_RING: Final = 4
X_POP: Final = 5
X_FIFOS: Final = 6  # five columns: buffers that wait for the switch, or -1
X_FILTER: Final = 11
X_COUNT: Final = 12
X_LIMIT: Final = 13  # two columns; a sparse counter uses the second (0: none) after the first
X_TURN: Final = 15  # which limit; DISABLED after the last of a sparse counter
X_MOST: Final = 16
X_COUNTS: Final = 17  # COUNTS_DATA, COUNTS_CONTROL
X_CONTROL_ONLY: Final = 18  # 1: only control wavelets pass, and only at the greatest count
X_LOW: Final = 19
X_HIGH: Final = 20
X_INCLUSIVE: Final = 21
X_TORN: Final = 22  # 1 while the color is torn down
X_ELEMENT: Final = 23
X_COLOR: Final = 24
X_HANDLER: Final = 25  # task of the element that a teardown activates, or -1
X_CHANGES: Final = 26  # first of the configurations that it can be changed to
X_NEXT: Final = 27  # state of another color at the same router, or 0
X_WIDTH: Final = 28
# A change: the first columns of a state, then four masks for each of its (at most five) ways.
C_MASKS: Final = X_TORN
C_WIDTH: Final = C_MASKS + 20
NO_POP, ALWAYS_POP, POP_ON_ADVANCE, POP_ON_ADVANCE_NOP = range(4)
NO_FILTER, COUNTER, SPARSE_COUNTER, RANGE = range(4)
COUNTS_DATA, COUNTS_CONTROL = 1, 2
DISABLED: Final = 2

# A wavelet: 16 bits of data, 16 bits of index; of a control wavelet the upper bits are the entry
# of its control task (6 bits) and its commands (wavelets.py), and the top bits are marks.
ENTRY_AT: Final = 16
COMMAND_AT: Final = 22
COMMAND_BITS: Final = 3
IGNORE_CE: Final = 4  # in a command, beside its opcode
NOP, SWITCH_ADVANCE, SWITCH_RESET, TEARDOWN = range(4)
IS_CONTROL: Final = 1 << 62
LAST_ADVANCES: Final = 1 << 61
"""The first router moves its switch after this wavelet (`advance_switch` of a fabout)."""
COMMANDS: Final = ((1 << 24) - 1) << COMMAND_AT

# An element.
E_STATE: Final = 1
E_UNTIL: Final = 2
E_RUNNING: Final = 3  # running threads
E_THREADS: Final = A_WORK  # first row of the thread table; row 0 is the main thread's operation
E_SINCE: Final = 5  # cycle up to which time is accounted
E_CYCLE_STATE: Final = 6  # how the time since then counts (trace.STATES)
E_THREAD_COUNT: Final = 7
E_MAIN_LEVEL: Final = 56  # priority of its main thread
E_LEVELS: Final = 8  # bit per priority that its operations on queues have
E_CYCLES: Final = 9  # four columns: cycles per state
E_TURN: Final = 13  # a column per priority: thread that had the datapath last
E_QUEUES_BUSY: Final = 22  # bit per queue
E_PC: Final = 23
E_ACTIVE: Final = 24  # bit per task
E_BLOCKED: Final = 25  # bit per task
E_LISTEN: Final = 26  # bit per input queue from which wavelets start tasks
E_TASK: Final = 27
E_TASK_START: Final = 28
E_TASKS: Final = 29  # first row of the task table
E_VARIABLES: Final = 30  # first variable
E_MEMORY: Final = 31  # first word
E_QUEUES: Final = 32  # FIFO of each of the 16 queue slots, or -1
E_RUNS: Final = 48  # first counter of finished operations
E_RECORD: Final = 49  # 1 if its operations are in the timeline
E_BINDINGS: Final = 50  # address of the code's bindings
E_ARGUMENT: Final = 51  # wavelet that started the running task
E_POOLS: Final = 52  # first row of the element's FIFOs in memory
E_REGISTERS: Final = 53  # first row of the element's data-structure registers
E_BOUND: Final = 54  # first of the FIFOs that its queues may be bound to
E_ROUTER: Final = 55  # first state of its router, see X_NEXT, or 0
E_INTERLOCK: Final = 57  # cycles that scalar instructions wait for their values from memory
E_HOLDER: Final = 58  # thread whose operation on memory has the issue slot
E_WIDTH: Final = 59
FLUSHED: Final = 16
"""From this bit on E_LISTEN has a bit per queue slot whose emptying a task waits for."""

BIND_CONTROL: Final = 8
BIND_EMPTY: Final = 72
BIND_WIDTH: Final = 88
"""A code's tasks: of each input queue, then of each control entry, of each empty slot, or -1."""
B_FIFO, B_CAP, B_WIDTH = range(3)
"""A FIFO that a queue may be bound to, and its capacity when it is."""

M_IDLE, M_SYNC, M_MAP, M_ISSUED, M_READY, M_DISPATCH, M_MEMORY = range(7)
"""States of the main thread. It is idle, waits in an operation on queues or in a map, has issued an
asynchronous operation or ended one on queues; from M_READY on it has the element's issue slot until
E_UNTIL: for an instruction, for loads before a dispatch, for an operation on memory."""

# A thread: one DSD operation in flight.
T_STATE: Final = 0
T_OP: Final = 1
T_LEFT: Final = 2
T_NEXT: Final = 3  # first cycle in which the next element may go
T_SCALAR: Final = 4
T_POSITIONS: Final = 5  # of each of the three operands
T_PRIORITY: Final = 8
T_FRACTION: Final = 9
T_CYCLE_STATE: Final = 10
T_COUNTERS: Final = 11  # of each operand in the innermost dimension, then in the next, four times
T_ROWS: Final = 23  # operand rows of a special operation
T_INDEX: Final = 26  # its index, -1 for none
T_EXTENT: Final = 27  # of a special operation
T_QUEUES: Final = 28  # bit per queue that it uses
T_ORIGIN: Final = 29  # first position of each of the three operands
T_SAVED: Final = 32  # value of a pointer destination before the operation
T_ACTION: Final = 33  # what its end does, and to which task
T_ACTION_TASK: Final = 34
T_ASYNC: Final = 35
T_ON_CONTROL: Final = 36
T_CONTROL_TASK: Final = 37
T_SINGLE: Final = 38  # 1 for @map
T_LENGTHS: Final = 39  # elements left of each operand of @map
T_CARRY: Final = 42  # of `addc16`, 0 at the start of an operation
T_START: Final = 43
T_GROUP: Final = 44  # elements that go at once
T_HALF: Final = 45  # three columns: 1 while half a wavelet of the operand is held
T_HALF_VALUE: Final = 48  # three columns: the half
T_CHANGED_LENGTH: Final = 51  # three columns: length of an operand with D_LENGTH_ROW
T_STRIDE: Final = 54  # three columns: words, of an operand with D_STRIDE_ROW
T_BLOCKED: Final = 57  # 1 while the microthread is blocked
T_RING_OFFSET: Final = 58  # three columns: words from the start of a circular buffer to T_ORIGIN
T_SIMD: Final = 61  # SIMD_... of the operands that it has
T_STEP: Final = 62  # what an element takes from T_LEFT: 1, or 0 for an endless operation
T_STALLED: Final = 63  # cycles that an operation on memory stalls
T_WIDTH: Final = 72

LEVELS: Final = 7
OPERANDS: Final = 3
COUNTERS: Final = T_COUNTERS - T_POSITIONS
"""From the address of an operand's position to its innermost counter; OPERANDS on to the next."""
DIMENSIONS: Final = 4
FREE, RUNNING, COMPLETING, MAPPING, PAUSED = range(5)
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
O_SPECIAL: Final = 20  # 1 if `special_operations.py` runs it
O_INDEX: Final = 21  # operand row of its index (VARIABLE), -1 for none
O_ON_CONTROL: Final = 22  # CONTROL_...
O_CONTROL_TASK: Final = 23
O_RESULT: Final = 24  # counter that gets 1 when it ran to its end, else 0; or -1
O_PRIORITY: Final = 25  # 0 to LEVELS - 1, the greatest goes first
O_POINTER: Final = 26  # 1 if the destination is a pointer to a scalar
O_RUNS: Final = 27  # behind the counters of elements: of its runs
O_MAP: Final = 28  # counters of the result and the two arguments of @map
O_MAP_BITS: Final = 31  # their bits, negative with a sign
O_ZERO: Final = 34  # the source that is cleared at the end, 0 for none
O_BANKS: Final = 35  # more cycles per group whose reads meet on a bank, by O_DENOMINATOR
O_SIMD: Final = 36  # SIMD_...
O_ROW: Final = 37  # elements after which a group ends: of a row of its memory operands
O_VARIANTS: Final = 38  # operations with other rates, for other contents of its registers
O_VARIANT: Final = 39  # row of the first of them, -1 for none
O_HELD: Final = 40  # of such a variant: operand rows that its registers hold, -1 for no register
O_STALLED: Final = 43  # counter, behind those of the runs: cycles that its runs on memory stalled
O_FREE: Final = 44  # what O_CYCLES would be if nothing stalled
O_DEPENDENT: Final = 45  # cycles before its dispatch in which it waits for its descriptors
O_LEADS: Final = 46  # 1 for the first row of a map
O_WIDTH: Final = 47
BANKS: Final = 8
"""Banks of an element's memory: 16-bit words after which addresses lie in the same bank again."""
SIMD_NONE, SIMD_MIXED, SIMD_32, _, SIMD_64, _, SIMD_EITHER = range(7)
# SIMD modes; before SIMD_EITHER the number is that of the elements that go at once
CONTROL_IS_DATA, CONTROL_ENDS, CONTROL_ACTIVATES, CONTROL_UNBLOCKS = range(4)
ENDLESS: Final = 0x7FFF  # extent of an operation that does not end by itself
EMPTY: Final = 1 << 16  # length of an operand without elements; 0 is no length of its own

TYPE_F32, TYPE_INT16, TYPE_INT32, TYPE_F16, TYPE_PAIR_INT16, TYPE_PAIR_F16 = range(6)
# PAIR: two values of 16 bits in a word of 32, the first one in the lower half
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
D_TERMS: Final = 12  # counters that the offset adds up, at most MAX_TERMS
D_VARIABLE: Final = 13  # four columns
D_FACTOR: Final = 17  # four columns, words
D_LOW: Final = 21  # least word touched, relative to D_BASE
D_HIGH: Final = 22  # greatest word touched
D_FIRST: Final = 23  # first word of the buffer
D_LAST: Final = 24  # last word of the buffer
D_FLAGS: Final = 25
D_WRAP: Final = 26  # words after which a circular buffer starts again, or 0
D_LENGTH: Final = 27  # extent of the descriptor, 0 for none of its own
D_SAVE: Final = 28  # words of a step of the outermost dimension of several
D_READS: Final = 29  # elements that special operations read and wrote by this row
D_WRITES: Final = 30
D_LENGTH_ROW: Final = 31  # operand row of a length known at run time only, or -1
D_STRIDE_ROW: Final = 32
D_TYPES: Final = 33  # bits of the dtypes that its values may have
D_SIMD: Final = 34  # SIMD_... of a queue or FIFO
D_WIDTH: Final = 35
MAX_TERMS: Final = 4

MEMORY, FABRIC_IN, FABRIC_OUT, POOL, VARIABLE, REGISTER = range(6)
"""Kinds of operands; D_BASE of the last three is a FIFO, a counter, a register of the element."""
(SENDS_CONTROL, ADVANCES, INDEXED, TRANSFORMS, FIFO_TYPED, PAIRS) = (1 << bit for bit in range(6))
"""Flags of an operand. PAIRS: two values per wavelet. FIFO_TYPED: a register that holds a FIFO."""

# A FIFO in the memory of an element.
(
    Q_BASE, Q_CAP, Q_WIDE, Q_HEAD, Q_COUNT, Q_READ_LENGTH, Q_WRITE_LENGTH, Q_EMPTY_ACTION,
    Q_FULL_ACTION, Q_POP_TASK, Q_PUSH_TASK, Q_FULL, Q_EMPTY, Q_WIDTH,
) = range(14)  # fmt: skip
# Q_FULL: elements for which a push found no space since the last full event, or 0
TEST_OR_SUSPEND, TERMINATE, SUSPEND, FAULT = range(4)
OUTPUT_SLOT: Final = 8
"""Queue slots: 0..7 input queues, 8..15 output queues."""

# A data-structure register of an element.
R_ROW: Final = 0  # operand row of what was loaded, or 0
R_POSITION: Final = 1
R_RING_OFFSET: Final = 2  # words from the start of a circular buffer to R_POSITION
R_ASYNC: Final = 3
R_ACTION: Final = 4
R_ACTION_TASK: Final = 5
R_ON_CONTROL: Final = 6
R_CONTROL_TASK: Final = 7
R_SAVES: Final = 8
R_SINGLE: Final = 9
R_EXTRAS: Final = 10  # numbers + 1 of its extended and stride registers, 0 for none
R_WIDTH: Final = 14  # an extended or stride register has in R_ROW who loaded it last, + 1
# What a load gives to a register: its number, an operand row, then R_ASYNC and all behind it.
L_REGISTER, L_ROW, L_SETTINGS = range(3)
L_WIDTH: Final = 13

# A scalar instruction: operation, dtype, then (kind, value) of destination and two sources.
U_CODE, U_TYPE, U_DEST, U_DEST_VALUE, U_LEFT, U_LEFT_VALUE, U_RIGHT, U_RIGHT_VALUE, U_WIDTH = range(
    9
)
NUMBER, COUNTER_VALUE, ELEMENT = range(3)
SCALAR_F32, SCALAR_F16, SCALAR_I16, SCALAR_U16, SCALAR_I32, SCALAR_U32 = range(6)

# An instruction: code and three arguments.
(
    I_OPERATION, I_LOOP, I_END_LOOP, I_SET, I_ADD, I_UNLESS_BELOW, I_JUMP, I_ACTIVATE, I_BLOCK,
    I_UNBLOCK, I_END, I_ARGUMENT, I_COMPUTE, I_SET_LENGTH, I_LOAD_REGISTER, I_END_TEARDOWN,
    I_RECONFIGURE, I_BIND, I_FLUSH, I_PAUSE, I_MAP_START, I_MAP_READ, I_MAP_WRITE, I_MAP_END,
) = range(24)  # fmt: skip
I_TARGET: Final = 3  # the row that a jump leads to
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
    S_LISTS,  # address of the agents due in the next even cycle
    _,  # the same of the next odd one
    S_LISTED,  # how many they are
    _,
    S_EVENTS,  # events so far
    S_EVENT,  # address of the events, the last part of the store
    S_QUEUES,  # 1 to count what waits in the queues
    S_MOST,  # cycles that the run may take; S_LIMIT is where it stops to be looked at, too
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
    K_SCALAR,
    K_SCALAR_OPERAND,
    K_END,
    K_DESCRIPTOR,
    K_MAP,
    # Races for memory: whether they are notes, how many, and the first one.
    S_NOTES_RACES,
    S_RACES,
    S_RACE_CYCLE,
    S_RACE_ELEMENT,
    S_RACE_ROW,  # the operation that began, or a scalar instruction
    S_RACE_OPERAND,  # 3: the scalar of an operation
    S_RACE_THREAD,  # of the operation that was running
    S_RACE_OTHER,  # that operation
    S_RACE_OTHER_OPERAND,
    S_RACE_START,  # its first cycle
    S_RACE_WORD,  # a word of the element that both touch
    # Reads of memory that nothing has written: where the bits of words lie; how many; the first.
    S_WRITTEN,  # index of the first bits in the memory, 0 to keep none
    S_UNWRITTEN,
    S_UNWRITTEN_CYCLE,
    S_UNWRITTEN_ELEMENT,
    S_UNWRITTEN_ROW,  # the operation, or a scalar instruction
    S_UNWRITTEN_WORD,
    S_REFUSES_UNWRITTEN,  # 1 if such a read is an error of the run
    S_TIMES_ONLY,  # whether what is in memory alone takes its cycles and computes nothing
    S_WATCHED,  # address of a word: the run stops to be looked at when it is S_WATCH_LIMIT or more
    S_WATCH_LIMIT,
    S_VISITS,  # of agents so far
    S_SETS,  # from the address of a counter to the word that counts how often it was set
    S_WIDTH,
) = range(59)

NO_VECTORS, NO_SCALARS = 1, 2
"""Values of S_TIMES_ONLY, 0 for a run with values: operations compute nothing; maps do not, too."""
WHEEL: Final = 1024
"""Slots of the time wheel, a power of two; longer waits stay in their slot for another turn."""
S_FEATURES: Final = 64
"""Addresses of the kernels of rare features (`features.py`), 0 where not needed."""
(
    FEATURE_LAUNCH,
    FEATURE_SPECIAL,
    FEATURE_MAP,
    FEATURE_CONTROL,
    FEATURE_ARRIVALS,
    FEATURE_RECEIVE,
    FEATURE_WAY,
    FEATURE_SETTLE_WAY,
    FEATURE_VALUE,
    FEATURE_LINES,
    FEATURE_BANKS,
    FEATURE_SIMD_READY,
    FEATURE_SIMD,
    FEATURE_FABRIC,
    FEATURE_RACES,
    FEATURE_SCALAR_RACES,
    FEATURE_UNWRITTEN,
    FEATURE_SCALAR_UNWRITTEN,
    FEATURES,
) = range(19)
WHEEL_AT: Final = 96
"""Address of the wheel, behind the header and the features."""

(
    OK, ERROR_TWO_ARRIVALS, ERROR_QUEUE_BUSY, ERROR_THREAD_BUSY, ERROR_BOUNDS, ERROR_LIMIT,
    EVENTS_FULL, ERROR_EXTENTS, ERROR_FIFO, ERROR_NOT_LOADED, ERROR_INDEX, ERROR_NOT_ASYNC,
    ERROR_SINGLE_STEP, ERROR_NO_SINGLE_STEP, ERROR_FIFO_REGISTER, ERROR_FEATURE, ERROR_NO_FIFO,
    ERROR_CHANGE, ERROR_NO_TEARDOWN, ERROR_POSITION, ERROR_BIND, ERROR_NO_LENGTH, ERROR_GROUP,
    ERROR_HALF, ERROR_DTYPE, ERROR_ENDLESS, ERROR_EXTENDED, ERROR_FAR_INDEX, ERROR_DIVISION,
    ERROR_SHIFT, ERROR_TOP_BITS, ERROR_ODD, ERROR_LONG, ERROR_STRIDE, ERROR_FIFO_LENGTH,
    ERROR_RACE, ERROR_UNWRITTEN,
) = range(37)  # fmt: skip

# An event of the timeline.
V_ELEMENT, V_ROW, V_THREAD, V_START, V_END, V_STALLED, V_WIDTH = range(7)
V_WAITS: Final = -128
"""A row of V_WAITS + a cycle state is no operation or task, but a wait of the element."""
