"""Calls of a collectives library: one color whose routes every call sets, uses and tears down.

The structure is that of the SDK's library <collectives_2d> (a published copy of its source: github
Elia-Belli/CereGraphs @4792bce, collectives_2d/pe.csl): a call fills in the state of a finite
state machine, clears filter and switch, sets the routes for its root and leaves the teardown; the
machine's task transfers the data on a microthread whose end activates it again; then the root sends
a teardown along the same routes, and what it reaches activates the caller's callback. Between them
stand the assignments and accesses to the router's registers that its source has, one scalar
instruction on memory each; what its compiler makes of address arithmetic and calls is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from tilewright.simulator.build.program_builder import CodeBuilder, ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Ref, Register, variable
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area

RECEIVE, SEND = 2, 3
STATE: Final = 10
CONFIG: Final = 8
"""Registers of the router that a call reads and writes; STATE: words of state that it assigns."""
DEST, SOURCE = Register("dest", 1), Register("src1", 1)


def library_broadcasts(elements: int, words: int, roots: Sequence[int]) -> Program:
    """Return a row of elements that calls the library's broadcast once per root, in turn.

    Call i sends the `words` f32 of the root's buffer `mine` to row i of the buffer `got` of all
    others. Raises ProgramError for fewer than two elements, no root, or a root outside the row.
    """
    if elements < 2 or not roots or not all(0 <= root < elements for root in roots):
        raise ProgramError(
            "library_broadcasts: needs two elements and roots among them",
            value=(elements, tuple(roots)),
            instead=f"roots from 0 to {elements - 1}",
        )
    b = ProgramBuilder("library_broadcasts", 1, elements)
    color = b.color("c0")
    for place in range(elements):
        code = b.code(f"e{place}")
        _declare(code, words, len(roots))
        _call(code, place, elements, roots)
        _transfer(code, place, words, roots)
        code.task("torn", teardown=color).activate("lock")
        lock = code.task("lock")
        lock.increment("call")
        with lock.when_below("call", len(roots)):
            lock.activate("caller")
        b.place(code.name, Area(0, place))
        rx, tx = _ports(place, roots[0], elements)
        b.route(color, Area(0, place), rx=rx, tx=tx, teardown=True)
    return b.build()


def _declare(code: CodeBuilder, words: int, calls: int) -> None:
    """Declare data, the library's state, and the descriptors of its transfers."""
    code.buffer("mine", "f32", words)
    code.buffer("got", "f32", (calls, words))
    code.buffer("state", "u16", STATE)
    code.buffer("config", "u16", CONFIG)
    code.buffer("ctrl_buf", "u32", 1)
    code.mem1d("send_buf", "mine", words)
    code.mem1d("recv_buf", "got", words)
    code.mem1d("ctrl_mem", "ctrl_buf", 1)
    code.input_queue(RECEIVE, "c0")
    code.output_queue(SEND, "c0")
    code.fabin("fabin", RECEIVE, words)
    code.fabout("fabout", SEND, words)
    code.fabout("ctrl_out", SEND, 1, control=True)


def _ports(place: int, root: int, elements: int) -> tuple[str, str]:
    """Return the ports (rx, tx) of an element's route for a broadcast of a root."""
    if place == root:
        return "R", ("E" if place < elements - 1 else "") + ("W" if place else "")
    if place < root:
        return "E", "R" + ("W" if place else "")
    return "W", "R" + ("E" if place < elements - 1 else "")


def _call(code: CodeBuilder, place: int, elements: int, roots: Sequence[int]) -> None:
    """Append the library's `broadcast`: state, filter and switch, routes, start of the machine."""
    caller = code.task("caller", entry=True)
    caller.block("lock")
    for word in range(STATE):
        caller.compute(code.element("state", word), "mov", 0, dtype="u16")
    for word in range(CONFIG):
        register = code.element("config", word)
        caller.compute(register, "or", register, 0, dtype="u16")
    routes = [_ports(place, root, elements) for root in roots]
    _by_call(caller, [partial(caller.reconfigure, "c0", rx=rx, tx=tx) for rx, tx in routes])
    caller.end_teardown("c0")
    caller.activate("fsm")


def _transfer(code: CodeBuilder, place: int, words: int, roots: Sequence[int]) -> None:
    """Append the finite state machine: transfer first, then the teardown of the root."""
    fsm = code.task("fsm")
    phase = code.element("state", 0)
    fsm.compute("phase", "mov", phase, dtype="u16")
    with fsm.when_below("phase", 1):
        fsm.compute(phase, "mov", 1, dtype="u16")
        for word in (1, 2, 3):  # length and base of descriptors in memory
            fsm.compute(
                code.element("state", word), "mov", code.element("state", word + 1), dtype="u16"
            )
        _by_call(fsm, [partial(_move, fsm, words, sends=place == root) for root in roots])
    with fsm.otherwise():
        fsm.compute(phase, "mov", 0, dtype="u16")
        _by_call(fsm, [partial(_tear_down, code, fsm, sends=place == root) for root in roots])
        fsm.unblock("lock")


def _tear_down(code: CodeBuilder, fsm: TaskBuilder, *, sends: bool) -> None:
    """Append the root's teardown, a control wavelet along the routes of the call."""
    if sends:
        teardown = control_wavelet("teardown", ignore_ce=True)
        fsm.compute(code.element("ctrl_buf", 0), "mov", teardown, dtype="u32")
        fsm.op("mov32", "ctrl_out", "ctrl_mem")


def _by_call(task: TaskBuilder, actions: Sequence[Callable[[], None]], first: int = 0) -> None:
    """Append what a task does in each call, chosen by the counter of calls."""
    if first == len(actions) - 1:
        actions[first]()
        return
    with task.when_below("call", first + 1):
        actions[first]()
    with task.otherwise():
        _by_call(task, actions, first + 1)


def _move(fsm: TaskBuilder, words: int, *, sends: bool) -> None:
    """Append the loads of both registers and the transfer, whose end activates the machine."""
    if sends:
        fsm.load(DEST, "fabout", asynchronous=True, activate="fsm")
        fsm.load(SOURCE, "send_buf")
    else:
        fsm.load(DEST, Ref("recv_buf").at(variable("call") * words))
        fsm.load(SOURCE, "fabin", asynchronous=True, activate="fsm")
    fsm.start("fmovs", DEST, SOURCE)
