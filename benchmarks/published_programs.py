"""Compute docs/validation/published-programs.md: published programs, reached by search.

    python benchmarks/published_programs.py [--only ROW …]

Each row is a search with the machine in the loop over the mapspace of a grid, under the constraints
that the row names; nothing is written by hand. Rows that are not asked for keep their figures
(published-programs.json). The largest take minutes and gigabytes.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tilewright.arch.files.source import Document, load_document
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.search.grid_mapping import GridMapping, GridRequest, map_on_grid

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "validation" / "published-programs.md"
FIGURES = PAGE.with_suffix(".json")
HARDWARE = ROOT / "studies" / "hardware" / "wafer_grid.yaml"
GEMV = "Y[m] = A[m, k] * X[k]"
PRODUCT = "C[m, n] = A[m, k] * B[k, n]"
WAFER = {"M": 11520, "K": 11520, "N": 11520}
OUTSIDE = "tensors: {keep: ~(Persistent | Intermediates), may_keep: All}"
"""What the memory outside of the shipped grid holds."""
STAYING = "tensors: {keep: ~(Persistent | Intermediates | Outputs), may_keep: ~Outputs}"
HEAD = """\
# Published programs, reached by search

Written by `python benchmarks/published_programs.py`; do not edit. Each row is a search with the
machine in the loop (theory/grid.md §7, §9) on the profile named, its answer executed on numbers and
compared with numpy; where a run would take too long, the cycles lie between two bounds (§7 there),
and the same tiles were executed on 8 x 8 elements. Weights are in the elements before the run, all
else enters and leaves over the border and is counted. "executed": candidates that ran; "timed":
those whose exact cycles follow from a smaller grid (theory/engines.md §11); "bounded": those whose
cycles lie between two bounds; "gap": how far the answer may be from the optimum of the mapspace
under the constraints; "s", "GB": processor time and memory of the search.

"""


@dataclass(frozen=True)
class Row:
    """One published program: its Einsums, sizes, grid, machine, and what the search is limited to.

    `published`: what is published or wanted of it, in words. `stays`: whether results stay in the
    elements, as no memory outside takes them.
    """

    name: str
    einsums: tuple[str, ...]
    sizes: Mapping[str, int]
    grid: int
    machine: str
    bits: int
    published: str
    constraints: Mapping[str, str] = field(default_factory=dict)
    persistent: str = "A"
    executions: int = 4
    stays: bool = False


ROWS = (
    Row("GEMV 4K, f16, 128 x 128", (GEMV,), {"M": 4096, "K": 4096}, 128, "wse2-sdk-sim", 16,
        "–", executions=40),
    Row("GEMV 16K, f16, 512 x 512", (GEMV,), {"M": 16384, "K": 16384}, 512, "wse2-sdk-sim", 16,
        "WaferLLM: 1.20 µs, elements and clock not published; wanted: 1,700 cycles",
        executions=40),
    Row("GEMV 32K, f16, 720 x 720", (GEMV,), {"M": 32768, "K": 32768}, 720, "wse2-sdk-sim", 16,
        "WaferLLM: 2.03 µs, elements and clock not published; wanted: 2,800 cycles",
        executions=40),
    Row("product, 16 x 16 tiles, f32, 8 x 8", (PRODUCT,), {"M": 128, "K": 128, "N": 128}, 8,
        "wse3-sdk-sim", 32, "MeshGEMM on 720 x 720: over 0.7 of the peak of 1",
        {"x": "n", "y": "m", "tile": "k"}, persistent="Nothing"),
    Row("product, 32 x 32 tiles, f32, 8 x 8", (PRODUCT,), {"M": 256, "K": 256, "N": 256}, 8,
        "wse3-sdk-sim", 32, "–", {"x": "n", "y": "m", "tile": "k"}, persistent="Nothing"),
    Row("product, 16 x 16 tiles, f32, 16 x 16", (PRODUCT,), {"M": 256, "K": 256, "N": 256}, 16,
        "wse3-sdk-sim", 32, "–", {"x": "n", "y": "m", "tile": "k"}, persistent="Nothing",
        executions=8),
    Row("product, 16 x 16 tiles, f32, 32 x 32", (PRODUCT,), {"M": 512, "K": 512, "N": 512}, 32,
        "wse3-sdk-sim", 32, "–", {"x": "n", "y": "m", "tile": "k"}, persistent="Nothing",
        executions=2),
    Row("product, 16 x 16 tiles, f32, 64 x 64", (PRODUCT,), {"M": 1024, "K": 1024, "N": 1024}, 64,
        "wse3-sdk-sim", 32, "MeshGEMM on 720 x 720: over 0.7 of the peak of 1",
        {"x": "n", "y": "m", "tile": "k"}, persistent="Nothing", executions=2),
    Row("product, 16 x 16 tiles, f32, 720 x 720, result stays", (PRODUCT,), WAFER, 720,
        "wse3-sdk-sim", 32, "MeshGEMM: over 0.7 of the peak of 1",
        {"x": "n", "y": "m", "tile": "k"}, persistent="Nothing", executions=400, stays=True),
    Row("product, 16 x 16 tiles, f32, 720 x 720, result leaves", (PRODUCT,), WAFER, 720,
        "wse3-sdk-sim", 32, "–",
        {"x": "n", "y": "m", "tile": "k"}, persistent="Nothing", executions=400),
    Row("product, any mapping, f32, 720 x 720, result stays", (PRODUCT,), WAFER, 720,
        "wse3-sdk-sim", 32, "MeshGEMM: over 0.7 of the peak of 1",
        persistent="Nothing", executions=400, stays=True),
)  # fmt: skip


STANDS = """\

