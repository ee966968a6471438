"""Records of kernel arguments: the operand at which a kernel works, and the bits that it combines.

numba passes the fields of a named tuple one by one, so a record costs what its fields cost.
Addresses are those of rows in the store (`compile/columns.py`).
"""

from __future__ import annotations

from typing import NamedTuple


class ThreadPlace(NamedTuple):
    """A thread of an element, by the addresses of their rows."""

    element: int
    thread: int


class OperandPlace(NamedTuple):
    """An operand of a thread's operation: 0 is the destination, 1 and 2 are the sources."""

    element: int
    thread: int
    operand: int


class QueuePlace(NamedTuple):
    """A queue with the element and the operand row that use it."""

    element: int
    row: int
    queue: int


class OperandBits(NamedTuple):
    """The bits of one element of both sources, and of the operation's scalar."""

    first: int
    second: int
    scalar: int


class Computation(NamedTuple):
    """What an operation computes: its address, its arithmetic (`O_ARITHMETIC`), its `O_TYPE`."""

    op: int
    arithmetic: int
    value_type: int
