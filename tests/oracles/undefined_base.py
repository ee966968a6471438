"""One element with a stream in and one out, for programs that do one thing wrong."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Register
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput

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


def fifo(c: CodeBuilder, **settings: object) -> None:
    c.fifo("f", "store", **settings)
