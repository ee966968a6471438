"""Time to find the best mapping, side by side with AccelForge.

    python benchmarks/mapper_speed.py --accelforge /path/to/other/bin/python3.12 \
        [--only CASE …] [--tool ours|theirs|both] [--write docs/validation/mapper-speed.md]

Every case runs in a process of its own, pinned to one core, once with each tool. What is measured
is kept in a JSON file beside the page, so that the page can be made in pieces: cases that are not
asked for keep their figures. Times are CPU seconds of the process (user and system), which other
work on the machine disturbs less than the clock on the wall. A run of AccelForge of more than
--limit seconds is stopped and marked. AccelForge lives in an environment of its own: it needs
Python 3.12 (`python3.12 -m venv af && af/bin/pip install accelforge==1.0.467`) and the `dot`
executable of Graphviz (`apt-get install graphviz`).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mapper_page import page
from mapper_rows import Row, files_of, rows

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "shared/data/accelforge"
COMMAND = "python benchmarks/mapper_speed.py --accelforge af/bin/python3.12"
OURS = """
import json, resource, sys, time
from pathlib import Path
start = time.process_time()
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.mapper.searches.api import search
case = json.loads(sys.argv[1])
arch = load_arch(Path(case["arch"]), variables=case["variables"])
work = load_workload(Path(case["workload"]), variables=case["variables"])
loaded = time.process_time() - start
times = []
while len(times) < 2 or (sum(times) < 2 and len(times) < 6):
    begun = time.process_time()
    found = search(arch, work, objective=case["objective"], conventions="accelforge")
    times.append(time.process_time() - begun)
