"""wse.md §2.3, item by item: what is illegal or undefined on the machine ends in a named error.

What the language of our programs cannot express has no entry: a FIFO that is no global constant,
whose buffer is no variable or has other values than numbers; a task bound to the id of the teardown
task beside a handler; `TEXTS` has what only the text form could say. Descriptors' files, bindings
and switches are in test_wavelets.py, too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tilewright.simulator.builder import CodeBuilder, ProgramBuilder, TaskBuilder
from tilewright.simulator.dsd import Ref, Register, variable
from tilewright.simulator.errors import MachineError, ProgramError
from tilewright.simulator.machine import Machine
from tilewright.simulator.parsing import parse_program
from tilewright.simulator.profile import Profile, load_profile
from tilewright.simulator.routes import Area, EdgeInput, EdgeOutput, RangeFilter

WSE3 = load_profile("wse3-sdk-sim")
WSE2 = load_profile("wse2-sdk-sim")
DEST, SRC0, SRC1 = (Register(file, 1) for file in ("dest", "src0", "src1"))


def base() -> tuple[ProgramBuilder, CodeBuilder, TaskBuilder]:
    """Return one element with a stream from the north in queue 2 and one to it from queue 3."""
    b = ProgramBuilder("base", 1, 1)
    for color in "xy":
        b.color(color)
    code = b.code("main")
    code.buffer("a", "f32", (2, 4))
    code.buffer("store", "f32", 4)
    code.mem1d("all", "a", 8)
    code.mem4d("grid", "a", [(2, 4), (4, 1)])
    code.input_queue(2, "x")
    code.output_queue(3, "y")
    code.fabin("in", 2, 8)
    code.fabout("out", 3, 8)
    b.route("x", Area(0, 0), rx="N", tx="R")
    b.route("y", Area(0, 0), rx="R", tx="N")
    b.edge_input(EdgeInput("xs", "N", 0, 1, "x", "f32", 8))
    b.edge_output(EdgeOutput("ys", "N", 0, 1, "y", "f32", 8))
    b.place("main", Area(0, 0))
    return b, code, code.task("main", entry=True)


Breakage = Callable[[ProgramBuilder, CodeBuilder, TaskBuilder], object]


def map_over(task: TaskBuilder, operand: object) -> None:
    with task.map(("x", operand)):  # type: ignore[arg-type]
        pass


def second_input(b: ProgramBuilder, c: CodeBuilder, t: TaskBuilder) -> None:
    b.color("z")
    c.input_queue(4, "z")
    c.fabin("more", 4, 8)
    t.op("fadds", "all", "in", "more")


def fifo(c: CodeBuilder, **settings: object) -> None:
    c.fifo("f", "store", **settings)


def second_fifo(c: CodeBuilder, **settings: object) -> None:
    c.buffer("more", "f32", 4)
    c.fifo("g", "more", **settings)


REFUSED: dict[str, tuple[str, Breakage, Profile]] = {
    "properties beside tensor_access": (
        "code main, DSD d: given beside tensor_access",
        lambda b, c, t: c.mem1d("d", extent=4, tensor_access="|i|{4} -> a[0, i]"),
        WSE3,
    ),
    "expressions other than dimensions": (
        "tensor access of a: one expression per dimension of the buffer",
        lambda b, c, t: c.mem1d("d", tensor_access="|i|{4} -> a[i]"),
        WSE3,
    ),
    "variables other than lengths": (
        "tensor access of a: one to four variables and a length for each",
        lambda b, c, t: c.mem4d("d", tensor_access="|i, j|{4} -> a[i, j]"),
        WSE3,
    ),
    "five variables": (
        "tensor access of a: one to four variables and a length for each",
        lambda b, c, t: c.mem4d(
            "d", tensor_access="|i, j, k, l, m|{1, 1, 1, 1, 1} -> a[i + j + k, l + m]"
        ),
        WSE3,
    ),
    "fabout in the other source register": (
        "code main, task main, load of dsr_src1 1: a fabout DSD is loaded into dsr_dest only",
        lambda b, c, t: t.load(SRC1, "out"),
        WSE3,
    ),
    "destination register as a source": (
        "code main, task main, @fmovs: a source is a register of file src0 or src1",
        lambda b, c, t: t.op("fmovs", "all", DEST),
        WSE3,
    ),
    "second source register as the destination": (
        "code main, task main, @fmovs: the destination is a register of file dest or src0",
        lambda b, c, t: t.op("fmovs", SRC1, "all"),
        WSE3,
    ),
    "destination register in a map": (
        "code main, task main, @map: a register as input is of file src1",
        lambda b, c, t: (c.load(DEST, "all", single_step=True), map_over(t, DEST)),
        WSE3,
    ),
    "registers of two FIFOs": (
        "code main, DSD f: another FIFO has its registers",
        lambda b, c, t: (fifo(c, dest=1, src=1, xdsr=0), second_fifo(c, dest=1, src=1, xdsr=1)),
        WSE3,
    ),
    "extended register of two FIFOs": (
        "code main, DSD f: another FIFO has its registers",
        lambda b, c, t: (fifo(c, dest=1, src=1, xdsr=0), second_fifo(c, dest=2, src=2, xdsr=0)),
        WSE3,
    ),
    "extended register out of range": (
        "code main, DSD f: wse3-sdk-sim has no extended register 8",
        lambda b, c, t: fifo(c, dest=1, src=1, xdsr=8),
        WSE3,
    ),
    "fault on WSE-2": (
        "code main, DSD f: wse2-sdk-sim has no full action, and no suspend or fault",
        lambda b, c, t: fifo(c, empty_action="fault"),
        WSE2,
    ),
    "activate and unblock of a load": (
        "code main, task main, load of dsr_src1 1: at most one of activate and unblock",
        lambda b, c, t: t.load(SRC1, "in", asynchronous=True, activate="main", unblock="main"),
        WSE3,
    ),
    "two tasks of a teardown": (
        "code main: two tasks for the teardown of color x",
        lambda b, c, t: [c.task(name, teardown="x") for name in "pq"],
        WSE3,
    ),
    "two tasks of a queue's emptying": (
        "code main: two tasks follow the emptying of input queue 2",
        lambda b, c, t: [c.task(name, empty_input=2) for name in "pq"],
        WSE3,
    ),
    "output queue that is not initialised": (
        "code main, DSD lost: output queue 5 is not bound to a color",
        lambda b, c, t: (c.fabout("lost", 5, 8), c.load(DEST, "lost")),
        WSE3,
    ),
    "fabric extent 0": (
        "code main, DSD none: a fabric extent is outside 1..32766",
        lambda b, c, t: c.fabin("none", 2, 0),
        WSE3,
    ),
    "circbuf of extent 0": (
        "code main, DSD none: an extent is outside 1..65535",
        lambda b, c, t: c.circbuf("none", "a", 0),
        WSE3,
    ),
    "wraparound at the size": (
        "code main, DSD ring: the wraparound must be less than the 8 elements of buffer a",
        lambda b, c, t: c.circbuf("ring", "a", 8, 8),
        WSE3,
    ),
    "fabin in a destination register": (
        "code main, task main, load of dsr_dest 1: a fabin DSD cannot be loaded into dsr_dest",
        lambda b, c, t: t.load(DEST, "in"),
        WSE3,
    ),
    "fabout in a source register": (
        "code main, task main, load of dsr_src0 1: a fabout DSD is loaded into dsr_dest only",
        lambda b, c, t: t.load(SRC0, "out"),
        WSE3,
    ),
    "mem4d without an extended register": (
        "code main, task main, load of dsr_src1 1: grid needs an extended register",
        lambda b, c, t: t.load(SRC1, "grid"),
        WSE3,
    ),
    "FIFO in load_to_dsr": (
        "code main, task main, load of dsr_src1 1: a FIFO cannot be loaded into a register",
        lambda b, c, t: (fifo(c), t.load(SRC1, "f")),
        WSE3,
    ),
    "circbuf without an extended register": (
        "code main, task main, load of dsr_src1 1: ring needs an extended register",
        lambda b, c, t: (c.circbuf("ring", "a", 8), t.load(SRC1, "ring")),
        WSE3,
    ),
    "register out of range": (
        "code main: wse3-sdk-sim has no register dsr_dest 16",
        lambda b, c, t: t.load(Register("dest", 16), "all"),
        WSE3,
    ),
    "FIFO type of file src0": (
        "code main, task main, @fmovs: a register of FIFO type is of file dest or src1",
        lambda b, c, t: t.op("fmovs", "all", Register("src0", 1, fifo=True)),
        WSE3,
    ),
    "FIFO below the alignment": (
        "code main, DSD f: the buffer of a FIFO starts at a multiple of 4 bytes on wse3-sdk-sim",
        lambda b, c, t: (c.buffer("odd", "i16", 4, address=25), c.fifo("f", "odd")),
        WSE3,
    ),
    "FIFO as the first source": (
        "code main, task main, @fadds: a FIFO may not be the first of several sources",
        lambda b, c, t: (fifo(c), t.op("fadds", "all", "f", "all")),
        WSE3,
    ),
    "two FIFO sources": (
        "code main, task main, @fadds: at most one source may be a FIFO",
        lambda b, c, t: (fifo(c), c.fifo("g", "a"), t.op("fadds", "all", "f", "g")),
        WSE3,
    ),
    "FIFO in a map": (
        "code main, task main, @map: an operand is no descriptor, or a FIFO",
        lambda b, c, t: (fifo(c), map_over(t, "f")),
        WSE3,
    ),
    "only some registers of a FIFO": (
        "code main, DSD f: dest, src and xdsr are given together or not at all",
        lambda b, c, t: fifo(c, dest=1),
        WSE3,
    ),
    "different ids of a FIFO's registers": (
        "code main, DSD f: dest and src need the same id",
        lambda b, c, t: fifo(c, dest=1, src=2, xdsr=0),
        WSE3,
    ),
    "full action on WSE-2": (
        "code main, DSD f: wse2-sdk-sim has no full action, and no suspend or fault",
        lambda b, c, t: fifo(c, full_action="terminate"),
        WSE2,
    ),
    "suspend on WSE-2": (
        "code main, DSD f: wse2-sdk-sim has no full action, and no suspend or fault",
        lambda b, c, t: fifo(c, empty_action="suspend"),
        WSE2,
    ),
    "SIMD mode of a FIFO on WSE-3": (
        "code main, DSD f: FIFOs of wse3-sdk-sim have no SIMD mode",
        lambda b, c, t: fifo(c, simd="simd_32"),
        WSE3,
    ),
    "two fabric inputs on WSE-3": (
        "code main, task main, @fadds: too many fabric inputs for wse3-sdk-sim",
        second_input,
        WSE3,
    ),
    "activate and unblock": (
        "code main, task main, @fmovs: at most one of activate and unblock",
        lambda b, c, t: t.start("fmovs", "all", "in", activate="main", unblock="main"),
        WSE3,
    ),
    "one queue bound twice": (
        "code main: input queue is declared twice",
        lambda b, c, t: c.input_queue(2, "y"),
        WSE3,
    ),
    "one id of two tasks": (
        "code main: entry 4 is bound to two tasks",
        lambda b, c, t: [c.control_task(name, 4) for name in "pq"],
        WSE3,
    ),
    "two configurations of a color": (
        "route of color x in [0:1, 0:1]: element (0, 0) has two routes for it",
        lambda b, c, t: b.route("x", Area(0, 0), rx="E", tx="R"),
        WSE3,
    ),
    "save_address of a fabric descriptor": (
        "code main, task main, load of dsr_src1 1: save_address is for memory DSDs",
        lambda b, c, t: t.load(SRC1, "in", save_address=True),
        WSE3,
    ),
    "index offset without an index": (
        "code main, task main, @fmovs: a descriptor with wavelet_index_offset needs an index",
        lambda b, c, t: (c.mem1d("i", "a", 8, wavelet_index_offset=True), t.op("fmovs", "i", 0.0)),
        WSE3,
    ),
    "queue that is not initialised": (
        "code main, DSD lost: input queue 5 is not bound to a color",
        lambda b, c, t: (c.fabin("lost", 5, 8), c.load(SRC1, "lost")),
        WSE3,
    ),
    "extent 0": (
        "code main, DSD none: an extent is outside 1..65535",
        lambda b, c, t: c.mem1d("none", "a", 0),
        WSE3,
    ),
    "memory out of bounds": (
        "code main, task main, @fmovs: operand all leaves buffer a of 8 elements",
        lambda b, c, t: t.op("fmovs", Ref("all").at(1), 0.0),
        WSE3,
    ),
}


@pytest.mark.parametrize("item", sorted(REFUSED))
def test_refused_before_the_run(item: str) -> None:
    text, breakage, profile = REFUSED[item]
    with pytest.raises(ProgramError) as caught:
        refuse(breakage, profile)
    assert str(caught.value).splitlines()[0] == text


def refuse(breakage: Breakage, profile: Profile) -> None:
    b, code, task = base()
    breakage(b, code, task)
    Machine(b.build(), profile)


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
            "cycle 13, element (0, 0): output queue 3 gets another color, but 5 words of color y "
            "are inside"
        ),
        queue_with_words,
    ),
    "filter changed in flight": (
        (
            "cycle 0, element (0, 0): a teardown's end, or a new route, switch or filter, but "
            "color x is not torn down here, or has no such switch position"
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
            "another operation"
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


HEAD = "program p 1 x 1\ncolor x 0\ncode c\n  buffer v f32 [4] @ 0\n"
TEXTS = {
    "both sources cleared": (
        "  output_queue 3 x\n  fabout o queue 3 extent 4 zero first zero second",
        "property of fabout given twice",
    ),
    "control_transform of a memory descriptor": (
        "  mem1d d v extent 4 control_transform",
        "unknown property of mem1d",
    ),
    "unknown setting of a load": (
        "  load %dsr_src1 1 d single",
        "unknown property of a load",
    ),
}


@pytest.mark.parametrize("item", sorted(TEXTS))
def test_what_the_text_form_cannot_say(item: str) -> None:
    text, message = TEXTS[item]
    with pytest.raises(ProgramError) as caught:
        parse_program(HEAD + text)
    assert caught.value.what == message
    assert caught.value.where is not None
    assert caught.value.where.line is not None
