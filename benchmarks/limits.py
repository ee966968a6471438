"""How well searches keep to --budget and --max-memory; write docs/validation/limits.md.

    python benchmarks/limits.py [--only TEXT] [--again]

Every kind of search is ended by each budget and by each limit of memory, in a process of its own.
Seconds are those of a processor, so that a busy machine gives the same table; they run from the
call of `search` to its return, with the check of the mapping. Rows are kept in
docs/validation/limits.json, so that the command can be stopped and run again; --again runs all
anew, --only those with that text in their name.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAGES = Path(__file__).resolve().parents[1] / "docs" / "validation"
BUDGETS = (1.0, 2.0, 5.0)
MEMORIES = (200e6, 500e6)
LONGEST = 10.0  # seconds of a search that a limit of memory shall end
TOLERANCE = 1.25
SEARCH = """
import json, sys, time
time.monotonic = time.process_time
from pathlib import Path
from tilewright.mapper import search
from tilewright.mapper.searches.result import Progress
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.studies import path_of

architecture, workload, variables, options = sys.argv[1:5]
first = []

def note(step):
    if step.value < float("inf"):
        first.append(time.process_time() - began)

shipped = workload if "\\n" in workload else path_of("workloads", workload)
work = load_workload(shipped, variables=json.loads(variables))
began = time.process_time()
row = {}
try:
    result = search(path_of("hardware", architecture), work, progress=note, **json.loads(options))
    proof = result.certificate
    row = {"kind": proof.kind, "gap": proof.gap if proof.gap < 1e9 else None}
    row["interrupted"] = any("interrupted" in note for note in result.notes)
except Exception as error:
    row = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
row["seconds"] = time.process_time() - began
row["first"] = first[0] if first else None
lines = Path("/proc/self/status").read_text().splitlines()
row["bytes"] = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
print(json.dumps(row))
"""
ON_MACHINE = """
import json, sys, time
time.monotonic = time.process_time
from pathlib import Path
from tilewright.arch.spec.load import load_arch
from tilewright.dse.command.machine.grid_answer import find_on_machine
from tilewright.dse.command.machine.grid_front_answer import find_front_on_machine
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.search.fronts.grid_front import GridFrontSearch
from tilewright.simulator.search.grid_mapping import map_on_grid
from tilewright.studies import path_of

architecture, workload, variables, given = sys.argv[1:5]
options = {"objective": "latency", "front": (), "einsum": None, "fusion": True, "uneven": (),
    "max_memory": None, "method": "exact", "seed": 0, "conventions": "default", "point": None,
    "limit": 20, "html": False, **json.loads(given)}
arch = load_arch(path_of("hardware", architecture))
work = load_workload(workload if "\\n" in workload else path_of("workloads", workload))
find = find_front_on_machine if options["front"] else find_on_machine
began = time.process_time()
find(arch, work, "wse2-sdk-sim", options, None)
seconds = time.process_time() - began
lines = Path("/proc/self/status").read_text().splitlines()
used = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
print(json.dumps({"kind": "executed", "seconds": seconds, "bytes": used}))
"""
PAGE = """\
# Limits: what searches make of --budget and --max-memory

Written by

    python benchmarks/limits.py

({machine}). A search looks at its limits between its steps. One that does not do so in time is
interrupted by a thread that watches the clock and the memory (`mapper/searches/limits/watch.py`),
a tenth beyond the limit, less what it takes to prove an answer; what it found before is the answer
then (†). Any search may take 1.1 s, and 64 MB beyond what the process has. Seconds are those of a
processor, from the call of `search` to its return; loading the files is not among them, and machine
code of kernels is on disk (a budget begins when it is). MB: the
largest resident memory of the process, of which {base} are there before a search begins.

Of {timed} searches with a budget {in_time} ended within 25 % of it; of {sized} with a limit of
memory {in_size} needed at most 25 % more.{misses}

## Budgets

Each cell: seconds, and the gap of the answer.

| search | {budgets} |
|---|{rules}|
{by_time}

## Memory

Each cell: the largest memory, and the gap of the answer; {longest:g} s at most.

| search | {memories} |
|---|{memory_rules}|
{by_memory}

Searches on a grid (`map --machine`) have no limit of memory; they look at the clock between
executions and inside them, and leave some time to execute the best candidate on numbers. If no
candidate ends in the budget, the answer is the mapping with the least bound, not executed; if only
the run on numbers does not, its simulated value is there. A budget of 0 waits for a first executed
candidate. What it takes to load modules and machine code comes on top: the
modules are loaded before the call here, as by `import`. After half of the budget no further
mappings, or ways to leave tensors in the elements, are bounded; the bound of the answer holds for
them, too.

