"""Color swaps of a pair: both exchanged, one side copied, from the ramp too (WSE-2)."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput, Position, Switch
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import RunResult
from tilewright.simulator.show.inspection import inspect_program
from tilewright.simulator.text.parsing import parse_program
from tilewright.simulator.text.printing import print_program

WSE2 = load_profile("wse2-sdk-sim")
WORDS = 5


FACTORS = {"red": 1, "blue": 2}


def counting(b: ProgramBuilder, name: str = "main", taken: str = "red blue") -> CodeBuilder:
    """Return a code that sums what comes: red words once, blue words twice (topic 14)."""
    code = b.code(name)
    code.buffer("sum", "u32", 1)
    for queue, color in enumerate(taken.split(), 2):
        factor = FACTORS[color]
        code.input_queue(queue, color)
        task = code.data_task(f"take_{color}", queue, [("value", "u32")])
        task.compute("value", "mul", "value", factor, dtype="u32")
        task.compute(code.element("sum"), "add", code.element("sum"), "value", dtype="u32")
    return code


def colors(b: ProgramBuilder) -> None:
    b.color("red", 0)
    b.color("blue", 1)


def run(program: Program, shuffle: int = 0) -> RunResult:
    assert parse_program(print_program(program)) == program
    machine = Machine(program, WSE2)
    return machine.run(edges={"in": np.arange(WORDS, dtype=np.uint32)[None]}, shuffle=shuffle)


def line(width: int, swaps: dict[str, str], first: str, **steering: object) -> Program:
    """Words enter in the west on a color and go to every element of a row and on to the east."""
    b = ProgramBuilder("line", 1, width)
    colors(b)
    counting(b)
    b.place("main", Area(0, 0, 1, width))
    for color in ("red", "blue"):
        swap = swaps.get(color, "")
        middle = Area(0, 0, 1, width - 1)
        b.route(color, middle, rx="W", tx="RE", swap=swap, **steering)  # type: ignore[arg-type]
        b.route(color, Area(0, width - 1), rx="W", tx="R", swap=swap)
    b.edge_input(EdgeInput("in", "W", 0, 1, first, "u32", WORDS))
    return b.build()


@pytest.mark.parametrize("shuffle", [0, 7])
@pytest.mark.parametrize("width", [2, 4])
def test_both_of_a_pair_are_exchanged(width: int, shuffle: int) -> None:
    result = run(line(width, {"red": "x", "blue": "x"}, "red"), shuffle)
    total = sum(range(WORDS))
    # the first router gives red words to blue already
    assert result.memory["sum"][0, :, 0].tolist() == [(2, 1)[i % 2] * total for i in range(width)]
    assert result.trace.link_words[0, :, 1].tolist() == [WORDS] * (width - 1) + [0]


def test_a_swap_of_red_alone_leaves_nobody_to_take_red() -> None:
    program = line(2, {"red": "x"}, "blue")
    with pytest.raises(ProgramError) as caught:
        run(program)
    assert str(caught.value) == (
        "route of color red in [0:1, 0:1]: it leaves element (0, 0) by E, but element (0, 1) does "
        "not take it from W: the color swap of red there takes color blue from W, and blue has no "
        "swap that takes red"
    )


@pytest.mark.parametrize("steering", [{}, {"switch": Switch((Position(tx=("R",)),))}])
def test_a_copy_at_the_end_of_a_line(steering: dict[str, object]) -> None:
    b = ProgramBuilder("end", 1, 2)
    colors(b)
    counting(b, "first", "blue")
    counting(b)
    b.place("first", Area(0, 0))
    b.place("main", Area(0, 1))
    b.route("blue", Area(0, 0), rx="W", tx="ER", **steering)  # type: ignore[arg-type]
    b.route("blue", Area(0, 1), rx="W", tx="R")
    b.route("red", Area(0, 1), rx="W", tx="R", swap="x")
    b.edge_input(EdgeInput("in", "W", 0, 1, "blue", "u32", WORDS))
    result = run(b.build())
    total = sum(range(WORDS))
    assert result.memory["sum"][0, :, 0].tolist() == [2 * total, 3 * total]
    assert result.trace.link_words[0, 0].tolist() == [0, WORDS, 0, 0, WORDS]


def test_a_copy_waits_when_one_color_is_not_taken() -> None:
    """Both buffers take the word or none does: red goes out slowly and holds blue back."""
    b = ProgramBuilder("slow", 1, 1)
    colors(b)
    b.code("idle").task("nothing")
    b.place("idle", Area(0, 0))
    b.route("blue", Area(0, 0), rx="W", tx="E")
    b.route("red", Area(0, 0), rx="W", tx="E", swap="x")
    b.edge_input(EdgeInput("in", "W", 0, 1, "blue", "u32", WORDS))
    for color in ("red", "blue"):
        b.edge_output(EdgeOutput(color, "E", 0, 1, color, "u32", WORDS))
    result = run(b.build())
    for color in ("red", "blue"):
        assert result.edges[color].values[0].tolist() == list(range(WORDS))
    cycles = np.sort(np.concatenate([result.edges[c].cycles[0] for c in ("red", "blue")]))
    assert (np.diff(cycles) == 1).all()  # one link, one word per cycle


def test_vertical_swaps_leave_the_horizontal_ports_alone() -> None:
    b = ProgramBuilder("column", 2, 1)
    colors(b)
    counting(b, "north", "red")
    counting(b, "south", "blue")
    b.place("north", Area(0, 0))
    b.place("south", Area(1, 0))
    b.route("red", Area(0, 0), rx="W", tx="RS", swap="y")
    b.route("blue", Area(1, 0), rx="N", tx="R", swap="y")
    b.edge_input(EdgeInput("in", "W", 0, 1, "red", "u32", WORDS))
    result = run(b.build())
    total = sum(range(WORDS))
    assert result.memory["sum"][:, 0, 0].tolist() == [total, 2 * total]


@pytest.mark.parametrize(("swap", "factor"), [("x", 1), ("y", 1), ("xy", 2)])
def test_both_axes_swap_what_the_element_sends(swap: str, factor: int) -> None:
    b = ProgramBuilder("ramp", 1, 1)
    colors(b)
    code = counting(b)
    code.buffer("v", "u32", WORDS)
    code.mem1d("all", "v", WORDS)
    code.output_queue(0, "red")
    code.fabout("out", 0, WORDS)
    code.task("send", entry=True).op("mov32", "out", "all")
    b.place("main", Area(0, 0))
    for color in ("red", "blue"):
        b.route(color, Area(0, 0), rx="R", tx="R", swap=swap)
    machine = Machine(b.build(), WSE2)
    result = machine.run(memory={"v": np.arange(WORDS, dtype=np.uint32)[None, None]})
    assert result.memory["sum"][0, 0, 0] == factor * sum(range(WORDS))


def test_a_control_wavelet_turns_the_switch_of_the_color_it_is_received_on() -> None:
    b = ProgramBuilder("control", 2, 1)
    colors(b)
    code = b.code("main")
    code.buffer("v", "u32", WORDS)
    code.mem1d("all", "v", WORDS)
    code.output_queue(0, "red")
    code.fabout("out", 0, WORDS)
    code.fabout("command", 0, 1, control=True)
    send = code.task("send", entry=True)
    send.op("mov32", "command", control_wavelet("switch_adv", ignore_ce=True))
    send.op("mov32", "out", "all")
    b.code("idle").task("nothing")
    b.place("main", Area(0, 0))
    b.place("idle", Area(1, 0))
    b.route("red", Area(0, 0), rx="R", tx="S")
    turning = Switch((Position(tx=("S",)),))
    b.route("blue", Area(1, 0), rx="N", tx="E", switch=turning, swap="y")
    b.edge_output(EdgeOutput("east", "E", 1, 1, "blue", "u32", 1))
    b.edge_output(EdgeOutput("south", "S", 0, 1, "blue", "u32", WORDS))
    values = np.arange(WORDS, dtype=np.uint32)
    result = Machine(b.build(), WSE2).run(memory={"v": {(0, 0): values}})
    assert result.edges["south"].values[0].tolist() == values.tolist()


def test_refused() -> None:
    program = line(2, {"red": "x", "blue": "x"}, "red")
    with pytest.raises(ProgramError, match="wse3-sdk-sim has no color swap"):
        Machine(program, load_profile("wse3-sdk-sim"))
    with pytest.raises(ProgramError, match="a swap is x, y or xy"):
        line(2, {"red": "z"}, "red")
    b = ProgramBuilder("alone", 1, 1)
    b.color("red", 0)
    b.code("idle").task("nothing")
    b.place("idle", Area(0, 0))
    b.route("red", Area(0, 0), rx="W", tx="E", swap="x")
    with pytest.raises(ProgramError, match="differs in the lowest bit"):
        b.build()
    assert not FastMachine(program, load_profile("generic")).certificate.granted
    assert inspect_program(program, WSE2).colors_of(0, 0, "E") == ("red", "blue")


def test_a_multicast_that_copies_make_too_wide() -> None:
    b = ProgramBuilder("wide", 3, 3)
    colors(b)
    b.code("idle").task("nothing")
    counting(b)
    sender = b.code("sender")
    sender.input_queue(2, "red")
    b.place("idle", Area(0, 0, 3, 3))
    b.place("sender", Area(1, 1))
    b.route("red", Area(1, 1), rx="R", tx="NESWR")
    for port, (row, column) in {"S": (0, 1), "W": (1, 2), "N": (2, 1), "E": (1, 0)}.items():
        b.place("main", Area(row, column))
        b.route("red", Area(row, column), rx=port, tx="R")
        b.route("blue", Area(row, column), rx=port, tx="R", swap="x" if port in "EW" else "y")
    with pytest.raises(ProgramError, match="more than five buffers"):
        Machine(b.build(), WSE2)
