"""What uneven tiles gain on matmuls of prime and other odd sizes on tpu_v4i, and what they take.

    python benchmarks/uneven_tiles.py [--budget 60] [--free] >> docs/uneven.md

prints a Markdown table; `--free`: without its min_usage. Times are processor time of one process,
after a first search that loads the compiled kernels; a budget counts seconds on the clock.
"""

from __future__ import annotations

import argparse
import resource
import time

from tilewright.arch.files.several import load_documents
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.dse.command.shipped import find_files
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.result import SearchResult

CASES = (
    ((7, 11, 13), "all"),
    ((197, 768, 768), "m"),
    ((4097, 768, 768), "m"),
    ((197, 197, 197), "all"),
    ((1000, 1000, 1000), "all"),
    ((4097, 4097, 4097), "all"),
    ((1021, 4093, 2039), "all"),
    ((127, 127, 127), "all"),
    ((1, 4097, 12289), "all"),
    ((8191, 8191, 8191), "all"),
)
USAGES = (
    "LocalBuffer.spatial.0.min_usage",
    "ArrayFanout.spatial.0.min_usage",
    "ArrayFanout.spatial.1.min_usage",
)
HEAD = "| M × K × N | uneven | objective | even | uneven | gain | proof | s even | s uneven |"


def matmul(m: int, k: int, n: int) -> str:
    """Write a matmul workload of 8-bit values."""
    return (
        f"workload:\n  rank_sizes: {{M: {m}, K: {k}, N: {n}}}\n  bits_per_value: {{All: 8}}\n"
        '  einsums:\n  - einsum: "Z[m, n] = A[m, k] * B[k, n]"\n'
        "    renames: {input: A, weight: B, output: Z}\n"
    )


def timed(
    arch: Arch, work: str, objective: str, uneven: str, budget: float
) -> tuple[SearchResult, float]:
    """Search, and return the processor time that it took."""
    began = time.process_time()
    names = [uneven] if uneven else []
    result = search(arch, work, objective=objective, uneven=names, budget=budget)
    return result, time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--free", action="store_true")
    given = parser.parse_args()
    budget = given.budget
    arch = load_arch(load_documents(find_files(("tpu_v4i",), "hardware")))
    arch = arch.with_values(dict.fromkeys(USAGES, 0)) if given.free else arch
    timed(arch, matmul(7, 5, 5), "edp", "m", budget)
    print(HEAD + "\n|" + "---|" * 9)
    for sizes, uneven in CASES:
        for objective in ("energy", "latency", "edp"):
            even, first = timed(arch, matmul(*sizes), objective, "", budget)
            other, second = timed(arch, matmul(*sizes), objective, uneven, budget)
            one, two = even.certificate, other.certificate
            proof = two.kind if two.kind == "optimal" else f"within {two.gap:.1%}"
            size = " × ".join(map(str, sizes))
            print(
                f"| {size} | {uneven} | {objective} | {one.value:.4g} | {two.value:.4g} |"
                f" {one.value / two.value:.3g} | {proof} | {first:.2f} | {second:.2f} |",
                flush=True,
            )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"\nPeak memory of the process: {peak:.2f} GB.")


if __name__ == "__main__":
    main()
