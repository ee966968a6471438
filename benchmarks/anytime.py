"""Time when a search has its first mapping and when its gap is 5 %; write the page of it.

    python benchmarks/anytime.py [--limit 60] [--again | --only "edge_npu mlp4" …] [--earlier]

Blocks of ResNet-50, MobileNetV2, BERT and Llama 3 and a perceptron are mapped onto five
architectures, each in a process of its own with a budget of LIMIT seconds of a processor, which
count alike on a busy machine. Rows are kept in docs/validation/anytime.json, so that the command
can be stopped and run again; --again runs all anew, --only those that are named. --earlier marks
the rows that are there as those of an earlier version of the search.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gallery import PAGES, STAGES, Pair

from tilewright.arch.quantities import with_unit

ARCHITECTURES = ("edge_npu", "tpu_v4i", "eyeriss_like", "simba_like", "gpu_like")
WORKLOADS = (
    "resnet50_bottleneck",
    "bert_base",
    "llama3_8b_prefill",
    "mlp4",
    "mobilenet_v2_block",
)
CLOSE = 0.05
SEARCH = """
import json, resource, sys, threading, time
time.monotonic = time.process_time
from tilewright.mapper import search
from tilewright.mapper.searches.result import Progress
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.studies import path_of

architecture, workload, stage, limit = sys.argv[1:5]
began, told = time.process_time(), {"first": None, "close": None}

def note(step):
    seconds = time.process_time() - began
    if not (step.doing.startswith("first mapping") or step.doing == "fused mappings"):
        return  # of one Einsum
    if step.value < float("inf") and told["first"] is None:
        told["first"] = seconds
    if step.value <= CLOSE * step.lower_bound and told["close"] is None:
        told["close"] = seconds

variables = {} if stage == "-" else {"STAGE": int(stage)}
work = load_workload(path_of("workloads", workload), variables=variables)
result = search(
    path_of("hardware", architecture), work, budget=float(limit), progress=note
)
proof, seconds = result.certificate, time.process_time() - began
if proof.value <= CLOSE * proof.lower_bound:
    told["close"] = told["close"] or seconds
