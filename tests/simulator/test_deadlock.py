"""Deadlocks name queues, routers and filters with their colors."""

from __future__ import annotations

import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.machine_errors import DeadlockError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, RangeFilter
from tilewright.simulator.run.machine import Machine


def deadlock(b: ProgramBuilder) -> DeadlockError:
    with pytest.raises(DeadlockError) as caught:
        Machine(b.build(), load_profile("wse3-sdk-sim")).run()
    return caught.value


def test_words_of_two_colors_in_one_router_are_two_nodes() -> None:
    """Nobody takes x nor y: what stands in the router is told apart by the color."""
    b = ProgramBuilder("two", 1, 1)
    code = b.code("main")
    code.buffer("a", "f32", 64)
    code.mem1d("all", "a", 64)
    main = code.task("main", entry=True)
    for queue, color in ((2, "x"), (3, "y")):
        b.color(color)
        code.input_queue(queue, color)
        code.output_queue(queue, color)
        code.fabout(f"{color}_out", queue, 64)
        main.start("fmovs", f"{color}_out", "all")
        b.route(color, Area(0, 0), rx="R", tx="R")
    b.place("main", Area(0, 0))
    error = deadlock(b)
    for queue, color in ((2, "x"), (3, "y")):
        at = f"of element (0, 0), color {color}"
        stand = [line for line in error.waits if f"the router {at}" in line]
        assert len(stand) == 1
        assert stand[0].endswith(f": nobody takes from input queue {queue} {at}")
        assert error.mermaid.count(f"the router {at}") == 1


def test_a_filter_is_named_where_words_are_missing() -> None:
    b = ProgramBuilder("filtered", 1, 2)
    b.color("x")
    for name in ("send", "keep"):
        code = b.code(name)
        code.buffer("a", "f32", 8)
        code.mem1d("all", "a", 8)
        b.place(name, Area(0, int(name == "keep")))
        main = code.task("main", entry=True)
        if name == "send":
            code.output_queue(3, "x")
            code.fabout("out", 3, 8)
            main.op("fmovs", "out", "all")
        else:
            code.input_queue(2, "x")
            code.fabin("in", 2, 8)
            main.op("fmovs", "all", "in")
    b.route("x", Area(0, 0), rx="R", tx="E")
    b.route("x", Area(0, 1), rx="W", tx="R", filter=RangeFilter(1, 5))
    error = deadlock(b)
    assert error.waits == (
        (
            "element (0, 1), code keep, task main, @fmovs, 0 of 8 done, waits for color x in input "
            "queue 2: element (0, 0) does not send; the filter of color x at element (0, 1) may "
            "have kept words from it"
        ),
    )
    assert "the filter of color x at element (0, 1)" in error.mermaid
