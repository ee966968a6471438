"""Records of kernel arguments: the operand at which a kernel works, and the bits that it combines.

numba passes the fields of a named tuple one by one, so a record costs what its fields cost.
Addresses are those of rows in the store (`compile/columns.py`).
"""

from __future__ import annotations

from typing import NamedTuple


class ThreadPlace(NamedTuple):
    """Name a thread (an operation in flight) of an element: addresses of both rows in the store."""

    element: int
    thread: int


class OperandPlace(NamedTuple):
    """Name an operand of a thread: addresses of element and thread, and the operand's number.

    operand: 0 is the destination, 1 and 2 are the sources.
    """

    element: int
    thread: int
    operand: int


class QueuePlace(NamedTuple):
    """Name a queue in use: addresses of the element, of the operand, and of the queue's FIFO."""

    element: int
    row: int
    queue: int


class OperandBits(NamedTuple):
    """Hold the bits of one element of both sources, and those of the operation's scalar."""

    first: int
    second: int
    scalar: int


class Computation(NamedTuple):
    """Say what an operation computes.

    op: its address in the store; arithmetic: ADD, MUL and so on; value_type: one of TYPE_F32,
    TYPE_F16, TYPE_INT16, TYPE_INT32.
    """

    op: int
    arithmetic: int
    value_type: int
