"""Records of kernel arguments: the operand at which a kernel works, and the bits that it combines.

numba passes the fields of a named tuple one by one, so a record costs what its fields cost.
Addresses are those of rows in the store (`compile/columns.py`).
"""

from __future__ import annotations

from typing import NamedTuple


class ThreadPlace(NamedTuple):
    """Name a thread (an operation in flight) of a processing element by two addresses.

    `element`: that of the processing element; `thread`: that of the thread.
    """

    element: int
    thread: int


class OperandPlace(NamedTuple):
    """Name an operand of an operation in flight.

    element, thread: addresses of the processing element and of the thread; operand: 0 is the
    destination, 1 and 2 are the sources.
    """

    element: int
    thread: int
    operand: int


class QueuePlace(NamedTuple):
    """Name a queue in use by three addresses in the store.

    `element`: of the processing element; `row`: of the operand; `queue`: of the queue's FIFO.
    """

    element: int
    row: int
    queue: int


class ReadPair(NamedTuple):
    """Name both memory sources of an operation.

    first, second: addresses of their operand rows; distance: 16-bit words from the first value of
    the second source to the first value of the first one.
    """

    first: int
    second: int
    distance: int


class OperandBits(NamedTuple):
    """Hold the bits of one value of the first source, of the second source, and of the scalar."""

    first: int
    second: int
    scalar: int


class Computation(NamedTuple):
    """Say what an operation computes.

    op: its address in the store; arithmetic: ADD, MUL and so on; value_type: of `TYPE_...`.
    """

    op: int
    arithmetic: int
    value_type: int


class Lines(NamedTuple):
    """Name the operands of a whole operation on memory.

    rows: address of the three words that name their operand rows; extent: values per vector.
    """

    rows: int
    extent: int
