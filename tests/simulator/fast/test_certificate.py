"""When the fast engine vouches for a result, and that its errors are the reference engine's."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.examples.known_costs import chain_reduce
from tilewright.simulator.fast.fast_machine import FastMachine, run_fast
from tilewright.simulator.fast.subset import unknown_parts as refusals
from tilewright.simulator.isa.dsd import ENDLESS, Ref, Register
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.isa.machine_errors import DeadlockError, MachineError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, EdgeInput
from tilewright.simulator.run.machine import Machine

GENERIC = load_profile("generic")


def receiver(b: ProgramBuilder, words: int, interval: int = 1) -> CodeBuilder:
    """One element that has the stream x from the north in queue 0."""
    color = b.color("x")
    code = b.code("main")
    code.buffer("v", "f32", (2, words))
    code.mem1d("all", "v", words)
    code.input_queue(0, color)
    code.fabin("in", 0, words)
    b.place("main", Area(0, 0))
    b.route(color, Area(0, 0), rx="N", tx="R")
    b.edge_input(EdgeInput("x", "N", 0, 1, color, "f32", words, interval))
    return code


def reason(program: Program, **changes: object) -> str:
    return FastMachine(program, GENERIC.with_values(changes)).certificate.reason


def test_a_regular_program_is_granted() -> None:
    found = FastMachine(chain_reduce(16, 100), GENERIC).certificate
    assert found.granted
    assert (found.reason, found.units, found.evaluations, found.segments) == ("", 16, 16, 1)


@pytest.mark.parametrize("words", [10, 1000, 10000])
def test_the_times_do_not_depend_on_the_length_of_the_vectors(words: int) -> None:
    assert FastMachine(chain_reduce(64, words), GENERIC).certificate.evaluations == 64


def test_shallow_queues_and_broken_paces_are_refused() -> None:
    program = chain_reduce(4, 10)
    assert "shallow" in reason(program, router_buffer_words=1)
    assert "pace" in reason(program, cycles_per_wavelet="9/8")


def test_a_race_beside_a_microthread_is_refused() -> None:
    b = ProgramBuilder("race", 1, 1)
    code = receiver(b, 8)
    task = code.task("main", entry=True)
    task.start("fmovs", "all", "in")
    task.op("fnegs", "all", "all")
    assert "shares memory" in reason(b.build())


def test_disjoint_slots_beside_a_microthread_are_granted() -> None:
    b = ProgramBuilder("slots", 1, 1)
    code = receiver(b, 8)
    task = code.task("main", entry=True)
    task.set("slot", 1)
    task.start("fmovs", Ref("all").at(variable("slot") * 8), "in")
    task.op("fnegs", "all", "all")
    program = b.build()
    data = {"x": np.arange(8, dtype=np.float32)[None]}
    found = run_fast(program, GENERIC, edges=data)
    assert found.certificate.granted
    assert found.result == replace(
        Machine(program, GENERIC).run(edges=data), memory=found.result.memory,
        edges=found.result.edges, trace=found.result.trace,
    )  # fmt: skip


def test_a_queue_that_may_be_in_use_is_refused() -> None:
    b = ProgramBuilder("busy", 1, 1)
    code = receiver(b, 8, interval=5)
    code.fabin("some", 0, 4)
    code.mem1d("low", "v", 4)
    code.mem1d("high", "v", 4, offset=8)
    task = code.task("main", entry=True)
    task.start("fmovs", "low", "some")
    task.op("fmovs", "high", "some")
    program = b.build()
    assert "in use" in reason(program)
    with pytest.raises(MachineError, match="in use"):
        run_fast(program, GENERIC, edges={"x": np.zeros((1, 8), np.float32)})


def test_an_order_of_tasks_that_depends_on_time_is_refused() -> None:
    b = ProgramBuilder("order", 1, 1)
    code = receiver(b, 8)
    task = code.task("main", entry=True)
    task.start("fmovs", "all", "in", activate="done")
    task.activate("other")
    code.task("other").set("n", 1)
    code.task("done").set("n", 2)
    assert "depends on time" in reason(b.build())


@pytest.mark.parametrize("words", [4, 12])
def test_too_few_and_too_many_words_are_the_same_deadlock(words: int) -> None:
    b = ProgramBuilder("count", 1, 1)
    code = receiver(b, 8)
    code.buffer("w", "f32", words)
    code.mem1d("some", "w", words)
    code.fabin("less", 0, words)
    code.task("main", entry=True).op("fmovs", "some", "less")
    program, data = b.build(), {"x": np.zeros((1, 8), np.float32)}
    with pytest.raises(DeadlockError) as mine:
        run_fast(program, GENERIC, edges=data)
    with pytest.raises(DeadlockError) as theirs:
        Machine(program, GENERIC).run(edges=data)
    assert str(mine.value) == str(theirs.value)


def test_a_counter_that_leaves_the_buffer_is_the_same_error() -> None:
    b = ProgramBuilder("bounds", 1, 1)
    code = receiver(b, 8)
    task = code.task("main", entry=True)
    task.op("fmovs", "all", "in")
    task.set("n", 9)
    task.op("fnegs", Ref("all").at(variable("n")), "all")
    program, data = b.build(), {"x": np.zeros((1, 8), np.float32)}
    with pytest.raises(MachineError) as mine:
        run_fast(program, GENERIC, edges=data)
    with pytest.raises(MachineError) as theirs:
        Machine(program, GENERIC).run(edges=data)
    assert str(mine.value) == str(theirs.value)


def test_wrong_data_is_the_same_error() -> None:
    b = ProgramBuilder("data", 1, 1)
    receiver(b, 8).task("main", entry=True).op("fmovs", "all", "in")
    machine = FastMachine(b.build(), GENERIC)
    assert machine.certificate.granted
    for edges in ({}, {"x": np.zeros((1, 7))}, {"x": np.zeros((1, 8)), "y": np.zeros(1)}):
        with pytest.raises(MachineError) as mine:
            machine.run(edges=edges)
        with pytest.raises(MachineError) as theirs:
            machine.machine.run(edges=edges)
        assert str(mine.value) == str(theirs.value)


def test_cycles_need_no_data() -> None:
    machine = FastMachine(chain_reduce(9, 30), GENERIC)
    assert machine.cycles == machine.machine.run().cycles
    refused = FastMachine(chain_reduce(4, 10), GENERIC.with_values({"router_buffer_words": 1}))
    assert refused.cycles is None
    assert not refused.run().certificate.granted


def test_runs_are_independent() -> None:
    machine = FastMachine(chain_reduce(3, 5), GENERIC)
    ones = {"v": np.ones((1, 3, 5), dtype=np.float32)}
    first = machine.run(memory=ones).result
    machine.run(memory={"v": 7 * ones["v"]})
    again = machine.run(memory=ones).result
    assert first.cycles == again.cycles
    assert first.memory["v"].tobytes() == again.memory["v"].tobytes()
    assert first.memory["v"][0, 0].tolist() == [3.0] * 5


def test_the_examples_on_the_page_run(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (root / "docs" / "fast_engine.md").read_text()
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "docs/fast_engine.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "granted=True" in printed
    assert printed.endswith("\n256\n")


def test_the_subset_knows_the_examples() -> None:
    program = chain_reduce(4, 4)
    assert not list(refusals(program, Machine(program, GENERIC).compiled.network))


def unknown_parts() -> dict[str, Program]:
    """Programs of one element, each with one thing that the fast engine does not model."""
    found = {}
    for name in ("counter", "register", "endless", "circular", "fifo", "map", "wavelets"):
        b = ProgramBuilder(name, 1, 1)
        code = receiver(b, 8)
        task = code.task("main", entry=True)
        if name == "endless":
            code.fabin("forever", 0, ENDLESS)
            code.circbuf("ring", "v", 0x7FFF, 8)
            task.start("fmovs", "ring", "forever")
        elif name == "wavelets":
            code.data_task("each", 0, ())
        else:
            task.op("fmovs", "all", "in")
        if name == "counter":
            code.buffer("n", "i16", 4)
            code.mem1d("numbers", "n", 4)
            task.op("mov16", "numbers", variable("k"))
        elif name == "register":
            task.load(Register("src1", 1), "all")
            task.op("fnegs", "all", Register("src1", 1))
        elif name == "circular":
            code.circbuf("ring", "v", 12, 8)
            code.mem1d("more", "v", 12)
            task.op("fnegs", "more", "ring")
        elif name == "fifo":
            code.buffer("room", "f32", 16)
            code.fifo("held", "room")
            task.op("fmovs", "held", "all")
        elif name == "map":
            with task.map(("x", "in"), output=("x", "all")):
                task.compute("x", "sqrt", "x", dtype="f32")
        found[name] = b.build()
    return found


@pytest.mark.parametrize(("name", "program"), unknown_parts().items())
def test_what_is_not_modelled_is_refused(name: str, program: Program) -> None:
    found = FastMachine(program, GENERIC)
    assert not found.certificate.granted, name
    assert found.cycles is None


def test_an_operation_of_the_general_engine_is_refused_by_its_row() -> None:
    """Beside the list of known parts: what the compiler marks as special has no certificate."""
    b = ProgramBuilder("endless", 1, 1)
    code = receiver(b, 8)
    code.fabin("forever", 0, ENDLESS)
    code.mem1d("long", "v", ENDLESS, 0)
    code.task("main", entry=True).start("fmovs", "long", "forever")
    assert reason(b.build()) == "an operation of the general part of the engine"
