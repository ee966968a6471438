"""Time to evaluate one mapping of a matmul on three memories, side by side with AccelForge.

    python benchmarks/evaluate_speed.py --accelforge /path/to/other/bin/python3.12 \
        [--write docs/validation/model-speed.md]

Both tools load the same three files once, then evaluate the mapping again and again ("warm") in
turns: a block of ours, a block of theirs, and so on, so that both see the same machine. The totals
of both are compared before anything is timed. AccelForge lives in an environment of its own: it
needs Python 3.12 (`python3.12 -m venv af && af/bin/pip install accelforge==1.0.467`) and, for some
of its pictures, the `dot` executable of Graphviz (`apt-get install graphviz`).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.model.evaluation import score_mapping
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = """
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    area: 0
    leak_power: 0.1
    actions: [{name: read, energy: 64, throughput: 16}, {name: write, energy: 64, throughput: 16}]
  - !Memory
    name: GLB
    size: 1048576
    area: 1
    leak_power: 0.01
    actions: [{name: read, energy: 4, throughput: 64}, {name: write, energy: 4, throughput: 64}]
  - !Container
    name: PE
    spatial: [{name: x, fanout: 8}]
  - !Memory
    name: REG
    size: 4096
    area: 0.01
    leak_power: 0.001
    actions: [{name: read, energy: 0.5, throughput: 64}, {name: write, energy: 0.5, throughput: 64}]
  - !Compute
    name: MAC
    area: 0.01
    leak_power: 0.001
    actions: [{name: compute, energy: 1, throughput: 1}]
"""
WORKLOAD = """
workload:
  rank_sizes: {M: 128, N: 128, K: 128}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "Z[m, n] = A[m, k] * B[k, n]"}
"""
MAPPING = """
mapping:
  nodes:
  - !Storage {tensors: [A, B, Z], component: DRAM}
  - !Temporal {rank_variable: m, tile_shape: 32}
  - !Temporal {rank_variable: n, tile_shape: 64}
  - !Storage {tensors: [A, B, Z], component: GLB}
  - !Temporal {rank_variable: k, tile_shape: 16}
  - !Temporal {rank_variable: n, tile_shape: 16}
  - !Spatial {rank_variable: m, tile_shape: 4, component: PE, name: x}
  - !Storage {tensors: [A, Z], component: REG}
  - !Temporal {rank_variable: k, tile_shape: 1}
  - !Temporal {rank_variable: n, tile_shape: 1}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Compute {einsum: Z, component: MAC}
"""
THEIRS = """
import contextlib, io, json, os, sys, time, warnings
warnings.filterwarnings("ignore")
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
import accelforge as af
from accelforge.frontend.mapper.metrics import Metrics
files = sys.argv[1:]
start = time.perf_counter()
spec = af.Spec.from_yaml(*files)
spec.model.metrics = Metrics.all_metrics()
row = spec.evaluate_mapping().data.iloc[0].to_dict()
first = time.perf_counter() - start
totals = {name: float(row["Total<SEP>" + name]) for name in ("energy", "latency")}
print(json.dumps({"first": first, **totals}), file=answers, flush=True)
for line in sys.stdin:
    times = []
    for _ in range(int(line)):
        start = time.process_time()
        spec.evaluate_mapping()
        times.append(time.process_time() - start)
    print(json.dumps(times), file=answers, flush=True)
"""
TOO_FEW_DIGITS = 1e-6  # AccelForge prints float32
PAGE = """\
# Speed of the model

Time of one evaluation of a mapping: a matmul of 128 × 128 × 128 on DRAM, a global buffer, eight
register files and their MACs (12 nodes, files in the script), files loaded before. Written by

    {command}

on {when} ({machine}, Python {python}, AccelForge {version} with Python {their_python}), both tools
in turns in one run, after checking that energy and latency agree.

{table}

