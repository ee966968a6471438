"""The star stencil of radius 1 on tiles, by additions: what differs from `star_stencil.py`.

    new = weights[1] * (weights[0] / weights[1] * old + up + down + left + right)

takes two multiplications and four additions, which go several cells at once. All descriptors are in
registers, as in the recorded kernel (wafer.md §8.7).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Register

MOVED: Final = ("up", "down", "left", "right")
FIRST_SEND: Final = 5
FIRST_RECEIVE: Final = 11
"""The registers of the four streams out and in; the computation has those below."""


def load_streams(code: CodeBuilder, around: Sequence[str], *, waits: bool) -> None:
    """Load the descriptors of streams from and to neighbours into registers, before the start.

    In each direction one register sends and one receives. around: directions in which the element
    has neighbours, such as "east". waits: whether the end of each of their operations activates a
    task of its own, `sent_east` or `came_east`.
    """
    reload_streams(code, around)
    for number, direction in enumerate(around):
        out, came = Register("dest", FIRST_SEND + number), Register("src1", FIRST_RECEIVE + number)
        sent = {"activate": f"sent_{direction}"} if waits else {}
        got = {"activate": f"came_{direction}"} if waits else {}
        code.load(out, f"to_{direction}", asynchronous=True, **sent)
        code.load(came, f"from_{direction}", asynchronous=True, **got)


def reload_streams(code: CodeBuilder | TaskBuilder, around: Sequence[str]) -> None:
    """Load the descriptors of edges and halos into registers.

    Before the program if `code` is the builder of a code, or in a task, as the recorded kernel does
    in every iteration. around: directions in which the element has neighbours.
    """
    for number, direction in enumerate(around):
        code.load(Register("src1", FIRST_SEND + number), f"edge_{direction}")
    for number, direction in enumerate(around):
        code.load(Register("dest", FIRST_RECEIVE + number), f"halo_{direction}")


def start_exchange(task: TaskBuilder, around: Sequence[str]) -> None:
    """Append the operations that send edges and receive halos, on microthreads.

    around: directions in which the element has neighbours.
    """
    for first in (FIRST_SEND, FIRST_RECEIVE):
        for number in range(len(around)):
            task.start("fmovs", Register("dest", first + number), Register("src1", first + number))


def load_tile(code: CodeBuilder) -> None:
    """Load the descriptors of the computation into registers: the tiles, and their moved copies."""
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
    """Append the two multiplications and four additions of one iteration to a task.

    code: the builder of the element's code, for its buffers.
    """
    own, tile = Register("dest", 1), Register("dest", 2)
    task.op("fmuls", own, Register("src1", 2), code.element("ratio"))
    for number in range(len(MOVED)):
        task.op("fadds", own, Register("src0", 2 + number), Register("src1", 1))
    task.op("fmuls", tile, Register("src1", 1), code.element("weights", 1))
