"""Speed of both engines, one core: `python benchmarks/engine_speed.py` writes the page.

The page is docs/validation/engine-speed.md. CPU time, best of several runs; kernels are warm
except where the first run is measured. The official simulator's recorded figure is 0.46 M active
PE-cycles per second (wafer.md §8.6); a PE-cycle is an element in a simulated cycle.
"""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import TypeVar

import numpy as np
from candidate_speed import candidate_rows
from fast_engine import candidate_cycles
from pattern_share import section

from tilewright.simulator.examples.gemv import gemv_like, wse2_cycles
from tilewright.simulator.examples.known_costs import chain_reduce, two_phase_reduce
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.quotient.pattern_cycles import pattern_cycles
from tilewright.simulator.run.machine import Machine

R = TypeVar("R")
OFFICIAL = 0.46e6
WSE2 = load_profile("wse2-sdk-sim")
ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "validation" / "engine-speed.md"
FIRST_RUN = """
import sys
from tilewright.simulator.examples.known_costs import chain_reduce
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program
{machine}({program}, load_profile("wse3-sdk-sim")).run()
"""
CHAIN = "chain_reduce(8, 16)"
SPECIAL = "parse_program(sys.stdin.read())"
SPECIAL_TEXT = """program special 1 x 2
color x 0
code a
  buffer v f32 [8]
  mem1d all v extent 8
  fabout out queue 4 extent 8
  output_queue 4 x
  task m entry
    @fmovs out, all
code b
  buffer q f32 [16]
  buffer w f32 [8]
  mem1d all w extent 8
  fabin in queue 2 extent 8
  fifo f q empty suspend
  input_queue 2 x
  task m entry
    @fmovs f, in async
    @fmovs all, f
    activate done
  task done
    map e from all to all as y
      y = mul.f32 e, #2.0
place a [0:1, 0:1]
place b [0:1, 1:2]
route x [0:1, 0:1] rx R tx E
route x [0:1, 1:2] rx W tx R
"""
"""A stream through a FIFO, then a map with a scalar instruction."""


PATTERN = """
from pathlib import Path
from tilewright.simulator.examples.gemv import gemv_like
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.quotient.pattern_cycles import pattern_cycles
print(pattern_cycles(gemv_like(750, 994, 256, 4), load_profile("wse2-sdk-sim")).cycles)
status = Path("/proc/self/status").read_text()
print(int(status.split("VmHWM:")[1].split()[0]) // 1000)
"""
"""Most memory of a process from its own start on; getrusage counts its parent's, too."""


def best(runs: int, action: Callable[[], R]) -> tuple[float, R]:
    """Return the least CPU time of several runs, and the last result."""
    found = []
    for _ in range(runs):
        start = time.process_time()
        result = action()
        found.append(time.process_time() - start)
    return min(found), result


def table(*rows: tuple[str, ...]) -> Iterator[str]:
    """Yield a table; the first row is its head."""
    for number, row in enumerate(rows):
        yield f"| {' | '.join(row)} |"
        if number == 0:
            yield "|---" + "|---:" * (len(row) - 1) + "|"
    yield ""


def reference_row(name: str, program: Program, runs: int) -> tuple[str, ...]:
    """Measure a program on the plain and on the merged network."""
    profile = load_profile("wse2-sdk-sim")
    edges = {p.name: np.zeros((p.positions, p.count)) for p in program.edge_inputs}
    cells: list[str] = []
    cycles = 0
    for fuse in (False, True):
        machine = Machine(program, profile, fuse=fuse)
        machine.run(edges=edges)
        seconds, result = best(runs, lambda m=machine: m.run(edges=edges))  # type: ignore[misc]
        assert cycles in (0, result.cycles)
        cycles = result.cycles
        speed = program.placement.size * cycles / seconds
        cells += [f"{speed / 1e6:.1f} M", f"{speed / OFFICIAL:.0f}"]
    return name, str(cycles), *cells


def reference_rows() -> Iterator[tuple[str, ...]]:
    """Yield the reference engine's table."""
    yield "program", "cycles", "plain, PE-cycles/s", "x official", "merged queues", "x official"
    yield reference_row("chain reduce 512 x 4096", chain_reduce(512, 4096), 5)
    yield reference_row("two-phase reduce 512 x 4096", two_phase_reduce(512, 4096, 32), 3)
    yield reference_row("64 x 64 reduce, 1024 words", gemv_like(64, 64, 1024, 0), 3)


def fast_rows() -> Iterator[tuple[str, ...]]:
    """Yield the fast engine's table: cycles of programs without data."""
    head = "program", "cycles", "operations", "evaluations each", "ms in all", "ms, other words"
    yield *head, "us per operation"
    cases: list[tuple[str, Callable[[int], Program], int]] = [
        *((f"chain reduce 512 x {n}", partial(chain_reduce, 512), n) for n in (16, 256, 4096)),
        *((f"GEMV-like {n} x {n}", partial(gemv, n), 256) for n in (8, 64)),
    ]
    for name, make, words in cases:
        others = count(words + 1)
        other, _ = best(60, lambda m=make, w=others: in_all(m(next(w))))  # type: ignore[misc]
        seconds, machine = best(20, lambda m=make, w=words: in_all(m(w)))  # type: ignore[misc]
        found = machine.certificate
        yield (
            name,
            str(machine.cycles),
            str(found.units),
            f"{found.evaluations / found.units:.2f}",
            f"{seconds * 1e3:.1f}",
            f"{other * 1e3:.1f}",
            f"{solving_time(machine) / found.evaluations * 1e6:.2f}",
        )


