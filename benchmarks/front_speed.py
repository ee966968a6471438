"""Time to find whole Pareto sets of single matmuls on tpu_v4i and on variants of it.

    python benchmarks/front_speed.py --arches ../shared/data/accelforge/arches \
        [--write docs/validation/front-speed.md]

CPU seconds of `search` minus those of the same search without a front, after one call that loads
the compiled kernels; one process, one core. Beside the size of each set stand the labels that were
kept on the way, and the bits of the least and the largest usage of the global buffer on it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.result import SearchResult
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

SHAPES = (
    (64, 64, 64),
    (1024, 4096, 4096),
    (8192, 8192, 8192),
    (1000, 3000, 700),
    (16, 12288, 12288),
    (2048, 12288, 12288),
)
METRICS = (
    "energy,latency",
    "energy,latency,usage.GlobalBuffer",
    "energy,latency,usage.GlobalBuffer,usage.LocalBuffer",
)
FORMULAS = ("energy * latency**2", "energy * (1 + usage.GlobalBuffer / 1e9)")
SMALL = (("1024*1024*128*8", "1024*1024*2*8"), ("1024*1024*4*8", "64*1024*8"))
FREE = (*SMALL, (", min_usage: 1", ""))
PAGE = """# Speed of Pareto sets

Written by `python benchmarks/front_speed.py --arches ../shared/data/accelforge/arches --write
docs/validation/front-speed.md`. One process, one core, CPU seconds of the front or the formula
alone (two calls of `search`, with it and without it), compiled kernels loaded. `tpu_v4i` is the
file of AccelForge 1.0.467; `small` has a global buffer of 2 MiB and local buffers of 64 KiB; `free`
also drops its min_usage. AccelForge has no such set to compare with: its Pareto mapping keeps
mappings up to a tolerance and was not timed here.

| arch | M, K, N | metrics or formula | points | labels | seconds |
|---|---|---|---|---|---|
"""


def main() -> None:
    """Run the cases; print the table, and write the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arches", type=Path, required=True)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--small-only", action="store_true", help="only shapes of a few seconds")
    given = parser.parse_args()
    text = (given.arches / "tpu_v4i.yaml").read_text(encoding="utf-8")
    lines = []
    for name, changes in (("tpu_v4i", ()), ("small", SMALL), ("free", FREE)):
        design = load_arch(_changed(text, changes))
        for shape in SHAPES[:2] if given.small_only else SHAPES:
            for line in rows(name, design, shape):
                print(line, flush=True)
                lines.append(line)
    if given.write is not None:
        given.write.write_text(PAGE + "\n".join(lines) + "\n", encoding="utf-8")
        print(f"written: {given.write}", file=sys.stderr)


def _changed(text: str, changes: tuple[tuple[str, str], ...]) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def rows(name: str, design: Arch, shape: tuple[int, int, int]) -> list[str]:
    """Return the lines of one shape."""
    work = matmul(*shape)
    size = ", ".join(map(str, shape))

    def plain(**more: object) -> SearchResult:
        return search(design, work, conventions="accelforge", **more)  # type: ignore[arg-type]

    plain()
    base, first = timed(plain)
    found = []
    for metrics in METRICS if name == "tpu_v4i" else METRICS[:2]:
        asked = metrics.split(",")
        seconds, result = timed(lambda asked=asked: plain(front=asked))  # type: ignore[misc]
        labels = result.statistics.labels - first.statistics.labels
        short = metrics.replace("usage.GlobalBuffer", "global").replace(
            "usage.LocalBuffer", "local"
        )
        assert result.front_proof is not None
        points = f"{len(result.front)}{'' if result.front_proof.whole else ' (not whole)'}"
        found.append((short, points, labels, seconds - base))
    for formula in FORMULAS:
        seconds, result = timed(lambda formula=formula: plain(objective=formula))  # type: ignore[misc]
        found.append((f"`{formula}`", result.certificate.kind, result.statistics.labels, seconds))
    return [f"| {name} | {size} | {a} | {b} | {c} | {d:.3f} |" for a, b, c, d in found]


def timed(run: Callable[[], SearchResult]) -> tuple[float, SearchResult]:
    """Return the CPU seconds of one call, and what it returned."""
    began = time.process_time()
    result = run()
    return time.process_time() - began, result


def matmul(m: int, k: int, n: int) -> Workload:
    """Return one matmul with 8-bit values."""
    return load_workload(
        f"workload:\n  bits_per_value: {{All: 8}}\n  rank_sizes: {{M: {m}, K: {k}, N: {n}}}\n"
        '  einsums:\n  - einsum: "Z[m, n] = A[m, k] * B[k, n]"\n'
        "    renames: {input: A, weight: B, output: Z}\n"
    )


if __name__ == "__main__":
    main()