told["first"] = told["first"] or seconds
print(json.dumps({**told, "energy": proof.value, "kind": proof.kind, "gap": proof.gap,
    "on_chip": len(result.on_chip), "einsums": len(work.einsums), "seconds": seconds,
    "limit": float(limit),
    "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
""".replace("CLOSE", str(1 + CLOSE))
PAGE = """\
# When an answer arrives

Written by

    python benchmarks/anytime.py

({machine}). Each row is one search for the least energy, in a process of its own, with
the budget of its row, in seconds of a processor: the machine was shared with other work. Such
seconds are worth less where many programs share processors and caches, and a search then gets less
far. {budgets} "first": seconds until there is some mapping, from
the call of `search` on; "5 %": until the mapping is proven to be within 5 % of the optimum (–: not
within the budget); "s": until the end, with the check of the answer. "on chip": tensors that
Einsums exchange without the outermost memory. First mapping: after {first:.1f} s at most. Within
5 %: {close} of {count}; proven: {proven}{open}.

Where a gap is left, there are two reasons. The lower bound begins with what each Einsum costs
by itself, which does not see that tensors kept on chip share one memory with those of other
Einsums; windows of several Einsums see it ([theory](../theory/fusion.md), §6.4), but their limits
rise step by step, and each step takes longer. And before that, most templates of the Einsums on the
cheapest path are compiled and searched, which takes most of the time where an Einsum has many
placements or ways to use lanes, as on the GPU-like architecture. There a good mapping is
known early: leakage is much of its energy, and the first mappings are looked for near the least
latency. The note of the answer names the Einsum with most work, and the constraint that makes it
smaller.
{tables}
"""
TABLE = """
## {architecture}

| workload | Einsums | budget | energy | gap | on chip | first | 5 % | s | MB |
|---|---|---|---|---|---|---|---|---|---|
{rows}"""


def pairs() -> list[Pair]:
    """Return the pairs of the page, those of different kinds first."""
    every = [
        Pair(architecture, workload, stage)
        for workload in WORKLOADS
        for stage in STAGES.get(workload, (None,))
        for architecture in ARCHITECTURES
    ]
    last = [pair for pair in every if pair.stage is not None and pair.stage % 2]
    return [pair for pair in every if pair not in last] + last


def measure(pair: Pair, limit: float) -> dict[str, Any]:
    """Search one pair in a process of its own; the row, or {"miss": why}."""
    stage = "-" if pair.stage is None else str(pair.stage)
    command = [sys.executable, "-c", SEARCH, pair.architecture, pair.workload, stage, f"{limit:g}"]
    with tempfile.TemporaryFile() as said:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=said, check=False)
        said.seek(0)
        lines = said.read().decode().splitlines()
    if done.returncode:
        return {"miss": lines[-1] if lines else f"exit code {done.returncode}"}
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def cells(row: Mapping[str, Any]) -> list[str]:
    """Return the cells of a row behind its name."""
    if "miss" in row:
        return ["", "", "", f"missed: {row['miss']}", *[""] * 5]
    gap = "optimal" if row["kind"] == "optimal" else f"{100 * row['gap']:.2g} %"
    close = "–" if row["close"] is None else f"{row['close']:.1f}"
    times = [f"{row['first']:.1f}", close, f"{row['seconds']:.1f}", f"{row['megabytes']:.0f}"]
    energy = with_unit(row["energy"], "J")
    budget = f"{row['limit']:g}" + (" †" if row.get("earlier") else "")
    return [str(row["einsums"]), budget, energy, gap, str(row["on_chip"]), *times]


def page(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page; a pair without a row is shown as not run."""
    tables = []
    for architecture in ARCHITECTURES:
        of_architecture = sorted(
            (pair for pair in pairs() if pair.architecture == architecture), key=lambda p: p.title
        )
        lines = []
        for pair in of_architecture:
            row = rows.get(pair.name)
            shown = cells(row) if row else ["not run yet"] + [""] * 8
            lines.append(" | ".join([f"| {pair.title}", *shown]) + " |")
        tables.append(TABLE.format(architecture=architecture, rows="\n".join(lines)))
    done = [row for row in rows.values() if "miss" not in row]
    gaps = sorted(row["gap"] for row in done if row["kind"] != "optimal")
    greatest = f"; greatest gap of the others: {100 * gaps[-1]:.2g} %" if gaps else ""
    return PAGE.format(
        budgets=_budgets(done),
        machine=f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        close=sum(row["close"] is not None for row in done),
        proven=sum(row["kind"] == "optimal" for row in done),
        count=len(pairs()),
        first=max((row["first"] for row in done), default=0.0),
        open=greatest,
        tables="\n".join(tables),
    )


def _budgets(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence on how many rows have which budget."""
    limits = sorted({row["limit"] for row in rows})
    counts = [f"{sum(row['limit'] == limit for row in rows)} of {limit:g} s" for limit in limits]
    sentence = f"Budgets: {', '.join(counts)}."
    earlier = sum(bool(row.get("earlier")) for row in rows)
    if earlier:
        sentence += f"\n{earlier} rows with † are of an earlier version of the search."
    return sentence


def main() -> None:
    """Run the pairs that have no row yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_plain)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--only", nargs="+", default=[], metavar="PAIR")
    parser.add_argument("--earlier", action="store_true")
    parser.add_argument("--folder", type=Path, default=PAGES)
    given = parser.parse_args()
    path = given.folder / "anytime.json"
    rows: dict[str, dict[str, Any]] = {}
    if path.is_file() and not given.again:
        rows = json.loads(path.read_text(encoding="utf-8"))
    if given.earlier:
        rows = {name: {**row, "earlier": True} for name, row in rows.items()}
    for pair in pairs():
        if pair.name in given.only or (pair.name not in rows and not given.only):
            rows[pair.name] = measure(pair, given.limit)
            print(pair.name, *cells(rows[pair.name]), sep=" | ", flush=True)
            kept = {name: rows[name] for name in sorted(rows)}
            text = json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
            fresh = path.with_suffix(".new")
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(path)
    (given.folder / "anytime.md").write_text(page(rows), encoding="utf-8")


def _plain(prog: str) -> argparse.HelpFormatter:
    return argparse.RawDescriptionHelpFormatter(prog)


if __name__ == "__main__":
    main()
