"""What is not defined on the machine ends in a named error; the texts are pinned."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tilewright.arch.errors import TilewrightError
from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.examples.known_costs import message, vector_operation
from tilewright.simulator.isa.dsd import Element, Ref
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.isa.machine_errors import DeadlockError, MachineError, ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

WSE3 = load_profile("wse3-sdk-sim")
WSE2 = load_profile("wse2-sdk-sim")


def single() -> tuple[ProgramBuilder, CodeBuilder, TaskBuilder]:
    """Return a 1 x 1 program with a vector `a` of 8 f32, and its main task."""
    b = ProgramBuilder("single", 1, 1)
    b.color("x")
    code = b.code("main")
    code.buffer("a", "f32", 8)
    code.mem1d("all", "a", 8)
    code.mem1d("half", "a", 4)
    main = code.task("main", entry=True)
    b.place("main", Area(0, 0))
    return b, code, main


def loopback(extent: int = 8) -> tuple[ProgramBuilder, CodeBuilder, TaskBuilder]:
    """Return `single` with a stream from the north edge in queue 2 and one to it from queue 3."""
    b, code, main = single()
    b.color("y")
    code.input_queue(2, "x")
    code.output_queue(3, "y")
    code.fabin("in", 2, extent)
    code.fabout("out", 3, extent)
    b.route("x", Area(0, 0), rx="N", tx="R")
    b.route("y", Area(0, 0), rx="R", tx="N")
    b.edge_input(EdgeInput("xs", "N", 0, 1, "x", "f32", 8))
    b.edge_output(EdgeOutput("ys", "N", 0, 1, "y", "f32", 8))
    return b, code, main


def refusal(b: ProgramBuilder, profile: object = WSE3) -> str:
    with pytest.raises(ProgramError) as caught:
        Machine(b.build(), profile)  # type: ignore[arg-type]
    return str(caught.value).splitlines()[0]


def unknown_operation(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    main.op("fdivs", "all", "all", "all")


def unknown_dsd(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    main.op("fmovs", "all", "nothing")


def unknown_task(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    main.activate("later")


def unknown_color(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    code.input_queue(2, "green")


def illegal_form(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    main.op("fmacs", "all", "all", "all", "all")


def wrong_dtype(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    main.op("faddh", "all", "all", "all")


def unequal_extents(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    main.op("fmovs", "all", "half")


def out_of_bounds(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    with main.loop("k", 6) as k:
        main.op("fmovs", Ref("half").at(k), 0.0)


def async_without_fabric(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    main.start("fmovs", "all", 1.0)


def unbound_queue(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    code.fabin("in", 5, 8)


def no_such_queue(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    code.input_queue(8, "x")


def too_much_memory(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    code.buffer("big", "f32", (100, 200))


def two_routes(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    b.route("x", Area(0, 0), rx="N", tx="S")
    b.route("x", Area(0, 0), rx="E", tx="S")


def no_edge_output(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    b.route("x", Area(0, 0), rx="N", tx="S")


def no_input_queue(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    b.route("x", Area(0, 0), rx="N", tx="R")


def output_without_route(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    code.output_queue(3, "x")
    code.fabout("out", 3, 8)
    main.op("fmovs", "out", "all")


def big_stride(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    code.mem1d("far", "a", 2, stride=200)


def integer_that_does_not_fit(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    code.buffer("n", "i16", 4)
    code.mem1d("numbers", "n", 4)
    main.op("mov16", "numbers", 70000)


def huge_counter(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    main.set("k", 1 << 40)


def endless_vector(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    code.mem4d("endless", "a", [(65535, 0), (65535, 0), (65535, 0)])


def endless_stream(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    b.edge_input(EdgeInput("endless", "N", 0, 1, "x", "f32", 1 << 30))


def odd_address(b: ProgramBuilder, code: CodeBuilder, main: TaskBuilder) -> None:
    code.buffer("odd", "f32", 4, address=17)


Breakage = Callable[[ProgramBuilder, CodeBuilder, TaskBuilder], None]
BREAKAGES: list[tuple[Breakage, str]] = [
    (unknown_operation, "code main, task main, @fdivs: unknown operation"),
    (unknown_dsd, "code main, task main, @fmovs: unknown DSD"),
    (unknown_task, "code main, task main: unknown task"),
    (unknown_color, "code main, queue 2: unknown color"),
    (
        illegal_form,
        (
            "code main, task main, @fmacs: illegal operands (D descriptor, v scalar, p pointer; "
            "destination first)"
        ),
    ),
    (wrong_dtype, "code main, task main, @faddh: buffer a has the wrong dtype"),
    (unequal_extents, "code main, task main, @fmovs: the extents of the operands differ"),
    (
        out_of_bounds,
        "code main, task main, @fmovs: operand half leaves buffer a of 8 elements",
    ),
    (
        async_without_fabric,
        "code main, task main, @fmovs: an asynchronous operation needs a fabric operand",
    ),
    (unbound_queue, "code main, DSD in: input queue 5 is not bound to a color"),
    (no_such_queue, "code main: wse3-sdk-sim has no input queue 8"),
    (
        too_much_memory,
        (
            "code main needs 80032 bytes of SRAM, an element has 44976 free (49152 less 4176 "
            "reserved); the largest buffer is big with 80000 bytes"
        ),
    ),
    (
        two_routes,
        "route of color x in [0:1, 0:1]: element (0, 0) has two routes for it",
    ),
    (
        no_edge_output,
        (
            "route of color x in [0:1, 0:1]: it leaves the grid by S at element (0, 0), but there "
            "is no edge output"
        ),
    ),
    (
        no_input_queue,
        (
            "route of color x in [0:1, 0:1]: it goes to R at element (0, 0), but code main has no "
            "input queue for it"
        ),
    ),
    (
        output_without_route,
        (
            "code main, output queue 3: sends color x, but the router of element (0, 0) has no "
            "route for it from R"
        ),
    ),
    (big_stride, "code main, DSD far: a stride is outside -128..127"),
    (integer_that_does_not_fit, "code main, task main, @mov16: the number is not a i16"),
    (endless_vector, "code main, DSD endless: a number is too large"),
    (endless_stream, "edge port endless: more than 134217728 wavelets"),
    (huge_counter, "code main, task main: a number is too large"),
    (
        odd_address,
        "code main, buffer odd: the address must be a multiple of the value's words",
    ),
]


@pytest.mark.parametrize(("breakage", "text"), BREAKAGES, ids=[b.__name__ for b, _ in BREAKAGES])
def test_refused_before_it_runs(breakage: Breakage, text: str) -> None:
    b, code, main = single()
    breakage(b, code, main)
    assert refusal(b) == text


def test_a_route_off_the_grid_is_told_the_port_that_it_needs() -> None:
    b, code, main = single()
    no_edge_output(b, code, main)
    with pytest.raises(ProgramError) as caught:
        Machine(b.build(), WSE3)
    assert (caught.value.instead or "").startswith("edge_output NAME side S [FIRST:LAST] color x")


def test_two_fabric_inputs_are_legal_on_wse2_only() -> None:
    b, code, main = loopback()
    b.color("z")
    code.input_queue(4, "z")
    code.fabin("other", 4, 8)
    b.route("z", Area(0, 0), rx="W", tx="R")
    b.edge_input(EdgeInput("zs", "W", 0, 1, "z", "f32", 8))
    main.op("fadds", "out", "in", "other")
    assert refusal(b) == "code main, task main, @fadds: too many fabric inputs for wse3-sdk-sim"
    x, z = np.arange(8, dtype=np.float32)[None], np.ones((1, 8), dtype=np.float32)
    result = Machine(b.build(), WSE2).run(edges={"xs": x, "zs": z})
    np.testing.assert_array_equal(result.edges["ys"].values, x + z)


def run_error(b: ProgramBuilder, **given: object) -> MachineError:
    machine = Machine(b.build(), WSE3)
    edges = {"xs": np.zeros((1, 8), dtype=np.float32)} if b.build().edge_inputs else {}
    with pytest.raises(MachineError) as caught:
        machine.run(edges=edges, **given)  # type: ignore[arg-type]
    return caught.value


def test_two_operations_on_one_queue() -> None:
    b, _, main = loopback()
    main.start("fmovs", "all", "in", label="first")
    main.start("fmovs", "all", "in", microthread=5, label="second")
    assert str(run_error(b)) == (
        "cycle 11, element (0, 0), code main, task main, @fmovs (second): input queue 2 is in use "
        "by code main, task main, @fmovs (first)\n"
        "  instead: the start of this operation in a task that the end of the other one activates"
    )


def test_two_operations_on_one_microthread() -> None:
    b, _, main = loopback()
    main.start("fmovs", "all", "in", label="first")
    main.start("fmovs", "out", "all", microthread=2, label="second")
    assert str(run_error(b)) == (
        "cycle 11, element (0, 0), code main, task main, @fmovs (second): its microthread is in "
        "use by code main, task main, @fmovs (first)\n"
        "  instead: the start of this operation in a task that the end of the other one activates"
    )


def test_counter_that_leaves_the_buffer() -> None:
    b, _, main = single()
    main.set("k", 5)
    main.op("fmovs", Ref("half").at(variable("k")), 0.0)
    assert str(run_error(b)) == (
        "cycle 6, element (0, 0), code main, task main, @fmovs: operand half leaves buffer a of 8 "
        "elements\n  value:   'elements 5 to 8 (k = 5)'\n  instead: elements 0 to 7"
    )


def test_cycle_limit() -> None:
    b, _, main = single()
    main.activate("main")
    assert str(run_error(b, max_cycles=500)).startswith("the run takes more cycles than allowed")


def test_deadlock_says_who_waits_for_whom() -> None:
    """A receiver of 9 words where the edge sends 8, so that the sender never starts."""
    b, code, main = loopback(8)
    code.buffer("nine", "f32", 9)
    code.mem1d("all_nine", "nine", 9)
    code.fabin("in_nine", 2, 9)
    main.op("fmovs", "all_nine", "in_nine", label="too long")
    main.op("fmovs", "out", "all")
    error = run_error(b)
    assert isinstance(error, DeadlockError)
    assert error.waits == (
        (
            "element (0, 0), code main, task main, @fmovs (too long), 8 of 9 done, waits for "
            "color x in input queue 2: edge input xs at element (0, 0) has no more words"
        ),
        "edge output ys, position 0, has 0 of 8 words: element (0, 0) does not send",
    )


def test_deadlock_by_a_full_queue_and_a_blocked_task() -> None:
    b, code, main = loopback(8)
    main.op("fmovs", "out", "all")
    main.activate("receive")
    receive = code.task("receive", blocked=True)
    receive.op("fmovs", "all", "in")
    error = run_error(b)
    assert isinstance(error, DeadlockError)
    assert "element (0, 0), task receive is active but is blocked" in error.waits
    assert any(
        "words stand in input queue 2 of element (0, 0), color x" in line for line in error.waits
    )


def ring_of_three() -> ProgramBuilder:
    """Three elements, each of which receives from its neighbour before it sends."""
    b = ProgramBuilder("ring", 1, 3)
    colors = [b.color(f"c{i}") for i in range(3)]
    for column in range(3):
        code = b.code(f"e{column}")
        code.buffer("a", "f32", 4)
        code.mem1d("all", "a", 4)
        code.input_queue(2, colors[column])
        code.output_queue(3, colors[(column + 1) % 3])
        code.fabin("in", 2, 4)
        code.fabout("out", 3, 4)
        main = code.task("main", entry=True)
        main.op("fmovs", "all", "in")
        main.op("fmovs", "out", "all")
        b.place(f"e{column}", Area(0, column))
    for i in (1, 2):
        b.route(colors[i], Area(0, i - 1), rx="R", tx="E")
        b.route(colors[i], Area(0, i), rx="W", tx="R")
    b.route(colors[0], Area(0, 2), rx="R", tx="W")
    b.route(colors[0], Area(0, 1), rx="E", tx="W")
    b.route(colors[0], Area(0, 0), rx="E", tx="R")
    return b


def test_a_cycle_of_waits_as_lines_and_pictures(golden: Callable[[str], None]) -> None:
    with pytest.raises(DeadlockError) as caught:
        Machine(ring_of_three().build(), WSE3).run()
    error = caught.value
    golden(f"{error}\n\n{error.mermaid}\n{error.svg}")
    assert error.mermaid.count("-->") == 3
    assert error.svg.count('<rect x="10"') == 3


def test_an_empty_fifo_is_named() -> None:
    b, code, main = loopback(8)
    code.buffer("store", "f32", 4)
    code.fifo("waiting", "store")
    main.op("fmovs", "all", "in")
    main.start("fmovs", "out", "waiting")
    error = run_error(b)
    assert isinstance(error, DeadlockError)
    assert "waits for FIFO waiting, which is empty" in error.waits[0]


def test_wrong_data() -> None:
    machine = Machine(message(4, 1), WSE3)
    with pytest.raises(MachineError, match="memory is given for an unknown buffer"):
        machine.run(memory={"w": np.zeros((1, 2, 4))})
    with pytest.raises(MachineError, match="memory for buffer v has the wrong shape") as shaped:
        machine.run(memory={"v": np.zeros((2, 4))})
    assert shaped.value.instead == "(1, 2, 4)"
    with pytest.raises(MachineError, match="no such element"):
        machine.run(memory={"v": {(3, 0): np.zeros(4)}})
    with pytest.raises(MachineError, match="memory for v: no element"):
        machine.run(memory={"v": {3: np.zeros(4)}})  # type: ignore[dict-item]
    with pytest.raises(MachineError, match="data for an unknown edge input") as caught:
        machine.run(edges={"v": np.zeros((1, 4))})
    assert caught.value.instead == "no edges: the program has no edge inputs"


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (lambda program: Machine(program, "wse3-sdk-sim"), "this is no machine profile"),
        (lambda _: Machine("program p 1 x 1", WSE3), "this is no program"),
        (lambda program: Machine(program, WSE3).run(memory=[1]), "the memory of a run"),
        (lambda program: Machine(program, WSE3).run(timeline=[3]), "the timeline: no element"),
        (lambda program: Machine(program, WSE3).run(notes="races"), "the notes of a run"),
        (lambda _: ProgramBuilder("p", 1, 2).placement([[0]]), "the placement is an array"),
        (lambda _: ProgramBuilder("p", 1, 2).edge_input("in"), "this is no port"),
        (lambda _: parse_program(b"program"), "the program is no text"),
    ],
)
def test_values_of_a_wrong_kind(wrong: Callable[..., object], problem: str) -> None:
    with pytest.raises(TilewrightError, match=problem):
        wrong(message(4, 1))


def test_every_error_is_one_of_ours() -> None:
    assert issubclass(ProgramError, TilewrightError)
    assert issubclass(DeadlockError, TilewrightError)


def test_pointer_destination_takes_the_last_value() -> None:
    program = vector_operation("fmovs", 4, 1, "f32")
    assert Machine(program, WSE3).run().cycles > 0
    b, _, main = single()
    main.op("fmovs", Element("a"), "half")
    result = Machine(b.build(), WSE3).run(memory={"a": np.arange(8.0).reshape(1, 1, 8)})
    assert result.memory["a"][0, 0, 0] == 3
