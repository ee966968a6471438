"""Map every shipped workload onto every shipped architecture; write the page of the gallery.

    python benchmarks/gallery.py [--only TEXT] [--limit 4] [--jobs 2] [--again]

Each pair is one run of `tilewright map --objective energy --budget LIMIT` in a process of its own.
The budget counts processor seconds instead of those on the wall, so that a busy machine gives the
same table; all pairs take less than ten minutes on two free cores. A process that is still there
after three times the limit is ended. Rows are kept in docs/validation/gallery.json: a pair that has
one is not run again without --again, so the command can be stopped at any time and run again.
--only takes the pairs with that text in "architecture workload"; it may be repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tilewright.arch.quantities import with_unit
from tilewright.dse.command.shipped import studies_folder
from tilewright.mapper.searches.result import gap_text

PAGES = Path(__file__).resolve().parents[1] / "docs" / "validation"
STAGES = {  # files with a variable STAGE: its values, as in the tables of the papers
    "resnet18_block": range(2, 6),
    "resnet50_bottleneck": range(2, 6),
    "mobilenet_v2_block": range(2, 8),
}
PROJECTIONS = (  # for studies
    "attention_head",
    "gpt3_6_7b_projections",
    "llama_feed_forward",
    "llama_projections",
    "seven_point_stencil",
)
MAIN = """
import resource, signal, threading, time
time.monotonic = time.process_time
signal.ITIMER_REAL, signal.SIGALRM = signal.ITIMER_PROF, signal.SIGPROF
resource.setrlimit(resource.RLIMIT_CPU, ({most}, {most}))
from tilewright.dse.command.cli import main
main()
"""

PAGE = """\
# The gallery: every shipped workload on every shipped architecture

The [files](../shipped.md) name the source of each number. Written by

    python benchmarks/gallery.py --limit {limit:g} --jobs 2 --again

({machine}). All rows together took {total:.0f} s of a processor, {minutes:.0f} minutes on two.
Each row is one run of `tilewright map --objective energy` in a process of its own, with a budget
of {limit:g} s of processor time, which counts alike on a busy machine. So a large gap says that
{limit:g} s are few for this pair, not that no better mapping is known: [anytime.md](anytime.md)
has longer runs.
Energy, latency and energy-delay product (EDP) are those of the one
mapping with the least energy: another may have less latency or EDP. "answer": optimal (with
proof, for the mapspace that the output names), or best found, with the gap to a proven lower bound,
from 100 % on as a ratio to it ("2.3 x");
verified: proven to compute the workload, apart from the search and the model.
"on chip": intermediate tensors that never go to the outermost memory. "CPU s": processor time of
the whole process, with its start; "MB": its largest resident memory. A latency that
the architecture file does not model is shown as such. Pairs: {count}; with an answer: {answered};
proven: {proven}; within 5 %: {close}; missed: {missed}.
{tables}
"""
TABLE = """
## {architecture}

