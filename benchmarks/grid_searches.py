"""Time whole searches with the machine in the loop: python benchmarks/grid_searches.py [--write].

Each is a search of a workload for the least latency, as `tilewright map --machine` runs it, in this
process, with nothing known before. --write writes the page docs/validation/grid-searches.md.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from candidate_speed import compile_fast_engine
from engine_speed import cpu

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.search.grid_mapping import GridMapping, GridRequest, map_on_grid

ROOT = Path(__file__).resolve().parents[1]
HARDWARE = ROOT / "studies" / "hardware" / "wafer_grid.yaml"
PAGE = ROOT / "docs" / "validation" / "grid-searches.md"


class Case(NamedTuple):
    """A workload: what it is, its rank sizes, tensors that stay in the elements, its Einsums."""

    what: str
    sizes: dict[str, int]
    persistent: str
    einsums: tuple[str, ...]


GEMV = Case(
    "matrix times vector", {"M": 1024, "K": 1024}, "A", ("Z[m] = A[m, k] * B[k]",)
)  # fmt: skip
SMALL = Case(
    "product of matrices", {"M": 64, "K": 64, "N": 64}, "", ("Z[m, n] = A[m, k] * B[k, n]",)
)
LARGE = SMALL._replace(sizes={"M": 256, "K": 256, "N": 256})
CONVOLUTION = Case(
    "convolution",
    {"P": 30, "Q": 30, "R": 3, "S": 3, "C": 8, "M": 8},
    "",
    ("O[m, p, q] = I[c, H: p + r, W: q + s] * F[m, c, r, s]",),
)
PERCEPTRON = Case(
    "two products, weights stay",
    {"B": 16, "D": 128, "H": 256, "E": 128},
    "W1 | W2",
    ("X[b, h] = A[b, d] * W1[d, h]", "Y[b, e] = X[b, h] * W2[h, e]"),
)
ATTENTION = Case(
    "attention without softmax's sums",
    {"M": 64, "N": 64, "D": 64, "E": 64},
    "",
    ("QK[m, n] = Q[m, d] * K[n, d]", "S[m, n] = exp(QK[m, n])", "Z[m, e] = S[m, n] * V[n, e]"),
)
RESIDUAL = Case("block of ResNet-18 (conv2_x)", {}, "", ("resnet18_block",))
INVERTED = Case("block of MobileNetV2", {}, "", ("mobilenet_v2_block",))
SHIPPED = ROOT / "studies" / "workloads"
"""Those without rank sizes name a workload that is shipped."""
CASES = [
    *((GEMV, side) for side in (8, 16, 32)),
    *((SMALL, side) for side in (8, 16, 32)),
    *((LARGE, side) for side in (8, 16)),
    *((CONVOLUTION, side) for side in (4, 8)),
    *((PERCEPTRON, side) for side in (8, 16, 32)),
    (ATTENTION, 16),
    *((INVERTED, side) for side in (16, 32)),
    *((RESIDUAL, side) for side in (16, 32)),
]
NETWORKS = [("bert_base", 16, 120), ("resnet18", 16, 240), ("mobilenet_v2", 16, 240)]
"""Shipped networks, columns and rows of the grid, and seconds that a search may take."""


class Row(NamedTuple):
    """A search: its case, columns and rows of the grid, the answer, and seconds of a processor."""

    case: Case
    side: int
    answer: GridMapping
    seconds: float


def workload_of(case: Case) -> Workload:
    """Return the workload of a case, of f16."""
    if not case.sizes:
        return load_workload(SHIPPED / f"{case.einsums[0]}.yaml", variables={"BITS": 16})
    persistent = f"  persistent_tensors: {case.persistent}\n" if case.persistent else ""
    text = (
        f"workload:\n  rank_sizes: {{{', '.join(f'{k}: {n}' for k, n in case.sizes.items())}}}\n"
        f"  bits_per_value: {{All: 16}}\n{persistent}  einsums: {list(case.einsums)}\n"
    )
    return load_workload(load_document("case.yaml", text=text))


def search(case: Case, side: int) -> Row:
    """Search for the mapping of a case with the least latency."""
    workload = workload_of(case)
    arch = load_arch(HARDWARE, variables={"GridX": side, "GridY": side})
    begun = time.process_time()
    answer = map_on_grid(arch, workload, GridRequest())
    return Row(case, side, answer, time.process_time() - begun)


def page(rows: list[Row]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# Whole searches on a grid\n"
    yield "Written by `python benchmarks/grid_searches.py --write`; do not edit.\n"
    yield (
        "Searches for the mapping of the least latency on the shipped grid (`wafer_grid`) with the "
        "machine in the loop, of f16. Seconds of a processor, one process, nothing known before "
        f"but the compiled engine; {cpu()}, Python {platform.python_version()}, load "
        f"{os.getloadavg()[0]:.1f} at the end. Excluded: mappings that a lower bound shows to be "
        "no better. Most of the time goes to bounds of families of mappings, and to the runs.\n"
    )
    yield "| workload | elements | seconds | executed | excluded | answer |"
    yield "|---|---:|---:|---:|---:|---|"
    for case, of_case in groupby(rows, key=lambda row: row.case):
        sizes = " ".join(f"{name} {size}" for name, size in case.sizes.items())
        what = f"{case.what}, {sizes}" if sizes else case.what
        for row in of_case:
            certificate = row.answer.certificate
            proof = "optimal" if row.answer.gap == 0 else f"gap {100 * row.answer.gap:.2g} %"
            yield (
                f"| {what} | {row.side} x {row.side} | {row.seconds:.1f} | "
                f"{certificate.executed:,} | {certificate.excluded:,} | {proof}, "
                f"{row.answer.value * 1e6:,.3g} us |"
            )


def network_row(name: str, side: int, budget_s: int) -> str:
    """Search for the mapping of a network within a budget; return its row of the page."""
    workload = load_workload(SHIPPED / f"{name}.yaml", variables={"BITS": 16})
    arch = load_arch(HARDWARE, variables={"GridX": side, "GridY": side})
    settings = ExecutionSettings(threads=os.cpu_count() or 1)
    begun = time.perf_counter()
    answer = map_on_grid(arch, workload, GridRequest(settings=settings, budget_s=budget_s))
    seconds, certificate = time.perf_counter() - begun, answer.certificate
    return (
        f"| {name} | {side} x {side} | {len(workload.einsums)} | {budget_s} | {seconds:.0f} | "
        f"{certificate.executed:,} | {certificate.excluded:,} | "
        f"{'on numbers' if answer.run else 'not executed'}, gap {100 * answer.gap:.2g} %, "
        f"{answer.value * 1e3:,.3g} ms |"
    )


def network_lines() -> Iterator[str]:
    """Yield the lines of the page about networks."""
    yield "\n## Networks in a limited time\n"
    yield (
        "The same for shipped networks with a budget, in seconds on the clock, on "
        f"{os.cpu_count()} processors. On numbers: every Einsum of the best mapping was executed "
        "on the results of the others, and its result equals numpy. The gap is to the bound of all "
        "mappings, those between which tensors stay in the elements included.\n"
    )
    yield "| network | elements | Einsums | budget | seconds | executed | excluded | answer |"
    yield "|---|---:|---:|---:|---:|---:|---:|---|"
    yield from (network_row(*case) for case in NETWORKS)


def main() -> None:
    """Time the searches, and print or write the page."""
    compile_fast_engine()
    search(SMALL, 4)  # what the first search of a process compiles and imports
    search(PERCEPTRON, 4)
    rows = [search(case, side) for case, side in CASES]
    text = "\n".join([*page(rows), *network_lines()]) + "\n"
    if "--write" in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
