"""Speed of the fast engine beside the reference engine: one run, one core, CPU time.

Run `python benchmarks/fast_engine.py`. A GEMV-like program (multicast down the columns, local
work, sums along the rows, then down the last column) on growing grids, and a chain reduce with
growing vectors. Kernels are warm; every time is the best of several.

- build: program, compiled machine; graph: scripts and units; solve: all times;
- check: the certificate; run: values and the result (trace included), as `FastMachine.run`;
- reference: `Machine.run` of the same machine on the same data.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from tilewright.arch.flattening import flatten
from tilewright.arch.load import load_arch
from tilewright.arch.source import load_document
from tilewright.mapper.candidate import grid_candidate
from tilewright.mapper.workload import load_workload
from tilewright.simulator.builder import CodeBuilder, ProgramBuilder, TaskBuilder
from tilewright.simulator.cost_model import (
    SimulatedCostModel,
    edge_streams,
    random_operands,
    resident_shares,
)
from tilewright.simulator.engine import layout as at
from tilewright.simulator.examples import chain_reduce
from tilewright.simulator.fast.checks import check_links, check_threads
from tilewright.simulator.fast.graph import build_graph
from tilewright.simulator.fast.run import ROOMS, FastMachine, _scripts
from tilewright.simulator.fast.solve import SOLVED, X_EVALUATIONS, X_OUTCOME, new_times, solve
from tilewright.simulator.lowering.lower import lower
from tilewright.simulator.machine import Machine
from tilewright.simulator.profile import load_profile
from tilewright.simulator.program import Program
from tilewright.simulator.routes import Area, EdgeInput, EdgeOutput

R = TypeVar("R")
HARDWARE = Path(__file__).resolve().parents[1] / "studies" / "hardware" / "wafer_grid.yaml"
REFERENCE_UP_TO = 64
"""Edge of the largest grid that the reference engine runs too."""


def gemv_like(height: int, width: int, words: int, work: int) -> Program:
    """Multicast `words` down each column, do `work` multiply-adds, sum over rows and columns."""
    b = ProgramBuilder("gemv_like", height, width)
    x = b.color("x")
    row, column = (b.color("row0"), b.color("row1")), (b.color("col0"), b.color("col1"))
    out = b.color("out")
    b.route(x, Area(0, 0, height - 1, width), rx="N", tx="SR")
    b.route(x, Area(height - 1, 0, 1, width), rx="N", tx="R")
    b.edge_input(EdgeInput("x", "N", 0, width, x, "f32", words))
    for c in range(width - 1):
        b.route(row[c % 2], Area(0, c, height, 1), rx="R", tx="E")
        b.route(row[c % 2], Area(0, c + 1, height, 1), rx="W", tx="R")
    for r in range(height - 1):
        b.route(column[r % 2], Area(r, width - 1), rx="R", tx="S")
        b.route(column[r % 2], Area(r + 1, width - 1), rx="N", tx="R")
    b.route(out, Area(height - 1, width - 1), rx="R", tx="S")
    b.edge_output(EdgeOutput("y", "S", width - 1, 1, out, "f32", words))
    for name, parity in (("first", 0), ("odd", 1), ("even", 0)):
        receive = None if name == "first" else row[1 - parity]
        code = b.code(name)
        _send(code, _element(code, x, receive, words, work), row[parity], words, receive)
    for c in range(width - 1):
        b.place(("even", "odd")[c % 2] if c else "first", Area(0, c, height, 1))
    for name, r in {"top": 0, "last_odd": 1, "last_even": 2, "bottom": height - 1}.items():
        if name.startswith("last") and r >= height - 1:
            continue
        code = b.code(name)
        task = _element(code, x, row[(width - 2) % 2], words, work)
        task.op("fadds", "all_sum", "all_sum", "row_in")
        receive = column[(r - 1) % 2] if r else None
        if receive is not None:
            code.input_queue(3, receive)
            code.fabin("column_in", 3, words)
        _send(code, task, out if name == "bottom" else column[r % 2], words, receive, "column_in")
    for r in range(height):
        name = ("last_even", "last_odd")[r % 2] if 0 < r < height - 1 else ("bottom", "top")[r == 0]
        b.place(name, Area(r, width - 1))
    return b.build()


def _element(code: CodeBuilder, x: str, receive: str | None, words: int, work: int) -> TaskBuilder:
    """Declare an element's buffers, its receiving of x and its work; return its task."""
    code.buffer("x", "f32", words)
    code.buffer("sum", "f32", words)
    code.mem1d("all_x", "x", words)
    code.mem1d("all_sum", "sum", words)
    code.input_queue(0, x)
    code.fabin("x_in", 0, words)
    if receive is not None:
        code.input_queue(2, receive)
        code.fabin("row_in", 2, words)
    task = code.task("main", entry=True)
    task.op("fmovs", "all_x", "x_in")
    with task.loop("k", work):
        task.op("fmacs", "all_sum", "all_sum", "all_x", 0.5)
    return task


def _send(
    code: CodeBuilder,
    task: TaskBuilder,
    color: str,
    words: int,
    receive: str | None,
    queue: str = "row_in",
) -> None:
    """Add what comes in to the own sum and send it on."""
    code.output_queue(2, color)
    code.fabout("onward", 2, words)
    if receive is None:
        task.op("fmovs", "onward", "all_sum")
    else:
        task.op("fadds", "onward", "all_sum", queue)


