"""Builders with values of other types: a named error, never a traceback; the text reads back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Ref, Register
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program
from tilewright.simulator.text.printing import print_program

WSE3 = load_profile("wse3-sdk-sim")


def looped(task: TaskBuilder, count: Any) -> None:
    with task.loop("i", count):
        pass


WRONG: dict[str, Any] = {
    "extent of a vector": lambda b, c, t, x: c.mem1d("q", "v", x),
    "stride": lambda b, c, t, x: c.mem1d("q", "v", 2, x),
    "operand": lambda b, c, t, x: t.op("fmovs", "V", x),
    "ports": lambda b, c, t, x: b.route("x", Area(0, 0), rx=x, tx="E"),
    "row": lambda b, c, t, x: b.route("x", Area(x, 0), rx="R", tx="E"),
    "area": lambda b, c, t, x: b.place("m", Area(0, x)),
    "file": lambda b, c, t, x: t.op("fmovs", Register(x, 1), "V"),
    "id of a register": lambda b, c, t, x: t.op("fmovs", Register("dest", x), "V"),
    "loops": lambda b, c, t, x: c.mem4d("q", "v", x),
    "offset": lambda b, c, t, x: t.op("fmovs", Ref("V", x), "V"),
    "moved": lambda b, c, t, x: t.op("fmovs", Ref("V").at(x), "V"),
    "index": lambda b, c, t, x: t.op("fmovs", "V", "V", index=x if x is not None else "k"),
    "counter": lambda b, c, t, x: t.set("k", x),
    "loop": lambda b, c, t, x: looped(t, x),
    "queue": lambda b, c, t, x: c.input_queue(x, "x"),
    "shape": lambda b, c, t, x: c.buffer("w", "f32", x),
    "rows": lambda b, c, t, x: ProgramBuilder("p", x, 2),
}


@pytest.mark.parametrize("what", list(WRONG))
@pytest.mark.parametrize(
    "value",
    ["4", None, 1.5, float("nan"), [1], {}, object()],
    ids=lambda value: type(value).__name__,
)
def test_a_wrong_type_is_a_named_error(what: str, value: object) -> None:
    b = ProgramBuilder("b", 1, 2)
    b.color("x")
    c = b.code("m")
    c.buffer("v", "f32", 8)
    c.mem1d("V", "v", 4)
    main = c.task("main", entry=True)
    legal = {"operand": float, "stride": type(None)}.get(what)
    if legal is not None and isinstance(value, legal):
        return
    if what == "operand" and value == "4":
        return  # the name of a descriptor
    if (what, value) == ("shape", [1]):
        return

    def compiled() -> Machine:
        WRONG[what](b, c, main, value)
        b.place("m", Area(0, 0, 1, 2))
        return Machine(b.build(), WSE3)

    with pytest.raises(ProgramError):
        compiled()


def test_a_negative_grid_is_refused() -> None:
    with pytest.raises(ProgramError, match="the grid has a number of rows"):
        ProgramBuilder("b", -1, 2)


def test_numbers_of_numpy_and_nan_read_back() -> None:
    b = ProgramBuilder("b", 1, 1)
    c = b.code("m")
    c.buffer("v", "f32", 8)
    c.mem1d("V", "v", np.int64(4))  # type: ignore[arg-type]
    main = c.task("main", entry=True)
    for value in (float("nan"), float("inf"), -0.0, np.float64(1.5), np.float32(0.1)):
        main.op("fmovs", "V", value)
    b.place("m", Area(0, 0))
    program = b.build()
    assert parse_program(print_program(program)) == program