## What is wanted and not reached

- *Products.* The tiles of both inputs enter over the borders and are broadcast along rows and
  columns, a part of k at a time (as SUMMA does from within). On 720 x 720 elements the search
  compares upper bounds of the cycles, for there is no proof by the pattern (the times do not
  settle), and a run of all elements would take a day. With the result left in the elements it is
  0.75 of the peak at least; over 62 channels of the south border the 132,710,400 values of the
  result leave in 2.2 of 6.1 million cycles. Without constraints other mappings, which divide k over
  elements, too, may be faster: they have no upper bounds. By shifts (Cannon's mapping on
  interleaved rings) it is 0.65, with tiles of 32 x 32 0.80 and more (shifted-products.md).
- *Reductions.* Chain, tree, two phases, generated trees, both orders of the axes and snakes are
  searched (reductions.md), two phases with two sizes of groups; any other size is a constraint. An
  all-reduce is a reduction and a multicast, or a ring whose gather half the routers forward, on at
  most 64 elements (theory/grid.md §3).
- *Borders.* Published are 60 (WSE-2) and 62 (WSE-3) channels for each of the east and west edges
  (SDK documentation, tensor streaming). Here all four sides have as many, of a word a cycle each,
  which is assumed: the 16,384 words of the vector of GEMV 32K, two f16 in each, take 274 cycles.
- *Stencil and transform.* The stencil of seven points is the study wafer_stencil, with exchanges of
  halos; a transform of Fourier with a transpose between elements is searched and executed in
  `tests/simulator/search/test_cascade_search.py` (a reshard, theory/grid.md §10).
