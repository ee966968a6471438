"""Races for memory: which words count, on both engines, as an error and as a note."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.isa.dsd import Register
from tilewright.simulator.isa.machine_errors import InputDataError, MemoryRaceError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, EdgeInput
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import RunResult

WSE3 = load_profile("wse3-sdk-sim")
WORDS = 40
Work = Callable[[CodeBuilder, TaskBuilder], object]


def receiving(work: Work, into: str = "x_all", words: int = WORDS) -> Program:
    """Return one element that receives into `x` on a microthread and does `work` beside it."""
    b = ProgramBuilder("receiving", 1, 1)
    color = b.color("in")
    code = b.code("main")
    code.buffer("x", "f32", WORDS)
    code.buffer("y", "f32", WORDS)
    code.mem1d("x_all", "x", WORDS)
    code.mem1d("y_all", "y", WORDS)
    code.mem1d("x_even", "x", WORDS // 2, stride=2)
    code.mem1d("x_odd", "x", WORDS // 2, stride=2, offset=1)
    code.mem1d("x_first", "x", WORDS // 2)
    code.mem1d("x_second", "x", WORDS // 2, offset=WORDS // 2)
    if into.startswith("|"):
        code.mem4d("tile", tensor_access=into)
        into = "tile"
    code.input_queue(2, color)
    code.fabin("x_in", 2, words)
    task = code.task("go", entry=True)
    task.start("fmovs", into, "x_in", activate="after", label="receive")
    work(code, task)
    code.task("after").op("fmovs", "y_all", "x_all")
    b.place("main", Area(0, 0))
    b.route(color, Area(0, 0), rx="N", tx="R")
    b.edge_input(EdgeInput("x", "N", 0, 1, color, "f32", words))
    return b.build()


def run(program: Program, words: int = WORDS, **options: object) -> RunResult:
    edges = {"x": np.arange(1, words + 1, dtype=np.float32)[None]}
    fast = FastMachine(program, WSE3).run(edges=edges, **options).result  # type: ignore[arg-type]
    result = Machine(program, WSE3).run(edges=edges, **options)  # type: ignore[arg-type]
    assert result.cycles == fast.cycles
    assert result.notes == fast.notes
    return result


def race(program: Program, words: int = WORDS) -> str:
    """Return the error that both engines end with."""
    edges = {"x": np.ones((1, words), dtype=np.float32)}
    texts = []
    for machine in (Machine(program, WSE3), FastMachine(program, WSE3)):
        with pytest.raises(MemoryRaceError) as error:
            machine.run(edges=edges)
        texts.append(str(error.value))
    assert texts[0] == texts[1]
    return texts[0]


def test_a_read_of_what_is_being_received_names_both_operations() -> None:
    text = race(receiving(lambda _, task: task.op("fmovs", "y_all", "x_all", label="copy")))
    assert "task go, @fmovs (copy): it reads x[0] at address 0" in text
    assert "task go, @fmovs (receive) still writes (thread 1, since cycle" in text
    assert "activates or unblocks" in text


def test_a_write_is_a_race_as_well() -> None:
    text = race(receiving(lambda _, task: task.op("fmovs", "x_second", 0.0)))
    assert "it writes x[20] at address 40" in text


def test_a_task_that_the_end_activates_is_in_order() -> None:
    result = run(receiving(lambda _, __: None))
    assert (result.memory["y"][0, 0] == np.arange(1, WORDS + 1)).all()
    assert result.notes == ()


def test_words_count_not_buffers() -> None:
    half = WORDS // 2
    for into, beside in (("x_even", "x_odd"), ("x_first", "x_second")):
        program = receiving(
            lambda _, task, beside=beside: task.op("fmovs", beside, 2.0), into, half
        )
        result = run(program, half)
        assert sorted(result.memory["x"][0, 0]) == sorted([2.0] * half + list(range(1, half + 1)))
    text = race(receiving(lambda _, task: task.op("fmovs", "x_even", 2.0), "x_first", half), half)
    assert "x[0]" in text


def test_two_reads_are_no_race() -> None:
    def work(code: CodeBuilder, task: TaskBuilder) -> None:
        code.mem1d("y_one", "y", 1)
        task.op("fmovs", "y_one", code.element("y", 1))

    run(receiving(work))


def test_a_scalar_operand_is_read() -> None:
    text = race(
        receiving(lambda code, task: task.op("fmuls", "y_all", "y_all", code.element("x", 7)))
    )
    assert "it reads x[7] at address 14" in text


def test_a_scalar_instruction_is_work_as_well() -> None:
    def work(code: CodeBuilder, task: TaskBuilder) -> None:
        task.compute(code.element("x", 3), "mov", 5.0, dtype="f32")

    text = race(receiving(work))
    assert "task go, mov.f32: it writes x[3]" in text


def test_a_register_and_a_ring_touch_what_they_hold() -> None:
    def work(code: CodeBuilder, task: TaskBuilder) -> None:
        code.mem1d("some", "y", 5)
        code.circbuf("ring", "x", 5, wraparound=30)
        task.load(Register("dest", 1), "ring", xdsr=1)
        task.op("fmovs", Register("dest", 1), "some")

    assert "it writes x[0]" in race(receiving(work, "x_first", WORDS // 2), WORDS // 2)

    def beside(code: CodeBuilder, task: TaskBuilder) -> None:
        code.mem1d("some", "y", 5)
        code.mem1d("behind", "x", 5, offset=WORDS // 2)
        task.load(Register("dest", 1), "behind")
        task.op("fmovs", Register("dest", 1), "some")

    run(receiving(beside, "x_first", WORDS // 2), WORDS // 2)


def test_a_map_over_what_is_being_received() -> None:
    def work(code: CodeBuilder, task: TaskBuilder) -> None:
        with task.map(("v", "x_all"), output=("v", "y_all")):
            task.compute("v", "add", "v", 1.0, dtype="f32")

    assert "it reads x[0]" in race(receiving(work))


def test_rows_of_a_tile_are_apart() -> None:
    def work(first: int) -> Work:
        def right(code: CodeBuilder, task: TaskBuilder) -> None:
            code.mem4d("right", "x", [(8, 5), (2, 1)], offset=first)
            task.op("fmovs", "right", 1.0)

        return right

    left = "|i, j|{8, 3} -> x[5*i + j]"
    run(receiving(work(3), left, 24), 24)
    assert "it writes x[2]" in race(receiving(work(2), left, 24), 24)


def test_a_note_instead_of_the_end() -> None:
    program = receiving(lambda _, task: task.op("fmovs", "y_all", "x_all"))
    result = run(program, notes=["races"])
    assert len(result.notes) == 1
    assert "depend on chance" in result.notes[0]
    assert "it reads x[0]" in result.notes[0]
    with pytest.raises(InputDataError, match="one of races, unwritten"):
        Machine(program, WSE3).run(notes=["race"])