def gemv(size: int, words: int) -> Program:
    """Return a GEMV-like program on a square grid."""
    return gemv_like(size, size, words, 4)


def in_all(program: Program) -> FastMachine:
    """Return a machine whose cycles are known."""
    machine = FastMachine(program, load_profile("wse2-sdk-sim"))
    assert machine.cycles is not None
    return machine


def solving_time(machine: FastMachine) -> float:
    """Return the CPU seconds of the fixpoint alone."""
    from tilewright.simulator.fast.times.attempts import solved_times
    from tilewright.simulator.fast.units.graph import X_COMPLETION, X_ISSUE

    assert machine.timed is not None
    graph, header = machine.timed.graph, machine.timed.times.header
    issue, completion = int(header[X_ISSUE]), int(header[X_COMPLETION])
    return best(5, lambda: solved_times(graph, issue, completion))[0]


def first_run(machine: str, program: str = CHAIN) -> tuple[str, str, str]:
    """Measure a whole process without compiled kernels on disk, and with them.

    Returns clock and CPU seconds of the first one, all its processes included, and CPU seconds of
    the second one.
    """
    code = FIRST_RUN.format(machine=machine, program=program)
    clock, used = [], []
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        for _ in range(2):
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run(
                [sys.executable, "-c", code],
                env=environment,
                check=True,
                input=SPECIAL_TEXT.encode(),
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            clock.append(time.perf_counter() - start)
            used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return f"{clock[0]:.1f} s", f"{used[0]:.1f} s", f"{used[1]:.1f} s"


def wafer() -> str:
    """Describe the cycles of a full wafer, in this process."""
    start = time.process_time()
    fast = FastMachine(gemv_like(750, 994, 256, 4), WSE2)
    seconds = time.process_time() - start
    assert fast.cycles == wse2_cycles(750, 994, 256, 4)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    pattern_cycles(gemv_like(40, 40, 256, 4), WSE2)
    pattern_seconds, found = best(5, lambda: pattern_cycles(gemv_like(750, 994, 256, 4), WSE2))
    alone = subprocess.run([sys.executable, "-c", PATTERN], check=True, capture_output=True)
    cycles, megabytes = map(int, alone.stdout.split())
    assert found.cycles == fast.cycles == cycles
    return (
        f"750 x 994 elements, 1 KiB broadcast and reduced per element: {fast.cycles} cycles, as "
        f"the [closed form](../fast_engine.md) says; {seconds:.1f} s of CPU time, building the "
        f"program included, {memory:.1f} GB. By its [pattern](../theory/engines.md) (§11), from a "
        f"grid of {found.elements} elements: {pattern_seconds:.2f} s; a process that does only "
        f"this takes {megabytes} MB."
    )


INTRODUCTION = """\
# Engine speed

Written by `python benchmarks/engine_speed.py`; do not edit. CPU time of one core, best of several
runs, all in one run of the command, on {cpu}, Python {python}, load {load:.1f} at the
start (other work on the machine makes these figures worse, up to three times).

## Reference engine

Beside the official simulator's recorded 0.46 M active PE-cycles/s; a PE-cycle is an element in a
simulated cycle. Plain: every queue and router by itself. Merged: straight lines as one queue, with
the same cycles and values.
"""


FAST = """\
## Fast engine

In all: the program is built, compiled and solved; its codes and its topology are those of the run
before. Other words: every run has another number of words, so that only the topology and the
families of its codes are known ([fast engine](../fast_engine.md)).
"""


def page() -> str:
    """Measure everything and return the page."""
    shown = {"cpu": cpu(), "python": platform.python_version(), "load": os.getloadavg()[0]}
    times = {n: candidate_cycles(n) for n in (8, 64)}
    candidates = [
        (f"{n} x {n}", *(f"{seconds * 1e3:.1f} ms" for seconds in found))
        for n, found in times.items()
    ]
    candidates_of_searches = list(candidate_rows())  # first: later rows leave much in memory
    lines = [
        INTRODUCTION.format(**shown),
        *table(*reference_rows()),
        FAST,
        *table(*fast_rows()),
        "A lowered matrix-vector candidate from its choices to its cycles, topology reused:\n",
        *table(("grid", "the tiles of the run before", "other tiles in every run"), *candidates),
        wafer() + "\n",
        "## Candidates of a search\n",
        "The first sixty by the bounds of their families, with codes, plans and bounds. A search",
        "asks for the cycles only; one that runs on numbers is compared with numpy.",
        "Looked at: all of them; run: those without the ones whose cycles are those of the same",
        "mapping with rows and columns exchanged. Wanted are 500 candidates a second on 8 x 8 and",
        "200 on 32 x 32. Searches of four other sizes come first, so that families of codes are",
        "known; the first candidates of a process take several times as long. On a large grid the",
        "exact cycles follow from a small grid of the same pattern where that is proved.\n",
        *table(*candidates_of_searches),
        section(),
        "## First run\n",
        f"A whole process, on {os.cpu_count()} processors: kernels are compiled side by side.\n",
        *table(
            (
                "engine, program",
                "no kernels, on the clock",
                "CPU time",
                "kernels on disk, CPU time",
            ),
            ("reference, a small chain", *first_run("Machine")),
            ("reference, a FIFO and a map", *first_run("Machine", SPECIAL)),
            ("fast, a small chain", *first_run("FastMachine")),
        ),
    ]
    return "\n".join(lines).rstrip() + "\n"


def cpu() -> str:
    """Return the processor's name."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.split(":")[1].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.stdout.write(PAGE.read_text())