| workload | energy | latency | EDP | answer | on chip | CPU s | MB | day |
|---|---|---|---|---|---|---|---|---|
{rows}"""


@dataclass(frozen=True, slots=True)
class Pair:
    """An architecture and a workload; `stage` where the workload has several."""

    architecture: str
    workload: str
    stage: int | None = None

    @property
    def name(self) -> str:
        """Return "architecture workload", with the stage."""
        return f"{self.architecture} {self.title}"

    @property
    def title(self) -> str:
        """Return the workload with its stage."""
        return self.workload + ("" if self.stage is None else f" {self.stage}")

    def arguments(self, limit: float) -> list[str]:
        """Return the command line that maps it within `limit` seconds."""
        stage = [] if self.stage is None else ["--set", f"STAGE={self.stage}"]
        files = ["--arch", self.architecture, "--workload", self.workload, *stage]
        return ["map", *files, "--objective", "energy", "--budget", f"{limit:g}", "--json"]


@dataclass(frozen=True, slots=True)
class Row:
    """What a run gave: seconds, joules, megabytes; `miss`: why there is no answer, or ""."""

    limit: float
    seconds: float
    cpu_seconds: float
    megabytes: float
    day: str
    miss: str = ""
    energy: float = 0.0
    latency: float = 0.0
    edp: float = 0.0
    kind: str = ""
    gap: float = 0.0
    on_chip: int = 0
    verified: bool = False


def pairs() -> list[Pair]:
    """Return all pairs of shipped files, sorted by name."""
    folder = studies_folder()
    hardware = sorted(path.stem for path in (folder / "hardware").glob("*.yaml"))
    workloads = sorted(path.stem for path in (folder / "workloads").glob("*.yaml"))
    return [
        Pair(architecture, workload, stage)
        for architecture in hardware
        for workload in workloads
        if workload not in PROJECTIONS
        for stage in STAGES.get(workload, (None,))
    ]


def run(pair: Pair, limit: float) -> Row:
    """Map a pair in a process of its own."""
    with tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as said:
        began = time.monotonic()
        main = MAIN.format(most=int(3 * limit) + 10)
        command = [sys.executable, "-c", main, *pair.arguments(limit)]
        process = subprocess.Popen(command, stdout=told, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        cost = {
            "limit": limit,
            "seconds": time.monotonic() - began,
            "cpu_seconds": used.ru_utime + used.ru_stime,
            "megabytes": used.ru_maxrss / 1024,
            "day": datetime.now(UTC).date().isoformat(),
        }
        told.seek(0)
        said.seek(0)
        return _row(process.returncode, told.read().decode(), said.read().decode(), cost)


def _row(code: int, told: str, said: str, cost: dict[str, Any]) -> Row:
    """Return the row of a process that ended."""
    if code != 0:
        reasons = [line for line in said.splitlines() if line.startswith("error: ")]
        ended = "ended at three times the limit" if code < 0 else f"exit code {code}"
        return Row(**cost, miss=reasons[-1].removeprefix("error: ") if reasons else ended)
    answer = json.loads(told)
    certificate = answer["certificate"]
    return Row(
        **cost,
        **{metric: answer[metric] for metric in ("energy", "latency", "edp")},
        kind=certificate["kind"],
        gap=certificate["gap"],
        on_chip=len(answer["on_chip"]),
        verified=bool(answer.get("verified")),
    )


def cells(row: Row) -> list[str]:
    """Return the cells of a row behind its name."""
    measured = [f"{row.cpu_seconds:.1f}", f"{row.megabytes:.0f}", row.day]
    if row.miss:
        return ["–", "–", "–", f"missed: {row.miss}".replace("|", "\\|"), "–", *measured]
    answer = "optimal" if row.kind == "optimal" else f"best found, gap {gap_text(row.gap)}"
    answer += ", verified" if row.verified else ""
    times = ["not modelled"] * 2
    if row.latency:
        times = [with_unit(row.latency, "s"), with_unit(row.edp, "J·s")]
    return [with_unit(row.energy, "J"), *times, answer, str(row.on_chip), *measured]


def page(rows: dict[str, Row], every: Sequence[Pair], limit: float) -> str:
    """Return the page; a pair without a row is shown as not run."""
    tables = []
    for architecture in dict.fromkeys(pair.architecture for pair in every):
        lines = []
        for pair in (pair for pair in every if pair.architecture == architecture):
            row = rows.get(pair.name)
            shown = cells(row) if row else ["not run yet"] + [""] * 7
            lines.append(" | ".join([f"| {pair.title}", *shown]) + " |")
        tables.append(TABLE.format(architecture=architecture, rows="\n".join(lines)))
    listed = [rows[pair.name] for pair in every if pair.name in rows]
    answered = [row for row in listed if not row.miss]
    return PAGE.format(
        limit=limit,
        machine=f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        count=len(every),
        answered=len(answered),
        proven=sum(row.kind == "optimal" for row in answered),
        close=sum(row.gap <= 0.05 for row in answered),
        total=sum(row.cpu_seconds for row in listed),
        minutes=sum(row.cpu_seconds for row in listed) / 120,
        missed=len(listed) - len(answered),
        tables="\n".join(tables),
    )


def read_rows(path: Path) -> dict[str, Row]:
    """Return the rows that were measured before."""
    if not path.is_file():
        return {}
    return {name: Row(**row) for name, row in json.loads(path.read_text(encoding="utf-8")).items()}


def write(folder: Path, rows: dict[str, Row], limit: float) -> None:
    """Write rows and page, each at once, so that an interruption loses nothing."""
    kept = {name: asdict(rows[name]) for name in sorted(rows)}
    texts = {
        "gallery.json": json.dumps(kept, indent=1, ensure_ascii=False) + "\n",
        "gallery.md": page(rows, pairs(), limit),
    }
    for name, text in texts.items():
        fresh = folder / f".{name}.new"
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(folder / name)


def main() -> None:
    """Run the pairs that have no row yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_plain)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--limit", type=float, default=4.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--folder", type=Path, default=PAGES)
    given = parser.parse_args()
    rows = read_rows(given.folder / "gallery.json")
    chosen = [
        pair
        for pair in pairs()
        if (given.again or pair.name not in rows)
        and (not given.only or any(text in pair.name for text in given.only))
    ]
    lock = threading.Lock()

    def measure(pair: Pair) -> None:
        row = run(pair, given.limit)
        with lock:
            rows[pair.name] = row
            write(given.folder, rows, given.limit)
            print(pair.name, *cells(row), sep=" | ", flush=True)

    with ThreadPoolExecutor(given.jobs) as workers:
        list(workers.map(measure, chosen))
    write(given.folder, rows, given.limit)


def _plain(prog: str) -> argparse.HelpFormatter:
    return argparse.RawDescriptionHelpFormatter(prog)


if __name__ == "__main__":
    main()
