"""What a sweep costs against a single design, and what a design's time consists of; write its page.

    python benchmarks/sweep.py [--designs 24] [--write docs/validation/sweeps.md]

Designs are drawn from two spaces of 1,000 and more designs over energies, sizes of buffers and
fanouts. Each is evaluated as a trial of a study does it, in one process.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.dse.models.evaluator import Attempt, Evaluator, attempt
from tilewright.dse.models.evaluators import make_evaluator
from tilewright.dse.study.study import StudySpec
from tilewright.dse.study.study_loading import load_study

GOAL = 20
SWEEP = 1000
SPACES: Mapping[str, str] = {
    "tpu_v4i, projections of GPT-3": """\
arch: {file: tpu_v4i}
workload: {file: gpt3_6_7b_projections}
space:
  arch.MainMemory.actions.read.energy: {values: [4e-12, 5e-12, 6e-12, 7e-12, 8e-12]}
  arch.GlobalBuffer.size: {pow2: [2**25, 2**31]}
  arch.LocalBuffer.size: {pow2: [2**21, 2**26]}
  arch.ArrayFanout.spatial.reuse_input.fanout: {values: [32, 64, 128]}
  arch.ArrayFanout.spatial.reuse_output.fanout: {values: [64, 128]}
""",
    "edge_npu, one product of matrices": """\
arch: {file: edge_npu}
workload: {file: product.yaml}
space:
  arch.DRAM.actions.read.energy: {values: [128e-12, 192e-12, 256e-12, 320e-12, 384e-12]}
  arch.variables.GlbKiB: {pow2: [64, 1024]}
  arch.variables.RegBytes: {pow2: [128, 1024]}
  arch.variables.PEX: {values: [8, 16, 32]}
  arch.variables.PEY: {values: [8, 16, 32, 64]}
""",
}
PRODUCT = """\
workload:
  rank_sizes: {M: 256, K: 512, N: 512}
  bits_per_value: {All: 8}
  einsums:
  - einsum: "C[m, n] = A[m, k] * B[k, n]"
    renames: {input: A, weight: B, output: C}
"""
PARTS: Mapping[str, tuple[str, str]] = {
    "a first mapping without fusion": ("api.py", "_first_mapping"),
    "fused search": ("fused_search.py", "solve_fused"),
    "of it: programs compiled and bounded": ("pmapping_builder.py", "_compile"),
    "of it: labels": ("inner_search.py", "solve"),
    "search of one Einsum": ("solver.py", "solve"),
    "verification": ("verified_answer.py", "verified_answer"),
}


HEAD = """\
name: sweep
question: What does a sweep cost?
seed: 1
model: analytical
objectives: [{metric: energy}, {metric: latency}]
search: {sampler: random, trials: 1000, batch: 50}
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """Designs of one space: `first` in a fresh process, the `attempts`, and seconds of each part.

    Seconds are time of a processor.
    """

    spec: StudySpec
    first: float
    attempts: Sequence[Attempt]
    seconds: Sequence[float]
    parts: Mapping[str, float]


def sampled(text: str, designs: int) -> Sample:
    """Evaluate some designs of a space, half of them under a profiler."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.yaml"
        path.write_text(HEAD + text, encoding="utf-8")
        (Path(folder) / "product.yaml").write_text(PRODUCT, encoding="utf-8")
        spec = load_study(path)
        model: Evaluator = make_evaluator(spec)
        draw = random.Random(1)
        numbers = [draw.randrange(spec.space.size) for _ in range(designs + 1)]
        points = [spec.space.point(spec.space.nth(number)) for number in numbers]
        first = _timed(model, points[0])[1]
        pairs = [_timed(model, point) for point in points[1:]]
        profile = cProfile.Profile()
        profile.enable()
        for point in points[1 : 1 + designs // 2]:
            attempt(model, point)
        profile.disable()
    return Sample(spec, first, [a for a, _ in pairs], [s for _, s in pairs], _parts(profile))


def _timed(model: Evaluator, point: Any) -> tuple[Attempt, float]:
    start = time.process_time()
    answer = attempt(model, point)
    return answer, time.process_time() - start


def _parts(profile: cProfile.Profile) -> dict[str, float]:
    """Return the share of the time of each part, with what it calls."""
    stats: Any = pstats.Stats(profile)
    times = {(Path(file).name, name): entry[3] for (file, _, name), entry in stats.stats.items()}
    whole = times["evaluator.py", "attempt"]
    return {words: times.get(place, 0.0) / whole for words, place in PARTS.items()}


def section(name: str, sample: Sample) -> str:
    """Return the section of one space."""
    mean = sum(sample.seconds) / len(sample.seconds)
    proven = sum(a.outcome.proof == "optimal" for a in sample.attempts)
    feasible = sum(a.outcome.status == "feasible" for a in sample.attempts)
    parts = [f"| {words} | {100 * share:.0f} % |" for words, share in sample.parts.items() if share]
    low, high = min(sample.seconds), max(sample.seconds)
    text = SECTION.format(
        name=name, size=sample.spec.space.size, count=len(sample.attempts), feasible=feasible,
        proven=proven, mean=mean, low=low, high=high, first=sample.first, sweep=SWEEP,
        whole=SWEEP * mean, goal=GOAL * mean,
    )  # fmt: skip
    return "\n".join([text, *parts, ""])


SECTION = """\
## {name}

{size:,} designs, of which {count} drawn at random were evaluated:
{feasible} are feasible, {proven} proven optimal. A design takes {mean:.2f} s ({low:.2f} to
{high:.2f} s; the first in a process {first:.2f} s), so {sweep:,} designs take {whole:.0f} s; the
goal would be {goal:.0f} s.

| part of a design's time | share |
|---|---|"""


def main() -> None:
    """Evaluate the designs and print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--designs", type=int, default=16)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    sections = [section(name, sampled(text, arguments.designs)) for name, text in SPACES.items()]
    page = PAGE + "\n".join(sections)
    if arguments.write:
        arguments.write.write_text(page, encoding="utf-8")
    print(page)


PAGE = """\
# What a sweep costs

Written by `python benchmarks/sweep.py --write docs/validation/sweeps.md`. Time of a processor, one
process.

**The goal is not reached.** A sweep of 1,000 designs over energies, sizes of buffers and fanouts of
one architecture should cost at most 20 times a single design, every design proven. Designs share
nothing today but what is loaded and compiled once in a process, and whole outcomes: a design that
was tried before in a run, or in a run that `--reuse` names, is not evaluated again.

Two ways to share searches were tried, and not kept.

- *Neighbours as proofs.* A mapping that is best with larger memories and fits into the smaller ones
  is best there; one that is best at all corners of a box of energies is best inside. Both hold, but
  best mappings differ so often from one design to the next that 40 designs took 74 searches
  (measured once, when it was tried).
- *One Pareto set for all.* The front of one Einsum over energy, latency and the bits in two buffers
  takes 9 to 14 s where its search takes 0.1 s, without the energies of each memory as further
  columns, and there is one for each fanout (measured once, too).

What would lead there: keep the programs of a structure, and price and bound them anew for many
designs in one pass. The parts below say how much of the time is compiled anew for each design.
Scoring, flattening and verifying alone take some 40 ms a design, twice what the goal leaves.

"""


if __name__ == "__main__":
    main()
