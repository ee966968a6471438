"""wafer.md §6.4, item by item: what is illegal or undefined on the machine ends in a named error.

What the language of our programs cannot express has no entry: a FIFO that is no global constant,
whose buffer is no variable or has other values than numbers; a task bound to the id of the teardown
task beside a handler; `TEXTS` has what only the text form could say. Descriptors' files, bindings
and switches are in test_wavelets.py, too.
"""

from __future__ import annotations

import pytest
from undefined_base import DEST, SRC0, SRC1, WSE2, WSE3, Breakage, base, fifo, map_over

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Ref, Register
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program


def second_input(b: ProgramBuilder, c: CodeBuilder, t: TaskBuilder) -> None:
    b.color("z")
    c.input_queue(4, "z")
    c.fabin("more", 4, 8)
    t.op("fadds", "all", "in", "more")


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
        "code main, DSD f: wse3-sdk-sim has no extended register 16",
        lambda b, c, t: fifo(c, dest=1, src=1, xdsr=16),
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
    "fabric extent below 0": (
        "code main, DSD none: a fabric extent is outside 0..32766",
        lambda b, c, t: c.fabin("none", 2, -1),
        WSE3,
    ),
    "circbuf of extent below 0": (
        "code main, DSD none: an extent is outside 0..65535",
        lambda b, c, t: c.circbuf("none", "a", -1),
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
    "extent below 0": (
        "code main, DSD none: an extent is outside 0..65535",
        lambda b, c, t: c.mem1d("none", "a", -1),
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
