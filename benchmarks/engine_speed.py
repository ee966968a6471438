"""Speed of the reference engine: PE-cycles per second (elements x simulated cycles), one core.

Run `python benchmarks/engine_speed.py`. CPU time, best of several runs, compiled kernels warm.
The official simulator's recorded figure is 0.46 M active PE-cycles per second (wse.md §5).
"""

from __future__ import annotations

import time

import numpy as np

from tilewright.simulator.builder import ProgramBuilder
from tilewright.simulator.examples import chain_reduce, two_phase_reduce
from tilewright.simulator.machine import Machine
from tilewright.simulator.profile import load_profile
from tilewright.simulator.program import Program
from tilewright.simulator.routes import Area, EdgeInput

OFFICIAL = 0.46e6


def broadcast(size: int, words: int) -> Program:
    """Multicast a stream from the west edge to all elements of a square grid."""
    b = ProgramBuilder("broadcast", size, size)
    color = b.color("x")
    code = b.code("main")
    code.buffer("x", "f32", words)
    code.mem1d("all", "x", words)
    code.input_queue(2, color)
    code.fabin("in", 2, words)
    code.task("main", entry=True).op("fmovs", "all", "in")
    b.place("main", Area(0, 0, size, size))
    b.route(color, Area(0, 0), rx="W", tx="RES")
    b.route(color, Area(1, 0, size - 2, 1), rx="N", tx="RES")
    b.route(color, Area(size - 1, 0), rx="N", tx="RE")
    b.route(color, Area(0, 1, size, size - 2), rx="W", tx="RE")
    b.route(color, Area(0, size - 1, size, 1), rx="W", tx="R")
    b.edge_input(EdgeInput("x", "W", 0, 1, color, "f32", words))
    return b.build()


def measure(name: str, program: Program, runs: int = 5) -> None:
    """Print build time, cycles and speed of a program."""
    profile = load_profile("wse2-sdk-sim")
    edges = {p.name: np.zeros((p.positions, p.count)) for p in program.edge_inputs}
    start = time.process_time()
    machine = Machine(program, profile)
    built = time.process_time() - start
    best, cycles = float("inf"), 0
    for _ in range(runs):
        start = time.process_time()
        cycles = machine.run(edges=edges).cycles
        best = min(best, time.process_time() - start)
    speed = program.placement.size * cycles / best
    print(
        f"{name:32} {cycles:7d} cycles  build {built * 1e3:7.1f} ms  run {best * 1e3:7.1f} ms  "
        f"{speed / 1e6:6.1f} M PE-cycles/s  {speed / OFFICIAL:5.0f} x official"
    )


if __name__ == "__main__":
    measure("chain 512 x 4096", chain_reduce(512, 4096))
    measure("two-phase 512 x 4096, groups 32", two_phase_reduce(512, 4096, 32))
    measure("broadcast 64 x 64, 1024 words", broadcast(64, 1024))
    measure("broadcast 256 x 256, 64 words", broadcast(256, 64), runs=2)
