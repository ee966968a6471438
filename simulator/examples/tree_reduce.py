"""A tree reduction on one row, with two colors and switches."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tilewright.simulator.build.program_builder import CodeBuilder, ProgramBuilder, TaskBuilder
from tilewright.simulator.check.limits import MAX_FABRIC_EXTENT
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, Position, Switch

RECEIVE, SEND = 2, 3
PASS = Position(rx=("E",))
"""What comes from the east goes on to the west, for good."""


def tree_reduce(elements: int, words: int) -> Program:
    """Sum the buffers `v` of a row of 2**n elements into its west end, in n rounds of pairs.

    Column c adds what its children c + 1, c + 2, c + 4, ... (below its lowest bit) send, the last
    of them while it passes the sum on to its parent. All children of an element use one color,
    its neighbours in the tree the other one. On a child's color every router first lets the
    child's own vector pass, then what comes from the east, so the children of an element follow
    each other without a gap and in order. The last child's control wavelet tells its parent's
    router that all are through.
    """
    b = ProgramBuilder("tree_reduce", 1, elements)
    colors = (b.color("even"), b.color("odd"))
    crossed = _crossed(elements)
    for column in range(elements):
        rounds, parity = _rounds(column, elements), column.bit_count() % 2
        parent = column - (column & -column)
        ends = ""
        if column and crossed[1 - parity, column]:
            last = parent and _rounds(parent, elements) == rounds + 1
            ends = "control" if last and crossed[1 - parity, parent] else "advance"
        name = f"rounds{rounds}_{parity}_{ends}" if column else "root"
        if name not in [code.name for code in b.codes]:
            code = b.code(name)
            _code(
                code, (colors[parity], colors[1 - parity] if column else ""), (rounds, words), ends
            )
        b.place(name, Area(0, column))
        _routes(b, column, (colors[parity], rounds > 0, "E", "R"), bool(crossed[parity, column]))
        _routes(
            b, column, (colors[1 - parity], column > 0, "R", "W"), bool(crossed[1 - parity, column])
        )
    return b.build()


def _rounds(column: int, elements: int) -> int:
    """Return how many children an element has."""
    return ((column or elements) & -(column or elements)).bit_length() - 1


def _crossed(elements: int) -> npt.NDArray[np.bool_]:
    """Return (2, elements): whether a router passes vectors of others on by a color."""
    crossed = np.zeros((2, elements), dtype=bool)
    for column in range(1, elements):
        parent = column - (column & -column)
        crossed[parent.bit_count() % 2, parent + 1 : column] = True
    return crossed


def _code(code: CodeBuilder, colors: tuple[str, str], size: tuple[int, int], ends: str) -> None:
    """Declare an element that receives by one color and sends by the other one."""
    rounds, words = size
    code.buffer("v", "f32", words)
    code.mem1d("all", "v", words)
    main = code.task("main", entry=True)
    if rounds:
        code.input_queue(RECEIVE, colors[0])
        code.fabin("in", RECEIVE, words)
        _add_up(code, main, (rounds - bool(colors[1])) * words, words)
    if not colors[1]:
        return
    code.output_queue(SEND, colors[1])
    code.fabout("out", SEND, words, advance_switch=ends == "advance")
    if rounds:
        main.op("fadds", "out", "all", "in")
    else:
        main.op("fmovs", "out", "all")
    if ends == "control":
        code.fabout("through", SEND, 1, control=True)
        main.op("mov32", "through", control_wavelet("switch_adv", ignore_ce=True))


def _add_up(code: CodeBuilder, main: TaskBuilder, total: int, words: int) -> None:
    """Add so many words to the vector, by as few operations as may be."""
    longest = MAX_FABRIC_EXTENT // words * words
    for number, first in enumerate(range(0, total, longest)):
        words_now = min(longest, total - first)
        code.circbuf(f"around{number}", "v", words_now)
        code.fabin(f"in{number}", RECEIVE, words_now)
        main.op("fadds", f"around{number}", f"around{number}", f"in{number}")


def _routes(b: ProgramBuilder, column: int, own: tuple[str, bool, str, str], crossed: bool) -> None:
    """Route a color at a router: its own vectors first, then those that only pass."""
    color, used, rx, tx = own
    if crossed and used:
        first = Position(rx=("R",)) if rx == "R" else Position(tx=("R",))
        b.route(color, Area(0, column), rx="E", tx="W", switch=Switch((first, PASS), current=1))
    elif crossed:
        b.route(color, Area(0, column), rx="E", tx="W")
    elif used:
        b.route(color, Area(0, column), rx=rx, tx=tx)