def best(runs: int, action: Callable[[], R]) -> tuple[float, R]:
    """Return the least CPU time of several runs, and the last result."""
    found = []
    for _ in range(runs):
        start = time.process_time()
        result = action()
        found.append(time.process_time() - start)
    return min(found), result


def measure(name: str, make: Callable[[], Program], *, reference: bool, runs: int) -> None:
    """Print every phase's time for one program."""
    profile = load_profile("wse2-sdk-sim")
    build, machine = best(runs, lambda: Machine(make(), profile))
    edges = {
        port.name: np.ones((port.positions, port.count), dtype=np.float32)
        for port in machine.program.edge_inputs
    }
    scripting, scripts = best(runs, lambda: _scripts(machine, every=False))
    graphing, (graph, layout) = best(
        runs, lambda: build_graph(machine.program, machine._network, scripts)
    )
    cycles = int(machine._store[at.K_ISSUE]), int(machine._store[at.K_COMPLETION])

    def solved() -> object:
        times = new_times(graph.unit.shape[0], ROOMS[0], cycles)
        solve(graph, times)
        return times

    solving, times = best(runs, solved)
    assert times.header[X_OUTCOME] == SOLVED  # type: ignore[attr-defined]

    def checked() -> None:
        check_threads(layout, times, scripts)
        check_links(machine._network, graph, layout, times)

    checking, _ = best(runs, checked)
    fast = FastMachine(machine.program, profile)
    assert fast.certificate.granted, fast.certificate.reason
    running, found = best(runs, lambda: fast.run(edges=edges).result)
    units, evaluations = graph.unit.shape[0], int(times.header[X_EVALUATIONS])
    print(
        f"{name:26} T {found.cycles:7d}  units {units:8d}  evals/unit {evaluations / units:4.2f}  "
        f"ns/eval {solving / evaluations * 1e9:5.0f} | ms: build {build * 1e3:7.1f}  "
        f"graph {(scripting + graphing) * 1e3:6.1f}  solve {solving * 1e3:6.1f}  "
        f"check {checking * 1e3:5.1f}  run {running * 1e3:7.1f}",
        end="",
    )
    if reference:
        slow, twin = best(runs, lambda: machine.run(edges=edges))
        assert twin.cycles == found.cycles
        print(f"  reference {slow * 1e3:7.1f}  ({slow / (solving + checking):5.0f} x)", end="")
    print(flush=True)


WORKLOAD = """
workload:
  rank_sizes: {{M: {m}, K: {k}}}
  bits_per_value: {{All: 32}}
  persistent_tensors: W
  einsums:
  - einsum: "y[m] = W[m, k] * x[k]"
    renames: {{input: x, weight: W, output: y}}
"""


def measure_candidate(size: int, tile: int, runs: int) -> None:
    """Print what it costs to score a lowered matrix-vector product, tile x tile per element."""
    text = WORKLOAD.format(m=size * tile, k=size * tile)
    workload = load_workload(load_document("matvec.yaml", text=text))
    einsum = workload.einsums[0]
    arch = load_arch(HARDWARE).with_values({"variables.GridX": size, "variables.GridY": size})
    flat = flatten(arch, workload.scope(einsum.name))[0]
    choices = {"shard_x": "k", "shard_y": "m"}
    picking, found = best(runs, lambda: grid_candidate(flat, einsum, choices))
    lowering, lowered = best(runs, lambda: lower(found))
    profile = SimulatedCostModel().profile(found)
    building, fast = best(runs, lambda: FastMachine(lowered.program, profile))
    compiling, machine = best(runs, lambda: Machine(lowered.program, profile))
    operands = random_operands(einsum, 0)
    memory, edges = resident_shares(found, operands), edge_streams(found, operands)
    running, mine = best(runs, lambda: fast.run(memory=memory, edges=edges).result)
    slow, theirs = best(runs, lambda: machine.run(memory=memory, edges=edges))
    assert fast.certificate.granted
    assert mine.cycles == theirs.cycles
    print(
        f"candidate {size} x {size}, tile {tile:3d}  T {mine.cycles:7d} | ms: "
        f"candidate {picking * 1e3:5.1f}  lower {lowering * 1e3:5.1f}  "
        f"compile {compiling * 1e3:5.1f}  times and certificate "
        f"{(building - compiling) * 1e3:5.1f}  values and result {running * 1e3:6.1f}  "
        f"reference {slow * 1e3:7.1f}",
        flush=True,
    )


if __name__ == "__main__":
    for size, tile in ((8, 8), (8, 32), (64, 8), (64, 32)):
        measure_candidate(size, tile, runs=5 if size == 8 else 3)
    for words in (16, 256, 4096):
        measure(
            f"chain 512 x {words}", lambda n=words: chain_reduce(512, n), reference=True, runs=3
        )
    for size in [int(n) for n in sys.argv[1:]] or [8, 64, 256]:
        measure(
            f"GEMV-like {size} x {size}, 256",
            lambda n=size: gemv_like(n, n, 256, 4),
            reference=size <= REFERENCE_UP_TO,
            runs=3 if size <= REFERENCE_UP_TO else 1,
        )
