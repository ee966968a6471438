"""wafer.md §6.4: what is undefined on the machine and found only in a run stops it, named.

The items that are refused before a run are in test_undefined.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from undefined_base import SRC1, WSE3, Breakage, base, fifo, map_over

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Ref, Register
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.isa.machine_errors import MachineError
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput, RangeFilter
from tilewright.simulator.run.machine import Machine


def two_arrivals(b: ProgramBuilder, c: CodeBuilder, t: TaskBuilder) -> None:
    b._routes[0] = b._routes[0].__class__("x", Area(0, 0), ("N", "W"), ("R",))
    b.edge_input(EdgeInput("ws", "W", 0, 1, "x", "f32", 1))


def full_by_a_register(b: ProgramBuilder, c: CodeBuilder, t: TaskBuilder) -> None:
    fifo(c, dest=4, src=4, xdsr=0)
    t.op("fmovs", "all", Register("src1", 4))


def not_a_fifo(b: ProgramBuilder, c: CodeBuilder, t: TaskBuilder) -> None:
    c.load(SRC1, "all")
    t.op("fmovs", "all", Register("src1", 1, fifo=True))


def one_microthread(b: ProgramBuilder, c: CodeBuilder, t: TaskBuilder) -> None:
    t.start("fmovs", "out", "all")
    t.start("fmovs", "all", "in", microthread=3)


def far_away(b: ProgramBuilder, c: CodeBuilder, t: TaskBuilder) -> None:
    t.set("k", 9)
    t.op("fmovs", Ref("all").at(variable("k")), 0.0)


def index_of_a_register(b: ProgramBuilder, c: CodeBuilder, t: TaskBuilder) -> None:
    c.mem1d("indexed", "a", 8, wavelet_index_offset=True)
    c.load(SRC1, "indexed")
    t.op("fmovs", "all", SRC1)


def push_by_a_register(b: ProgramBuilder, c: CodeBuilder, t: TaskBuilder) -> None:
    fifo(c, dest=4, src=4, xdsr=0)
    t.op("fmovs", Register("dest", 4), "all")


def queue_with_words(b: ProgramBuilder, c: CodeBuilder, t: TaskBuilder) -> None:
    t.op("fmovs", "out", "all")
    t.bind_output(3, "x")
    b.route("x", Area(0, 0), rx="R", tx="E")
    b.edge_output(EdgeOutput("lost", "E", 0, 1, "x", "f32", 8))
    c._input_queues.clear()
    c._dsds[:] = [dsd for dsd in c._dsds if dsd.name != "in"]
    b._edge_inputs.clear()
    del b._routes[0]


def filter_in_flight(b: ProgramBuilder, c: CodeBuilder, t: TaskBuilder) -> None:
    t.reconfigure("x", rx="N", tx="R", filter=RangeFilter(0, 3))


STOPPED: dict[str, tuple[str, Breakage]] = {
    "FIFO-typed register without a FIFO": (
        (
            "cycle 4, element (0, 0), code main, task main, @fmovs: register dsr_src1 1 is of FIFO "
            "type, but holds no FIFO"
        ),
        not_a_fifo,
    ),
    "empty FIFO in a register without FIFO type": (
        (
            "cycle 4, element (0, 0), code main, task main, @fmovs: a register that is not of FIFO "
            "type holds a FIFO that is full or empty"
        ),
        full_by_a_register,
    ),
    "map over a register without single_step": (
        (
            "cycle 0, element (0, 0), code main, task main, @map: register dsr_src1 1 is not "
            "loaded with single_step, which @map needs"
        ),
        lambda b, c, t: (c.load(SRC1, "all"), map_over(t, SRC1)),
    ),
    "index offset of a register without an index": (
        (
            "cycle 4, element (0, 0), code main, task main, @fmovs: an operand has "
            "wavelet_index_offset, but the operation gives no index"
        ),
        index_of_a_register,
    ),
    "full FIFO in a register without FIFO type": (
        (
            "cycle 8, element (0, 0), code main, task main, @fmovs: a register that is not of FIFO "
            "type holds a FIFO that is full or empty"
        ),
        push_by_a_register,
    ),
    "an operation without a length": (
        (
            "cycle 4, element (0, 0), code main, task main, @fmovs: no operand has a length; "
            "set_read_length or set_write_length gives a FIFO one"
        ),
        lambda b, c, t: (fifo(c), t.op("fmovs", "f", 1.0)),
    ),
    "queue used again with words inside": (
        (
            "cycle 13, element (0, 0), code main, task main, bind_output 3 x: output queue 3 gets "
            "another color, but 5 words of color y are inside"
        ),
        queue_with_words,
    ),
    "filter changed in flight": (
        (
            "cycle 0, element (0, 0), code main, task main, reconfigure x: color x is not torn "
            "down at this router"
        ),
        filter_in_flight,
    ),
    "single_step outside of a map": (
        (
            "cycle 4, element (0, 0), code main, task main, @fmovs: register dsr_src1 1 is loaded "
            "with single_step, which is for @map only"
        ),
        lambda b, c, t: (c.load(SRC1, "all", single_step=True), t.op("fmovs", "all", SRC1)),
    ),
    "two operations on one queue": (
        (
            "cycle 11, element (0, 0), code main, task main, @fmovs: input queue 2 is in use by "
            "code main, task main, @fmovs"
        ),
        lambda b, c, t: [t.start("fmovs", "all", "in", microthread=n) for n in (4, 5)],
    ),
    "two operations on one microthread": (
        (
            "cycle 11, element (0, 0), code main, task main, @fmovs: its microthread is in use by "
            "code main, task main, @fmovs"
        ),
        one_microthread,
    ),
    "asynchronous with a register that is not": (
        (
            "cycle 4, element (0, 0), code main, task main, @fmovs: register dsr_src1 1 is not "
            "loaded as asynchronous"
        ),
        lambda b, c, t: (c.load(SRC1, "in"), t.start("fmovs", "all", SRC1)),
    ),
    "register that is not loaded": (
        "cycle 4, element (0, 0), code main, task main, @fmovs: register dsr_src1 1 is not loaded",
        lambda b, c, t: t.op("fmovs", "all", SRC1),
    ),
    "two wavelets of one color in one cycle": (
        (
            "cycle 0, element (0, 0): two wavelets of color x arrive in the same cycle from two rx "
            "ports of its router"
        ),
        two_arrivals,
    ),
    "memory out of bounds at run time": (
        (
            "cycle 6, element (0, 0), code main, task main, @fmovs: operand all leaves buffer a of "
            "8 elements"
        ),
        far_away,
    ),
}


@pytest.mark.parametrize("item", sorted(STOPPED))
def test_stops_the_run(item: str) -> None:
    text, breakage = STOPPED[item]
    b, code, task = base()
    breakage(b, code, task)
    program = b.build()
    edges = {p.name: np.zeros((1, p.count), dtype=np.float32) for p in program.edge_inputs}
    with pytest.raises(MachineError) as caught:
        Machine(program, WSE3).run(edges=edges)
    assert str(caught.value).splitlines()[0] == text
