"""A tree reduction on one row, with two colors and switches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.check.limits import MAX_FABRIC_EXTENT
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, Position, Switch

RECEIVE, SEND = 2, 3
PASS = Position(rx=("E",))
"""What comes from the east goes on to the west, for good."""


class _TreeRole(NamedTuple):
    """What an element of the tree does."""

    receive: str
    """Color of its children."""
    send: str
    """Color of its parent; empty at the root."""
    rounds: int
    """Children of the element."""
    ends: str
    """How it ends its vector: "" (not at all), "advance" the switches or "control" wavelet."""


class _ColorRoute(NamedTuple):
    """What a router does with one color.

    `rx`, `tx`: letters of the ports by which wavelets come and go.
    """

    color: str
    is_used: bool
    """Whether the element itself sends or receives the color."""
    rx: str
    tx: str
    is_crossed: bool
    """Whether vectors of other elements pass."""


def tree_reduce(elements: int, words: int) -> Program:
    """Return a program that sums vectors along a row of 2**n elements by a tree, in n rounds.

    Each element has a vector of `words` f32 in the buffer `v`; the sum ends at the west end. Column
    c adds what its children c + 1, c + 2, c + 4, ... (below its lowest bit) send, the last of them
    while it passes the sum on to its parent. All children of an element use one color, its
    neighbours in the tree the other one. On a child's color every router first lets the child's own
    vector pass, then what comes from the east, so the children of an element follow each other
    without a gap and in order. The last child's control wavelet tells its parent's router that all
    are through. Raises ProgramError for another number of elements, or without words.
    """
    if elements < 1 or elements & (elements - 1) or words < 1:
        raise ProgramError(
            "a tree has a power of two of elements, and words", value=(elements, words)
        )
    b = ProgramBuilder("tree_reduce", 1, elements)
    colors = (b.color("even"), b.color("odd"))
    crossed = _crossed(elements)
    for column in range(elements):
        rounds, parity = _rounds(column, elements), column.bit_count() % 2
        near, far = colors[parity], colors[1 - parity]
        role = _TreeRole(near, far if column else "", rounds, _ends(column, elements, crossed))
        name = f"rounds{rounds}_{parity}_{role.ends}" if column else "root"
        if name not in [code.name for code in b.codes]:
            _code(b.code(name), role, words)
        b.place(name, Area(0, column))
        from_children = bool(crossed[parity, column])
        _route(b, column, _ColorRoute(near, rounds > 0, "E", "R", from_children))
        to_parent = bool(crossed[1 - parity, column])
        _route(b, column, _ColorRoute(far, column > 0, "R", "W", to_parent))
    return b.build()


def _ends(column: int, elements: int, crossed: npt.NDArray[np.bool_]) -> str:
    """Return how an element ends its vector: "", "advance" or "control", as in `_TreeRole.ends`.

    crossed: by color and element, whether vectors of others pass its router.
    """
    parity, parent = column.bit_count() % 2, column - (column & -column)
    if not column or not crossed[1 - parity, column]:
        return ""
    is_last = parent and _rounds(parent, elements) == _rounds(column, elements) + 1
    return "control" if is_last and crossed[1 - parity, parent] else "advance"


def _rounds(column: int, elements: int) -> int:
    """Return how many children an element of the tree has: 3 for column 8 of 16, 4 for column 0."""
    return ((column or elements) & -(column or elements)).bit_length() - 1


def _crossed(elements: int) -> npt.NDArray[np.bool_]:
    """Return (2 colors, elements): whether vectors of other elements pass a router on a color."""
    crossed = np.zeros((2, elements), dtype=bool)
    for column in range(1, elements):
        parent = column - (column & -column)
        crossed[parent.bit_count() % 2, parent + 1 : column] = True
    return crossed


def _code(code: CodeBuilder, role: _TreeRole, words: int) -> None:
    """Declare an element that receives by one color and sends by the other one."""
    code.buffer("v", "f32", words)
    code.mem1d("all", "v", words)
    main = code.task("main", entry=True)
    if role.rounds:
        code.input_queue(RECEIVE, role.receive)
        code.fabin("in", RECEIVE, words)
        _add_up(code, main, (role.rounds - bool(role.send)) * words, words)
    if not role.send:
        return
    code.output_queue(SEND, role.send)
    code.fabout("out", SEND, words, advance_switch=role.ends == "advance")
    if role.rounds:
        main.op("fadds", "out", "all", "in")
    else:
        main.op("fmovs", "out", "all")
    if role.ends == "control":
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


def _route(b: ProgramBuilder, column: int, route: _ColorRoute) -> None:
    """Route a color at a router: the element's vectors first, then those that only pass."""
    place = Area(0, column)
    if route.is_crossed and route.is_used:
        first = Position(rx=("R",)) if route.rx == "R" else Position(tx=("R",))
        b.route(route.color, place, rx="E", tx="W", switch=Switch((first, PASS), current=1))
    elif route.is_crossed:
        b.route(route.color, place, rx="E", tx="W")
    elif route.is_used:
        b.route(route.color, place, rx=route.rx, tx=route.tx)