A step over partial mappings (closure, lanes, charges) ends where it is when a search is
interrupted. What is left: other machine code that works on large arrays, such as a sort, is
interrupted only when it returns, and what it needs at once is there before anybody can look. A
first mapping and its proof are waited for, which takes some 1 ms for each Einsum: of the time for
1,000 Einsums a quarter to rename what the architecture is for the first one, a quarter to see which
of them are the same problem and to rename the solutions, a third to join and score the mapping of
the whole, the rest to verify it.
"""
MATRIX = """\
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: %d, K: %d, N: %d}
  einsums:
  - {einsum: "Z[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: Z}}
"""
WORDS = (MATRIX % (240, 240, 240)).replace("All: 8", "All: 32")  # of elements
SQUARE = MATRIX % (10080, 10080, 10080)
CHAIN = """\
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: 1009, K: 769, N: 1021, P: 509}
  einsums: ["Y[m, n] = A[m, k] * B[k, n]", "Z[m, p] = Y[m, n] * C[n, p]"]
"""
EIGHT = """\
workload:
  bits_per_value: {All: 8}
  rank_sizes: {A: 24, B: 30, C: 36, D: 20, E: 18, F: 12, G: 60, H: 48}
  einsums: ["Z[a, b, c, d] = X[a, b, e, f, g] * Y[c, d, e, f, h] * W[g, h]"]