Times are CPU times of the evaluating process, which other work on the machine disturbs less than
the clock on the wall. The first evaluation, with reading the three files, took {our_first:.1f} ms
here and {their_first:.0f} ms there by the wall clock (imports left out in both; load average
{load:.1f} on {cores} cores).
"""


class Theirs:
    """AccelForge in a process of its own, fed with numbers of evaluations."""

    def __init__(self, python: str, files: list[str]) -> None:
        self.process = subprocess.Popen(
            [python, "-c", THEIRS, *files],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def answer(self) -> object:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            assert self.process.stderr is not None
            raise SystemExit("AccelForge failed:\n" + self.process.stderr.read()[-2000:])
        return json.loads(line)

    def times(self, number: int) -> list[float]:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        found = self.answer()
        assert isinstance(found, list)
        return found

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def interpreter(given: str | None) -> str:
    """Return an interpreter that has AccelForge, or say what to install."""
    found = shutil.which(given) if given else None
    if found is not None:
        code = "import importlib.metadata as m; print(m.version('accelforge'))"
        run = subprocess.run([found, "-c", code], capture_output=True, text=True, check=False)
        if run.returncode == 0:
            return found
    raise SystemExit(
        f"no AccelForge at {given!r}. It needs Python 3.12 and an environment of its own:\n"
        "  python3.12 -m venv af && af/bin/pip install accelforge==1.0.467\n"
        "  apt-get install graphviz    # its pictures call `dot`\n"
        "then: python benchmarks/evaluate_speed.py --accelforge af/bin/python3.12"
    )


def ask(python: str, code: str) -> str:
    return subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def ours(files: list[str]) -> tuple[float, list[object]]:
    """Return seconds of the first evaluation with loading, and the loaded objects."""
    start = time.perf_counter()
    loaded = [load_arch(files[0]), load_workload(files[1]), load_mapping(files[2])]
    score_mapping(*loaded, "accelforge")  # type: ignore[arg-type]
    return time.perf_counter() - start, loaded  # type: ignore[return-value]


def measure(loaded: list[object], number: int) -> list[float]:
    times = []
    for _ in range(number):
        start = time.process_time()
        score_mapping(*loaded)  # type: ignore[arg-type]
        times.append(time.process_time() - start)
    return times


def table(our_times: list[float], their_times: list[float]) -> str:
    lines = ["| | evaluations | median ms | best ms | slowest ms |", "|---|---|---|---|---|"]
    for name, times in (("Tilewright", our_times), ("AccelForge", their_times)):
        row = [statistics.median(times), min(times), max(times)]
        lines.append(
            f"| {name} | {len(times)} | " + " | ".join(f"{1e3 * t:.3f}" for t in row) + " |"
        )
    ratios = [
        statistics.median(their_times) / statistics.median(our_times),
        min(their_times) / min(our_times),
    ]
    lines.append(f"| ratio | | **{ratios[0]:.0f}** | **{ratios[1]:.0f}** | |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--accelforge", metavar="PYTHON", help="interpreter that has AccelForge")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--write", metavar="FILE", type=Path, help="write the page")
    options = parser.parse_args()
    python = interpreter(options.accelforge)
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, text in (("arch", ARCH), ("workload", WORKLOAD), ("mapping", MAPPING)):
            files.append(str(Path(folder, f"{name}.yaml")))
            Path(files[-1]).write_text(text)
        report(python, files, options)


def report(python: str, files: list[str], options: argparse.Namespace) -> None:
    our_first, loaded = ours(files)
    score = score_mapping(*loaded, "accelforge")  # type: ignore[arg-type]
    other = Theirs(python, files)
    first = other.answer()
    assert isinstance(first, dict)
    for name in ("energy", "latency"):
        if not math.isclose(getattr(score, name), first[name], rel_tol=TOO_FEW_DIGITS):
            raise SystemExit(f"{name}: {getattr(score, name)} here, {first[name]} there")
    our_times: list[float] = []
    their_times: list[float] = []
    for _ in range(options.rounds):
        our_times += measure(loaded, 200)
        their_times += other.times(3)
    other.close()
    page = PAGE.format(
        command=f"python benchmarks/evaluate_speed.py --accelforge {options.accelforge}"
        + (f" --write {options.write}" if options.write else ""),
        when=time.strftime("%Y-%m-%d"),
        machine=f"{platform.machine()}, {platform.system()}",
        python=platform.python_version(),
        version=ask(python, "import importlib.metadata as m; print(m.version('accelforge'))"),
        their_python=ask(python, "import platform; print(platform.python_version())"),
        table=table(our_times, their_times),
        load=os.getloadavg()[0],
        cores=os.cpu_count(),
        our_first=1e3 * our_first,
        their_first=1e3 * first["first"],
    )
    print(page)
    if options.write:
        options.write.write_text(page)


if __name__ == "__main__":
    sys.exit(main())
