"""The parts of a star stencil of radius 1 that differ: additions only, on loaded registers.

    new = weights[1] * (weights[0] / weights[1] * old + up + down + left + right)

takes two multiplications and four additions, which go several cells at once. All descriptors stand
in registers, as in the recorded kernel (wafer.md §8.7).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.simulator.build.program_builder import CodeBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Register

IN_TURN: Final = (("east", "west", "north", "south"), ("west", "east", "south", "north"))
"""The order of directions, by the parity of an element: each meets its neighbour's opposite."""
MOVED: Final = ("up", "down", "left", "right")
FIRST_SEND: Final = 5
FIRST_RECEIVE: Final = 11
"""The registers of the four streams out and in; the computation has those below."""


def load_streams(code: CodeBuilder, around: Sequence[str], *, asynchronous: bool) -> None:
    """Load edges, halos and streams in the directions in which an element has neighbours.

    asynchronous: whether the operations on them run on microthreads, and count their ends.
    """
    for number, direction in enumerate(around):
        code.load(Register("src1", FIRST_SEND + number), f"edge_{direction}")
        code.load(Register("dest", FIRST_RECEIVE + number), f"halo_{direction}")
        out, came = Register("dest", FIRST_SEND + number), Register("src1", FIRST_RECEIVE + number)
        if asynchronous:
            code.load(out, f"to_{direction}", asynchronous=True, activate=f"sent_{direction}")
            code.load(came, f"from_{direction}", asynchronous=True, activate=f"came_{direction}")
        else:
            code.load(out, f"to_{direction}")
            code.load(came, f"from_{direction}")


def start_exchange(task: TaskBuilder, around: Sequence[str]) -> None:
    """Append the operations that send edges and receive halos, on microthreads."""
    for first in (FIRST_SEND, FIRST_RECEIVE):
        for number in range(len(around)):
            task.start("fmovs", Register("dest", first + number), Register("src1", first + number))


def exchange_in_lockstep(task: TaskBuilder, around: Sequence[str], parity: int) -> None:
    """Append the operations that send edges and receive halos, one after the other.

    Elements of parity 0 send first, the others receive first, from the neighbour that sends to them
    first, so no element waits for another one that waits for it.
    """
    order = sorted(around, key=IN_TURN[parity].index)
    for first in (FIRST_SEND, FIRST_RECEIVE) if parity == 0 else (FIRST_RECEIVE, FIRST_SEND):
        for direction in order:
            number = first + around.index(direction)
            task.op("fmovs", Register("dest", number), Register("src1", number))


def load_tile(code: CodeBuilder) -> None:
    """Load the descriptors of the computation: the tile of both arrays, and its moved copies."""
    loads = {"own_tile": ("dest", "src0"), "tile": ("dest", "src1")}
    extended = 0
    for name, files in loads.items():
        for file in files:
            code.load(Register(file, 1 if name == "own_tile" else 2), name, xdsr=extended)
            extended += 1
    code.load(Register("src1", 1), "own_tile", xdsr=extended)
    extended += 1
    for number, name in enumerate(MOVED):
        code.load(Register("src0", 2 + number), name, xdsr=extended + number)


def compute_nearest(code: CodeBuilder, task: TaskBuilder) -> None:
    """Append the two multiplications and four additions of one iteration."""
    own, tile = Register("dest", 1), Register("dest", 2)
    task.op("fmuls", own, Register("src1", 2), code.element("ratio"))
    for number in range(len(MOVED)):
        task.op("fadds", own, Register("src0", 2 + number), Register("src1", 1))
    task.op("fmuls", tile, Register("src1", 1), code.element("weights", 1))