"""


def chain(count: int) -> str:
    """Return a workload of so many products, each of which reads the result of the one before."""
    ranks = ", ".join(f"N{number}: 64" for number in range(count + 1))
    products = "".join(
        f'  - "T{n + 1}[m, n{n + 1}] = T{n}[m, n{n}] * W{n}[n{n}, n{n + 1}]"\n'
        for n in range(count)
    )
    head = "workload:\n  bits_per_value: {All: 8}\n"
    return f"{head}  rank_sizes: {{M: 64, {ranks}}}\n  einsums:\n{products}"


FRONT = ["energy", "latency", "usage"]


@dataclass(frozen=True)
class Case:
    """A search: a name, an architecture, a workload (name or text), variables, options."""

    name: str
    architecture: str
    workload: str
    options: Mapping[str, Any]
    stage: int | None = None
    program: str = SEARCH

    def row(self, limits: Mapping[str, float]) -> dict[str, Any]:
        """Run the search in a process of its own."""
        variables = {} if self.stage is None else {"STAGE": self.stage}
        texts = [json.dumps(variables), json.dumps({**self.options, **limits})]
        command = [sys.executable, "-c", self.program, self.architecture, self.workload, *texts]
        caching = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        caching["TILEWRIGHT_KNOWN"] = "off"  # nothing is known of earlier searches
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=caching)
        row: dict[str, Any] = json.loads(done.stdout)
        return row


CASES = (
    Case("one Einsum, 10080³, TPU", "tpu_v4i", SQUARE, {}),
    Case("one Einsum of eight rank variables", "edge_npu", EIGHT, {}),
    Case("a rank of 18 digits", "edge_npu", MATRIX % (10**18 - 11, 64, 64), {}),
    Case("uneven, 1009 x 769 x 1021", "edge_npu", MATRIX % (1009, 769, 1021), {"uneven": "all"}),
    Case("uneven, GPU-like", "gpu_like", MATRIX % (1009, 769, 1021), {"uneven": "all"}),
    Case("uneven and fused", "edge_npu", CHAIN, {"uneven": "all"}),
    Case("uneven and fused, BERT", "edge_npu", "bert_base", {"uneven": "all"}),
    Case("fused, bottleneck", "edge_npu", "resnet50_bottleneck", {}, 2),
    Case("fused, Llama 3 8B", "edge_npu", "llama3_8b_prefill", {}),
    Case("fused, edp, Llama 3 8B", "gpu_like", "llama3_8b_prefill", {"objective": "edp"}),
    Case("fused, latency, Mamba-2", "gpu_like", "mamba2_block", {"objective": "latency"}),
    Case("fused, ResNet-50", "edge_npu", "resnet50", {}),
    Case("fused, MobileNetV2", "gpu_like", "mobilenet_v2", {}),
    Case("fused, a chain of 100 Einsums", "eyeriss_like", chain(100), {}),
    Case("fused, a chain of 1,000 Einsums", "edge_npu", chain(1000), {}),
    Case("a formula, BERT", "edge_npu", "bert_base", {"objective": "energy * latency**2"}),
    Case("front of three, one Einsum", "edge_npu", SQUARE, {"front": FRONT}),
    Case("front of two, bottleneck", "edge_npu", "resnet50_bottleneck", {"front": FRONT[:2]}, 2),
    Case("front of three, bottleneck", "edge_npu", "resnet50_bottleneck", {"front": FRONT}, 2),
    Case("front of three, Llama 3 8B", "gpu_like", "llama3_8b_prefill", {"front": FRONT}),
    Case("annealing, BERT", "edge_npu", "bert_base", {"method": "annealing"}),
    Case("accelforge, bottleneck", "edge_npu", "resnet50_bottleneck",
         {"conventions": "accelforge"}, 2),
    Case("grid, attention", "wafer_grid", "attention_head", {}, program=ON_MACHINE),
    Case("grid, 240³", "wafer_grid", WORDS, {}, program=ON_MACHINE),
    Case("grid, front, 240³", "wafer_grid", WORDS, {"front": FRONT[:2]},
         program=ON_MACHINE),
)  # fmt: skip


def cell(row: Mapping[str, Any] | None, amount: str, exceeds: bool) -> str:
    """Return a cell of a table; one beyond the tolerance is bold."""
    if row is None:
        return "not run"
    if row.get("kind") == "executed":
        return f"**{amount}**" if exceeds else amount
    gap = "optimal" if row.get("kind") == "optimal" else _gap(row)
    amount = f"**{amount}**" if exceeds else amount
    return f"{amount}, {gap}{' †' if row.get('interrupted') else ''}"


def _gap(row: Mapping[str, Any]) -> str:
    if "error" in row:
        return str(row["error"])
    if row["gap"] is None:
        return "no bound"
    return f"{100 * row['gap']:.2g} %" if row["gap"] < 1 else f"{1 + row['gap']:.2g} x"


def table(
    rows: Mapping[str, Mapping[str, Any]], unit: str, limits: Sequence[float]
) -> tuple[str, list[str]]:
    """Return a line for each search, a cell for each limit, and what is beyond the tolerance."""
    measure, size, digits = {"s": ("seconds", 1.0, 2), "MB": ("bytes", 1e6, 0)}[unit]
    lines, beyond = [], []
    for case in CASES:
        if unit == "MB" and case.program != SEARCH:
            continue
        lines.append(f"| {case.name} |")
        for limit in limits:
            row = rows.get(f"{case.name} {limit / size:g} {unit}")
            exceeds = row is not None and row[measure] > TOLERANCE * limit
            beyond += [f"{case.name}, {limit / size:g} {unit}"] if exceeds else []
            amount = f"{row[measure] / size:.{digits}f} {unit}" if row else ""
            lines[-1] += f" {cell(row, amount, exceeds)} |"
    return "\n".join(lines), beyond


def page(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page; a search without a row is shown as not run."""
    by_time, late = table(rows, "s", BUDGETS)
    by_memory, large = table(rows, "MB", MEMORIES)
    timed, sized = (sum(name.endswith(unit) for name in rows) for unit in (" s", " MB"))
    return PAGE.format(
        machine=f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        base=60, timed=timed, in_time=timed - len(late), sized=sized, in_size=sized - len(large),
        misses=f"\nBeyond: {'; '.join(late + large)}." if late + large else "",
        budgets=" | ".join(f"{budget:g} s" for budget in BUDGETS), rules="---|" * len(BUDGETS),
        memories=" | ".join(f"{memory / 1e6:g} MB" for memory in MEMORIES),
        memory_rules="---|" * len(MEMORIES), longest=LONGEST,
        by_time=by_time, by_memory=by_memory,
    ).replace("||", "|")  # fmt: skip


def main() -> None:
    """Run the searches that have no row yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--again", action="store_true")
    given = parser.parse_args()
    path = PAGES / "limits.json"
    rows: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for case in CASES:
        limits = {f"{case.name} {budget:g} s": {"budget": budget} for budget in BUDGETS}
        for memory in MEMORIES if case.program == SEARCH else ():
            limits[f"{case.name} {memory / 1e6:g} MB"] = {"max_memory": memory, "budget": LONGEST}
        for name, limit in limits.items():
            if given.only in name and (given.again or name not in rows):
                rows[name] = case.row(limit)
                print(name, rows[name], flush=True)
                kept = {each: rows[each] for each in sorted(rows)}
                text = json.dumps(kept, indent=1, ensure_ascii=False)
                path.write_text(text + "\n", encoding="utf-8")
    (PAGES / "limits.md").write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