proof = found.certificate
print(json.dumps({
    "load": loaded, "first": times[0], "warm": min(times[1:]), "value": proof.value,
    "kind": proof.kind, "gap": proof.gap, "on_chip": found.on_chip, "notes": found.notes,
    "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
}))
"""
THEIRS = """
import json, os, resource, sys, time, warnings
warnings.filterwarnings("ignore")
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
start = time.process_time()
import accelforge as af
from accelforge.frontend.mapper.metrics import Metrics
case = json.loads(sys.argv[1])
af.set_n_parallel_jobs(1)
spec = af.Spec.from_yaml(case["arch"], case["workload"], jinja_parse_data=case["variables"])
loaded = time.process_time() - start
metric = {"energy": "ENERGY", "latency": "LATENCY", "edp": "ENERGY_DELAY_PRODUCT"}
column = metric[case["objective"]]
spec.mapper.metrics = getattr(Metrics, column)
begun = time.process_time()
found = spec.map_workload_to_arch(print_progress=False)
print(json.dumps({
    "load": loaded, "search": time.process_time() - begun,
    "value": float(min(found.data["Total<SEP>" + column.lower()])),
    "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
}), file=answers, flush=True)
"""


def interpreter(given: str | None) -> str:
    """Return an interpreter that has AccelForge, or say what to install."""
    found = shutil.which(given) if given else None
    if found is None:
        raise SystemExit(
            f"no AccelForge at {given!r}. It needs Python 3.12 and an environment of its own:\n"
            "  python3.12 -m venv af && af/bin/pip install accelforge==1.0.467\n"
            "  apt-get install graphviz    # its pictures call `dot`\n"
            f"then: {COMMAND}"
        )
    return found


class Runner:
    """Runs cases in processes of their own on one core."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._core = max(os.sched_getaffinity(0))

    def ours(self, row: Row) -> dict[str, Any]:
        """Measure the search alone, then the command on a warm cache."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            found = self._run([sys.executable, "-c", OURS], row, folder, None)
            if "failed" in found:
                return found
            command = self._command(row, folder)
            seconds = [self._seconds(command, folder) for _ in range(2)]
            return {**found, "process": min(seconds)}

    def theirs(self, row: Row) -> dict[str, Any]:
        """Measure AccelForge's search and its whole process."""
        python = interpreter(self._arguments.accelforge)
        with tempfile.TemporaryDirectory() as name:
            limit = self._arguments.limit
            return self._run([python, "-c", THEIRS], row, Path(name), limit)

    def first_ever(self, row: Row) -> float:
        """Return seconds of the command with an empty cache of compiled kernels."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            command = self._command(row, folder)
            return self._seconds(command, folder, {"NUMBA_CACHE_DIR": str(folder / "cache")})

    def _command(self, row: Row, folder: Path) -> list[str]:
        arch, workload = files_of(row, self._arguments.examples, folder)
        used = arch.read_text(encoding="utf-8")  # a shortened workload has its values written in
        settings = [
            f"--set={name}={value}"
            for name, value in row.variables.items()
            if not row.without or name in used
        ]
        tool = Path(sys.executable).parent / "tilewright"
        return [
            str(tool), "map", f"--arch={arch}", f"--workload={workload}", "--json",
            f"--objective={row.objective}", "--conventions=accelforge", *settings,
        ]  # fmt: skip

    def _run(
        self, command: list[str], row: Row, folder: Path, limit: float | None
    ) -> dict[str, Any]:
        arch, workload = files_of(row, self._arguments.examples, folder)
        case = {
            "arch": str(arch), "workload": str(workload), "variables": row.variables,
            "objective": row.objective,
        }  # fmt: skip
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run, stopped = self._process([*command, json.dumps(case)], folder, limit)
        if stopped:
            return {"stopped": limit}
        if run.returncode:
            return {"failed": run.stderr.strip().splitlines()[-1][:300]}
        answer: dict[str, Any] = json.loads(run.stdout.strip().splitlines()[-1])
        return {**answer, "process": _spent(before)}

    def _process(
        self, command: list[str], folder: Path, limit: float | None
    ) -> tuple[subprocess.CompletedProcess[str], bool]:
        seconds = None if limit is None else int(limit)

        def confine() -> None:
            os.sched_setaffinity(0, {self._core})
            if seconds is not None:  # CPU seconds: a busy machine stops nobody early
                resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))

        one = dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        run = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False,
            preexec_fn=confine, env={**os.environ, **one},
        )  # fmt: skip
        return run, limit is not None and run.returncode < 0

    def _seconds(
        self, command: list[str], folder: Path, extra: dict[str, str] | None = None
    ) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            command, cwd=folder, capture_output=True, check=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {self._core}),
            env={**os.environ, **(extra or {})},
        )  # fmt: skip
        return _spent(before)


def _spent(before: resource.struct_rusage) -> float:
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def parsed() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--accelforge", metavar="PYTHON", help="interpreter that has AccelForge")
    parser.add_argument("--only", nargs="+", metavar="CASE", help="cases to measure now")
    parser.add_argument("--tool", choices=("ours", "theirs", "both"), default="both")
    parser.add_argument("--missing", action="store_true", help="measure only what has no figures")
    parser.add_argument("--limit", type=float, default=300, help="CPU seconds of AccelForge")
    parser.add_argument("--examples", type=Path, default=EXAMPLES, help="AccelForge's examples")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="page to write")
    parser.add_argument("--figures", type=Path, help="JSON file of what was measured")
    return parser.parse_args()


def main() -> None:
    """Measure what is asked for, then write the page."""
    arguments = parsed()
    target = arguments.figures or (arguments.write or Path("mapper-speed.md")).with_suffix(".json")
    known: dict[str, Any] = json.loads(target.read_text()) if target.exists() else {}
    if unknown := set(arguments.only or ()) - {row.name for row in rows()}:
        raise SystemExit(f"no such case: {', '.join(sorted(unknown))}")
    runner = Runner(arguments)
    for row in rows():
        if arguments.only and row.name not in arguments.only:
            continue
        for tool in ("ours", "theirs"):
            wanted = arguments.tool in (tool, "both")
            if not wanted or (arguments.missing and tool in known.get(row.name, {})):
                continue
            found = getattr(runner, tool)(row)
            found |= {"when": time.strftime("%Y-%m-%d"), "load_average": os.getloadavg()[0]}
            if tool == "ours" and row.name == "tpu_matmul_128_energy":
                found["first_ever"] = runner.first_ever(row)
            if target.exists():  # another run may have written its own figures
                known = json.loads(target.read_text())
            known.setdefault(row.name, {})[tool] = found
            target.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
            sys.stderr.write(f"{row.name} {tool}: {json.dumps(found)}\n")
    if arguments.write:
        machine = f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}"
        arguments.write.write_text(page(rows(), known, COMMAND, machine), encoding="utf-8")


if __name__ == "__main__":
    main()
