"""Words that wait for the main thread: the fast engine's times are the reference engine's."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.fast.times.detours import free_words
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, EdgeInput
from tilewright.simulator.run.machine import Machine

GENERIC = load_profile("generic")


plain_free_words = getattr(free_words, "py_func", free_words)


def test_late_words_go_one_per_cycle_until_they_are_on_time() -> None:
    assert plain_free_words(behind=6, pace=3, left=100, room=50) == 3  # 6, 4 and 2 cycles late
    assert plain_free_words(behind=6, pace=1, left=100, room=50) == 50  # never on time again
    assert plain_free_words(behind=0, pace=3, left=100, room=50) == 17  # 0, 3, ..., 48
    assert plain_free_words(behind=0, pace=0, left=1, room=50) == 1


def beside(words: int, interval: int, works: list[int]) -> Program:
    """Return a program that receives words while the main thread works, and then uses them."""
    b = ProgramBuilder("beside", 1, 1)
    b.color("x")
    b.route("x", Area(0, 0), rx="N", tx="R")
    b.edge_input(EdgeInput("xs", "N", 0, 1, "x", "f32", words, interval=interval, start=7))
    code = b.code("main")
    for name in ("v", "w"):
        code.buffer(name, "f32", 64)
    code.mem1d("came", "v", words)
    code.input_queue(0, "x")
    code.fabin("in", 0, words)
    main = code.task("main", entry=True)
    main.start("fmovs", "came", "in", activate="after")
    for number, extent in enumerate(works):
        code.mem1d(f"part{number}", "w", extent)
        main.op("fmuls", f"part{number}", f"part{number}", 2.0)
    code.task("after").op("fnegs", "came", "came")
    b.place("main", Area(0, 0))
    return b.build()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.integers(1, 9), st.lists(st.integers(1, 64), min_size=1, max_size=5))
def test_both_engines_agree(words: int, interval: int, works: list[int]) -> None:
    program = beside(words, interval, works)
    edges = {"xs": np.arange(words, dtype=np.float32)[None]}
    fast = FastMachine(program, GENERIC)
    assert fast.certificate.granted, fast.certificate.reason
    found = fast.run(edges=edges, timeline=True).result
    expected = Machine(program, GENERIC).run(edges=edges, timeline=True)
    assert found.cycles == expected.cycles
    assert list(found.trace.timeline) == list(expected.trace.timeline)
    assert (found.trace.element_cycles == expected.trace.element_cycles).all()
