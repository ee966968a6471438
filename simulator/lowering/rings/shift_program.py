"""The tasks of an element whose tiles move on along rings (theory/grid.md §11).

In each turn microthreads send the tile of the turn to the next element and receive the one of the
next turn into the other buffer, during the work; their words go before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.mapper.grid.space_time import HeldTensor, SpaceTime
from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.isa.index_expression import Index, variable
from tilewright.simulator.lowering.number_operations import move_of, simd_of
from tilewright.simulator.lowering.sums.sum_roles import Role


@dataclass(frozen=True, slots=True)
class TileTransfer:
    """A send or a receive of a tile on a microthread.

    `operation`: name of the move. `dest`, `source`: descriptors that it writes and reads. `label`:
    what timelines and counts call its words, such as `send A`.
    """

    operation: str
    dest: Ref
    source: Ref
    label: str


def declare_shifts(code: CodeBuilder, read: SpaceTime, role: Role) -> None:
    """Declare what the elements of a role receive and send of tensors that shift.

    The queues of tensor number n are 2 n to send and 2 n + 1 to receive: a queue's number is that
    of its microthread.
    """
    for number, colors in enumerate(role.shifts):
        tensor = read.tensor(colors.tensor)
        name, values, simd = tensor.name, tensor.values, simd_of(read, tensor)
        code.output_queue(2 * number, colors.sends)
        code.fabout(f"{name}_next", 2 * number, values, simd=simd)
        code.input_queue(2 * number + 1, colors.receives)
        code.fabin(f"{name}_before", 2 * number + 1, values, simd=simd)
        if tensor.resident:  # that of a stream has its tile already
            code.mem1d(f"{name}_tile", name, extent=values)


def free_queues(read: SpaceTime) -> list[int]:
    """Return the numbers of input queues that no shift takes, ascending."""
    taken = {2 * number + 1 for number, _ in enumerate(read.shifted)}
    return [number for number in range(len(read.inputs) + 16) if number not in taken]


def start_shifts(task: TaskBuilder, read: SpaceTime, slot: str, other: str, join: str) -> None:
    """Append the sends and receives of one turn: out of the buffer in use, into the other one.

    `slot`, `other`: names of the counters with the numbers of these buffers. `join`: how the names
    of the tasks that wait begin. The end of the first transfer activates task `join` 1; that of
    transfer n after it unblocks task `join` n.
    """
    for place, transfer in enumerate(_transfers(read, variable(slot), variable(other))):
        task.start(
            transfer.operation,
            transfer.dest,
            transfer.source,
            activate=f"{join}1" if place == 0 else None,
            unblock=f"{join}{place}" if place else None,
            label=transfer.label,
        )


def _transfers(read: SpaceTime, slot: Index, other: Index) -> Iterator[TileTransfer]:
    moves = [(tensor, move_of(read.dtype_of(tensor.name))) for tensor in read.shifted]
    for tensor, move in moves:
        sent = Ref(f"{tensor.name}_next")
        yield TileTransfer(move, sent, _buffer(tensor, slot), f"send {tensor.name}")
    for tensor, move in moves:
        received = Ref(f"{tensor.name}_before")
        yield TileTransfer(move, _buffer(tensor, other), received, f"receive {tensor.name}")


def _buffer(tensor: HeldTensor, slot: Index) -> Ref:
    return Ref(f"{tensor.name}_tile").at(slot * tensor.values)