"""


def workload_text(row: Row) -> str:
    """Return the workload of a row as a file."""
    sizes = ", ".join(f"{rank}: {size}" for rank, size in row.sizes.items())
    einsums = "\n".join(f'  - "{text}"' for text in row.einsums)
    return (
        f"workload:\n  rank_sizes: {{{sizes}}}\n  bits_per_value: {{All: {row.bits}}}\n"
        f"  persistent_tensors: {row.persistent}\n  einsums:\n{einsums}\n"
    )


def hardware(row: Row) -> Document:
    """Return the shipped grid; its memory outside takes no results if those of a row stay."""
    text = HARDWARE.read_text(encoding="utf-8")
    assert text.count(OUTSIDE) == 1
    return load_document(HARDWARE.name, text=text.replace(OUTSIDE, STAYING) if row.stays else text)


def measured(row: Row) -> dict[str, Any]:
    """Search and execute a row; return its figures."""
    begun = time.process_time()
    arch = load_arch(hardware(row), variables={"GridX": row.grid, "GridY": row.grid})
    workload = load_workload(load_document("published.yaml", text=workload_text(row)))
    constraints = {e.name: GridConstraints.of(dict(row.constraints)) for e in workload.einsums}
    answer = map_on_grid(
        arch,
        workload,
        GridRequest(
            settings=ExecutionSettings(machine=row.machine),
            constraints=constraints,
            most_executions=row.executions,
        ),
    )
    work = sum(einsum.operations for einsum in workload.einsums)
    cycles, latency, bound = cycles_of(answer)
    runs = () if answer.run is None else answer.run.einsums
    elements = max((run.elements for run in runs), default=row.grid**2)
    return {
        "cycles": cycles,
        "is_run": answer.run is not None,
        "latency": latency,
        "bound": bound,
        "efficiency": work / (elements * cycles),
        "small_cycles": sum(run.cycles for run in answer.small_runs.values()),
        "executed": answer.certificate.executed,
        "timed": answer.certificate.timed,
        "enclosed": answer.certificate.enclosed,
        "gap": answer.gap,
        "optimal": answer.certificate.is_optimal,
        "mapping": str(answer.mapping),
        **used(begun),
    }


def cycles_of(answer: GridMapping) -> tuple[int, float, int]:
    """Return the cycles of an answer, their seconds, and the lower bound of its mapping.

    Those that no run goes above if it did not run.
    """
    run, known = answer.run, answer.prediction
    if run is not None:
        return run.cycles, run.latency, run.lower_bound_cycles
    assert known is not None
    assert known.cycles_at_most is not None
    return known.cycles_at_most, known.cycles_at_most / known.clock_hz, known.lower_bound_cycles


def used(begun: float) -> dict[str, float]:
    """Return what this process has used, its time since `begun`."""
    return {
        "seconds": time.process_time() - begun,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def lines(figures: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table, then the mappings."""
    names = "program", "machine", "cycles", "time", "published, wanted", "MAC", "executed", "timed"
    yield f"| {' | '.join(names)} | bounded | gap | s | GB |"
    yield "|---|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|"
    rows = [row for row in ROWS if row.name in figures]
    for row in rows:
        f = figures[row.name]
        gap = "optimal" if f["optimal"] else f"{f['gap']:.1%}"
        is_run = f.get("is_run", True)
        cycles = f"{f['cycles']:,}" if is_run else f"{f['bound']:,} to {f['cycles']:,}"
        rate = f"{f['efficiency']:.2f}"
        if not is_run:
            rate += f" to {f['efficiency'] * f['cycles'] / f['bound']:.2f}"
        yield (
            f"| {row.name} | {row.machine} | {cycles} | {'' if is_run else '<= '}"
            f"{f['latency'] * 1e6:.2f} µs "
            f"| {row.published} | {rate} | {f['executed']} | {f['timed']} "
            f"| {f.get('enclosed', 0)} | {gap} "
            f"| {f['seconds']:.0f} | {f['gigabytes']:.1f} |"
        )
    yield ""
    yield (
        '"MAC": multiply-adds per element and cycle. Constraints: rank variables over columns '
        "and rows, and what passes in tiles."
    )
    for row in rows:
        yield f"\n## {row.name}\n\n`{json.dumps(dict(row.constraints))}`\n"
        yield "\n".join(f"    {line}" for line in figures[row.name]["mapping"].splitlines())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="names of rows, or parts of them; none: all")
    only = parser.parse_args().only
    figures = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    for row in ROWS:
        if only is None or any(part in row.name for part in only):
            print(row.name, flush=True)
            with ProcessPoolExecutor(1, get_context("spawn")) as alone:  # memory is of one row
                figures[row.name] = alone.submit(measured, row).result()
            print({k: v for k, v in figures[row.name].items() if k != "mapping"}, flush=True)
            FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(HEAD + "\n".join(lines(figures)) + "\n" + STANDS, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
