"""Every feature that the fast engine does not model is refused by name, never guessed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.isa.dsd import Ref, Register
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput

GENERIC = load_profile("generic")
WSE2 = load_profile("wse2-sdk-sim")
Change = Callable[[ProgramBuilder, CodeBuilder, TaskBuilder], object]


def mapped(task: TaskBuilder, operand: str, *operation: object) -> None:
    with task.map(("k", operand)):
        if operation:
            task.op(*operation)  # type: ignore[arg-type]


def branch(task: TaskBuilder) -> None:
    with task.when_below("k", 2):
        task.set("j", 1)


CASES: dict[str, tuple[Change, str]] = {
    "nothing": (lambda b, c, t: t.op("add16", "n", "n", 1), ""),
    "addc16": (lambda b, c, t: t.op("addc16", "n", "n", 1), "the operation @addc16"),
    "fscale": (
        lambda b, c, t: t.op("fscales", c.element("v"), 1.0, 2),
        "the operation @fscales",
    ),
    "fnorm": (
        lambda b, c, t: t.op("fnorms", c.element("v"), 1.0),
        "the operation @fnorms",
    ),
    "load with a microthread": (
        lambda b, c, t: c.load(Register("src1", 1), "in", asynchronous=True, microthread=4),
        "ElementCode.loads is set",
    ),
    "load at run time": (
        lambda b, c, t: t.load(Register("src1", 1), "in", asynchronous=True, microthread=4),
        "LoadRegister.asynchronous is set",
    ),
    "control wavelets from the border": (
        lambda b, c, t: b.edge_input(EdgeInput("ys", "S", 0, 1, "y", "u32", 1, control=True)),
        "EdgeInput.control is set",
    ),
    "swap": (
        lambda b, c, t: b.route("z", Area(0, 0), rx="W", tx="S", swap="x"),
        "Route.swap is set",
    ),
    "reconfigure": (
        lambda b, c, t: t.reconfigure("x", rx="W", tx="R"),
        "a Reconfigure in the program",
    ),
    "another color": (lambda b, c, t: t.bind_input(2, "y"), "a BindQueue in the program"),
    "flush": (
        lambda b, c, t: (c.task("after", empty_input=2), t.flush_input(2)),
        "Task.empty_input is set",
    ),
    "blocked microthread": (
        lambda b, c, t: t.block_microthread(4),
        "a BlockMicrothread in the program",
    ),
    "dfilt": (lambda b, c, t: t.start("dfilt", "in"), "the operation @dfilt"),
    "priority": (
        lambda b, c, t: t.start("fmovs", "all", "in", priority="high"),
        "DsdOperation.priority is set",
    ),
    "queue's priority": (lambda b, c, t: c.input_queue(3, "y", "high"), "Queue.priority is set"),
    "main thread": (lambda b, c, t: c.main_priority("high"), "ElementCode.main_priority is set"),
    "length": (
        lambda b, c, t: t.op("fmovs", Ref("all").with_length(2), 0.0),
        "Ref.length is set",
    ),
    "map on a queue": (lambda b, c, t: mapped(t, "in"), "a map on a queue or a register"),
    "operation on a queue in a map": (
        lambda b, c, t: mapped(t, "all", "fmovs", "all", "in"),
        "an operation on a queue in a map",
    ),
    "branch on data": (
        lambda b, c, t: (t.compute("k", "mov", c.element("v"), dtype="f32"), branch(t)),
        "a counter that depends on data",
    ),
    "place by data": (
        lambda b, c, t: (
            t.compute("k", "mov", 0, dtype="i16"),
            t.start("fmovs", Ref("all").at(variable("k")), "in"),
        ),
        "a counter that depends on data",
    ),
    "data task": (lambda b, c, t: c.data_task("each", 2), "Task.queue is set"),
    "control task": (lambda b, c, t: c.control_task("each", 2), "Task.control is set"),
}
ON_GENERIC = ("flush", "blocked microthread", "load with a microthread", "load at run time")


@pytest.mark.parametrize("name", sorted(CASES))
def test_refused_by_name(name: str) -> None:
    change, reason = CASES[name]
    b = ProgramBuilder("features", 1, 1)
    b.color("x")
    b.color("y")
    b.color("z")
    b.color("partner")
    code = b.code("main")
    code.buffer("v", "f32", 8)
    code.buffer("m", "u16", 8)
    code.mem1d("all", "v", 8)
    code.mem1d("four", "v", 4)
    code.mem1d("n", "m", 8)
    code.input_queue(2, "x")
    code.fabin("in", 2, 8)
    task = code.task("main", entry=True)
    if name not in ("dfilt", "priority", "data task"):
        task.op("fmovs", "all", "in")
    change(b, code, task)
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="N", tx="R")
    b.edge_input(EdgeInput("xs", "N", 0, 1, "x", "f32", 8))
    if name in ("another color", "control wavelets from the border"):
        b.route("y", Area(0, 0), rx="S", tx="R" if name == "another color" else "E")
    leaving = {"control wavelets from the border": ("y", "E"), "swap": ("z", "S")}
    if name in leaving:
        color, port = leaving[name]
        b.edge_output(EdgeOutput("out", port, 0, 1, color, "u32", 1))
    profile = GENERIC if name in ON_GENERIC else WSE2
    certificate = FastMachine(b.build(), profile).certificate
    assert certificate.granted == (not reason), certificate.reason
    assert reason in certificate.reason
