"""The lines for the public trace viewer: what its reader takes from them is what the run did."""

from __future__ import annotations

import re

import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.machine_errors import InputDataError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import WAVELETS
from tilewright.simulator.show.viewer_trace import viewer_trace

WSE3 = load_profile("wse3-sdk-sim")
WORDS = 12


def pair() -> Program:
    """Return two elements: the west one multiplies and sends, the east one sums up."""
    b = ProgramBuilder("pair", 1, 2)
    color = b.color("x", 5)
    west, east = b.code("west"), b.code("east")
    for code in (west, east):
        code.buffer("v", "f32", WORDS)
        code.mem1d("all", "v", WORDS)
        code.buffer("w", "f32", WORDS)
        code.mem1d("more", "w", WORDS)
    west.output_queue(2, color)
    west.fabout("out", 2, WORDS)
    task = west.task("send", entry=True)
    task.op("fmacs", "all", "all", "more", 2.0)
    task.op("fmovs", "out", "all")
    east.input_queue(3, color)
    east.fabin("in", 3, WORDS)
    receive = east.task("receive", entry=True)
    receive.op("fadds", "all", "all", "in")
    total = east.element("w", 0)
    receive.op("fadds", total, total, "all")
    b.place("west", Area(0, 0))
    b.place("east", Area(0, 1))
    b.route(color, Area(0, 0), rx="R", tx="E")
    b.route(color, Area(0, 1), rx="W", tx="R")
    return b.build()


def test_lines_say_what_the_run_did() -> None:
    program = pair()
    result = Machine(program, WSE3, interval=1).run(timeline=True)
    lines = viewer_trace(program, WSE3, result).splitlines()
    assert lines[0] == "@0 dimX=2, dimY=1"
    cycles = [int(line[1:].split()[0]) for line in lines]
    assert cycles == sorted(cycles)
    begins = [
        (int(cycle), int(x), op)
        for line in lines
        for cycle, x, op in re.findall(
            r"^@(\d+) P(\d+)\.0: \[EX OP\] \^ 0x[0-9a-f]{4}: T\d+ (F\S+)$", line
        )
    ]
    for entry in result.trace.timeline:
        if entry.operation == "task":
            continue
        shown = [b for b in begins if b[1] == entry.column and b[2] == entry.operation.upper()]
        assert any(entry.start <= cycle < entry.end for cycle, *_ in shown)
    waits = re.findall(
        r"@(\d+) P1\.0: Not enough wavelets \(0/1\) for SRC1 with C5, IN_Q\[3\], SIMD-1",
        "\n".join(lines),
    )
    begun = [row[3] for row in result.trace.stalls.tolist() if row[1:3] == [1, WAVELETS]]
    assert list(map(int, waits)) == begun
    text = "\n".join(lines)
    assert re.search(r"P0\.0: Pipe: 2, Msg: stall: dependent S\dDS\d", text)
    assert re.search(r"P1\.0: Pipe: 7, Msg: stall: dependent accum0", text)
    landings = re.findall(r"@(\d+) P1\.0 \(hwtile\) landing C5 from link W,", text)
    assert len(landings) == WORDS
    assert sorted(map(int, landings)) == list(range(int(landings[0]), int(landings[0]) + WORDS))


def test_a_run_without_a_timeline_is_refused() -> None:
    with pytest.raises(InputDataError, match="timeline=True"):
        viewer_trace(pair(), WSE3, Machine(pair(), WSE3).run())
