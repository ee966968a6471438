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

from tilewright.arch.files.source import load_document
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.compile import columns as at
from tilewright.simulator.examples.gemv import gemv_like
from tilewright.simulator.examples.known_costs import chain_reduce
from tilewright.simulator.execution.drawn_operands import random_operands
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.partition_solve import scripts_of
from tilewright.simulator.fast.proofs.certificate import check_links, check_threads
from tilewright.simulator.fast.times.attempts import solved_times
from tilewright.simulator.fast.units.graph import X_EVALUATIONS
from tilewright.simulator.fast.units.graph_tables import build_graph
from tilewright.simulator.lowering.plan import Plan, plan_of, program_of
from tilewright.simulator.lowering.tile_values import run_inputs
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine

R = TypeVar("R")
HARDWARE = Path(__file__).resolve().parents[1] / "studies" / "hardware" / "wafer_grid.yaml"
REFERENCE_UP_TO = 64
"""Edge of the largest grid that the reference engine runs too."""


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
    division = Division(machine.compiled.network)
    scripting, scripts = best(runs, lambda: scripts_of(machine, division))
    graphing, (graph, layout) = best(
        runs, lambda: build_graph(machine.program, machine.compiled.network, scripts, division)
    )
    code = machine.compiled.program_store.code
    issue, completion = int(code[at.K_ISSUE]), int(code[at.K_COMPLETION])

    solving, times = best(runs, lambda: solved_times(graph, issue, completion))

    def checked() -> None:
        check_threads(layout, times, scripts)
        check_links(machine.compiled.network, graph, layout, times, division)

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


def candidate_cycles(size: int, tile: int = 8, runs: int = 10) -> tuple[float, float]:
    """Return the CPU times from a candidate's choices to its cycles, tile x tile per element.

    Once with the tiles of the run before, once with other tiles in every run.
    """
    same = best(runs, scoring(size, tile))[0]
    others = [scoring(size, tile + 1 + n) for n in range(3 * runs)]
    for score in others[:4]:  # the second and the fourth of a family show its way
        score()
    return same, min(best(1, score)[0] for score in others[4:])


def scoring(size: int, tile: int) -> Callable[[], int | None]:
    """Return what finds the cycles of a lowered matrix-vector product from its mapping."""
    reading = reader(size, tile)
    profile = ExecutionSettings().profile(reading().grid)

    def score() -> int | None:
        return FastMachine(program_of(plan_of(reading())), profile).cycles

    return score


def reader(size: int, tile: int) -> Callable[[], SpaceTime]:
    """Return what reads the first mapping with k shared along X and m along Y, tile x tile each."""
    text = WORKLOAD.format(m=size * tile, k=size * tile)
    workload = load_workload(load_document("matvec.yaml", text=text))
    einsum = workload.einsums[0]
    arch = load_arch(HARDWARE).with_values({"variables.GridX": size, "variables.GridY": size})
    flat = flatten(arch, workload.scope(einsum.name))[0]
    constraints = GridConstraints(x="k", y="m", tile="none", reduction="chain", weights="resident")
    space = GridMapspace(grid_of(flat), einsum, constraints)
    choice = space.members(next(iter(space.families())))[0]
    return lambda: space_time(flat, einsum, space.mapping_of(choice))


def measure_candidate(size: int, tile: int, runs: int) -> None:
    """Print what it costs to score a lowered matrix-vector product, tile x tile per element."""
    reading, read = best(runs, reader(size, tile))
    profile = ExecutionSettings().profile(read.grid)
    lowering, (plan, program) = best(runs, lambda: planned(read))
    building, fast = best(runs, lambda: FastMachine(program, profile))
    compiling, machine = best(runs, lambda: Machine(program, profile))
    memory, edges = run_inputs(plan, random_operands(read.einsum, 0))
    running, mine = best(runs, lambda: fast.run(memory=memory, edges=edges).result)
    slow, theirs = best(runs, lambda: machine.run(memory=memory, edges=edges))
    assert fast.certificate.granted
    assert mine.cycles == theirs.cycles
    print(
        f"mapping {size} x {size}, tile {tile:3d}  T {mine.cycles:7d} | ms: "
        f"read {reading * 1e3:5.1f}  lower {lowering * 1e3:5.1f}  "
        f"compile {compiling * 1e3:5.1f}  times and certificate "
        f"{(building - compiling) * 1e3:5.1f}  values and result {running * 1e3:6.1f}  "
        f"reference {slow * 1e3:7.1f}",
        flush=True,
    )


def planned(read: SpaceTime) -> tuple[Plan, Program]:
    """Return the plan of a mapping with its program."""
    plan = plan_of(read)
    return plan, program_of(plan)


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
