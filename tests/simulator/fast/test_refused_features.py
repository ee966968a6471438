"""Every feature that the fast engine does not model is refused by name, never guessed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tilewright.simulator.builder import CodeBuilder, ProgramBuilder, TaskBuilder
from tilewright.simulator.dsd import Ref, variable
from tilewright.simulator.fast.run import FastMachine
from tilewright.simulator.profile import load_profile
from tilewright.simulator.routes import Area, EdgeInput

WSE2 = load_profile("wse2-sdk-sim")
Change = Callable[[ProgramBuilder, CodeBuilder, TaskBuilder], object]


def moved_fmuls(b: ProgramBuilder, code: CodeBuilder, task: TaskBuilder) -> None:
    task.op("fmuls", "four", "four", Ref("four").at(variable("k")))


CASES: dict[str, tuple[Change, str]] = {
    "nothing": (lambda b, c, t: t.op("add16", "n", "n", 1), ""),
    "addc16": (lambda b, c, t: t.op("addc16", "n", "n", 1), "the operation @addc16"),
    "fscale": (
        lambda b, c, t: t.op("fscales", c.element("v"), 1.0, 2),
        "the operation @fscales",
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
    "banks": (moved_fmuls, "bank conflicts that depend on counters"),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_refused_by_name(name: str) -> None:
    change, reason = CASES[name]
    b = ProgramBuilder("features", 1, 1)
    b.color("x")
    b.color("y")
    code = b.code("main")
    code.buffer("v", "f32", 8)
    code.buffer("m", "u16", 8)
    code.mem1d("all", "v", 8)
    code.mem1d("four", "v", 4)
    code.mem1d("n", "m", 8)
    code.input_queue(2, "x")
    code.fabin("in", 2, 8)
    task = code.task("main", entry=True)
    if name not in ("dfilt", "priority"):
        task.op("fmovs", "all", "in")
    change(b, code, task)
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="N", tx="R")
    b.edge_input(EdgeInput("xs", "N", 0, 1, "x", "f32", 8))
    certificate = FastMachine(b.build(), WSE2).certificate
    assert certificate.granted == (not reason), certificate.reason
    assert reason in certificate.reason
