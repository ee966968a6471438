"""Streams through FIFOs (csl-examples pipelines 01 to 03 and topic 09)."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.dsd import ENDLESS
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput
from tilewright.simulator.run.machine import Machine

PROFILES = pytest.mark.parametrize("profile", ["wse2-sdk-sim", "wse3-sdk-sim", "generic"])


def stream(name: str, width: int, words: int) -> ProgramBuilder:
    """Return a row whose elements pass a stream from the west to the east, over their ramps."""
    b = ProgramBuilder(name, 1, width)
    for column in range(width + 1):
        b.color(f"c{column}")
    for column in range(width):
        b.route(f"c{column}", Area(0, column), rx="W", tx="R")
        b.route(f"c{column + 1}", Area(0, column), rx="R", tx="E")
    b.edge_input(EdgeInput("in", "W", 0, 1, "c0", "i16", words))
    b.edge_output(EdgeOutput("out", "E", 0, 1, f"c{width}", "i16", words))
    return b


def stage(b: ProgramBuilder, column: int, extent: int) -> CodeBuilder:
    code = b.code(f"stage{column}")
    code.input_queue(2, f"c{column}")
    code.output_queue(3, f"c{column + 1}")
    code.fabin("in", 2, extent)
    code.fabout("out", 3, extent)
    b.place(f"stage{column}", Area(0, column))
    return code


@PROFILES
@pytest.mark.parametrize("extent", [12, ENDLESS])
def test_pipeline_01_adds_one_to_a_stream(profile: str, extent: int) -> None:
    b = stream("pipeline_01", 1, 12)
    stage(b, 0, extent).task("main", entry=True).start("add16", "out", "in", 1)
    x = np.arange(12, dtype=np.int16)[None]
    result = Machine(b.build(), load_profile(profile)).run(edges={"in": x})
    assert (result.edges["out"].values == x + 1).all()


@PROFILES
def test_pipeline_02_a_fifo_between_two_operations(profile: str) -> None:
    b = stream("pipeline_02", 1, 32)
    code = stage(b, 0, ENDLESS)
    code.buffer("store", "i16", 4)
    code.fifo("fifo", "store")
    main = code.task("main", entry=True)
    main.start("mov16", "fifo", "in")
    main.start("add16", "out", 10, "fifo")
    x = np.arange(32, dtype=np.int16)[None]
    result = Machine(b.build(), load_profile(profile)).run(edges={"in": x})
    assert (result.edges["out"].values == x + 10).all()
    assert result.counts.memory_reads == result.counts.memory_writes == {"store": 32}


@PROFILES
@pytest.mark.parametrize("capacity", [1, 3, 64])
def test_pipeline_03_three_elements_with_fifos(profile: str, capacity: int) -> None:
    """The middle element takes from a FIFO and gives to another in a synchronous operation."""
    words = 40
    b = stream("pipeline_03", 3, words)
    for column in range(3):
        code = stage(b, column, words)
        for name in ("first", "second"):
            code.buffer(f"{name}_store", "i16", capacity)
            code.fifo(name, f"{name}_store")
        main = code.task("main", entry=True)
        main.start("mov16", "first", "in")
        main.start("mov16", "out", "second")
        pump = code.task("pump", entry=True)
        with pump.when_below("moved", words):
            pump.set_read_length("first", 1)
            pump.op("add16", "second", column, "first", result="done")
            pump.compute("moved", "add", "moved", "done", dtype="i16")
            pump.activate("pump")
    x = np.arange(words, dtype=np.int16)[None] * 7
    result = Machine(b.build(), load_profile(profile)).run(edges={"in": x})
    assert (result.edges["out"].values == x + 3).all()


@PROFILES
def test_topic_09_fifo_and_a_route_to_itself(profile: str) -> None:
    """-(x + 10) goes through a FIFO and over the own ramp, then its cube comes out."""
    words = 512
    b = ProgramBuilder("fifo_self", 1, 1)
    for name in ("x", "loop", "y"):
        b.color(name)
    code = b.code("main")
    for name, shape in (("store", 1024), ("cubes", words), ("held", words)):
        code.buffer(name, "f16", shape)
    code.fifo("fifo", "store")
    code.input_queue(2, "x")
    code.input_queue(3, "loop")
    code.output_queue(4, "loop")
    code.output_queue(5, "y")
    code.fabin("x_in", 2, words)
    code.fabin("loop_in", 3, words)
    code.fabout("loop_out", 4, words)
    code.fabout("y_out", 5, words)
    code.mem1d("held_all", "held", words)
    code.mem1d("cubes_all", "cubes", words)
    main = code.task("main", entry=True)
    main.start("faddh", "fifo", "x_in", 10.0)
    main.start("fnegh", "loop_out", "fifo")
    main.start("fmovh", "held_all", "loop_in", activate="cube")
    cube = code.task("cube")
    cube.op("fmulh", "cubes_all", "held_all", "held_all")
    cube.op("fmulh", "y_out", "cubes_all", "held_all")
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="W", tx="R")
    b.route("loop", Area(0, 0), rx="R", tx="R")
    b.route("y", Area(0, 0), rx="R", tx="E")
    b.edge_input(EdgeInput("x", "W", 0, 1, "x", "f16", words))
    b.edge_output(EdgeOutput("y", "E", 0, 1, "y", "f16", words))
    x = (np.arange(words) % 3).astype(np.float16)[None]
    result = Machine(b.build(), load_profile(profile)).run(edges={"x": x})
    assert (result.edges["y"].values == -((x + 10) ** 3)).all()
