"""Color swaps, and routes that change while the program runs (csl-examples topic 14)."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine

PROFILES = pytest.mark.parametrize("profile", ["wse2-sdk-sim", "wse3-sdk-sim", "generic"])
N = 8


def counting(b: ProgramBuilder, name: str) -> CodeBuilder:
    """Return a code whose elements count red words once and blue words twice."""
    code = b.code(name)
    code.buffer("sum", "u32", 1)
    total = code.element("sum")
    for queue, (color, factor) in enumerate((("red", 1), ("blue", 2))):
        code.input_queue(queue, color)
        take = code.data_task(f"take_{color}", queue, [("value", "u32")])
        take.compute("value", "mul", "value", factor, dtype="u32")
        take.compute(total, "add", total, "value", dtype="u32")
    return code


@pytest.mark.parametrize("profile", ["wse2-sdk-sim", "generic"])
def test_topic_14_a_word_changes_its_color_at_every_hop(profile: str) -> None:
    """Four elements in a row; the first one sends 0 to 4 on blue. WSE-2 only."""
    b = ProgramBuilder("color_swap", 1, 4)
    b.color("red", 0)
    b.color("blue", 1)
    head = counting(b, "head")
    head.buffer("values", "u32", 5)
    head.mem1d("all", "values", 5)
    head.output_queue(2, "blue")
    head.fabout("out", 2, 5)
    head.task("send", entry=True).op("mov32", "out", "all")
    counting(b, "rest")
    b.place("head", Area(0, 0))
    b.place("rest", Area(0, 1, 1, 3))
    for color in ("red", "blue"):
        b.route(color, Area(0, 0), rx="R", tx="RE", swap="x")
        b.route(color, Area(0, 1, 1, 2), rx="W", tx="RE", swap="x")
        b.route(color, Area(0, 3), rx="W", tx="R", swap="x")
    machine = Machine(b.build(), load_profile(profile))
    result = machine.run(memory={"values": {(0, 0): np.arange(5)}})
    assert result.memory["sum"].ravel().tolist() == [20, 10, 20, 10]


@PROFILES
def test_one_color_goes_there_and_after_a_teardown_back(profile: str) -> None:
    """The west element broadcasts and tears the color down; then the east one does.

    Every element's router gets its new route while the color is torn down there.
    """
    b = ProgramBuilder("there_and_back", 1, 4)
    b.color("x")
    for name, area, there, back in (
        ("west", Area(0, 0), ("R", "E"), ("E", "R")),
        ("middle", Area(0, 1, 1, 2), ("W", "RE"), ("E", "RW")),
        ("east", Area(0, 3), ("W", "R"), ("R", "W")),
    ):
        code = b.code(name)
        code.buffer("mine", "f32", N)
        code.buffer("got", "f32", (2, N))
        code.mem1d("all", "mine", N)
        code.mem1d("row", "got", N)
        code.input_queue(2, "x")
        code.output_queue(3, "x")
        code.fabin("in", 2, N)
        code.fabout("out", 3, N)
        code.fabout("command", 3, 1, control=True)
        first, second = code.task("first", entry=True), code.task("second", teardown="x")
        second.reconfigure("x", rx=back[0], tx=back[1])
        second.end_teardown("x")
        if name == "west":
            first.op("fmovs", "out", "all")
            first.op("mov32", "command", control_wavelet("teardown", ignore_ce=True))
        else:
            first.op("fmovs", "row", "in")
        if name == "east":
            second.op("fmovs", "out", "all")
        else:
            second.op("fmovs", Ref("row").at(N), "in")
        b.place(name, area)
        b.route("x", area, rx=there[0], tx=there[1])
    mine = np.random.default_rng(1).random((1, 4, N), dtype=np.float32)
    result = Machine(b.build(), load_profile(profile)).run(memory={"mine": mine})
    expected = np.zeros((4, 2, N), dtype=np.float32)
    expected[1:, 0], expected[:3, 1] = mine[0, 0], mine[0, 3]
    assert (result.memory["got"][0] == expected).all()
