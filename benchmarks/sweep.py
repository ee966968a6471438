"""What a sweep costs against a single design, and what a design's time consists of; write its page.

    python benchmarks/sweep.py [--designs 1000] [--write docs/validation/sweeps.md]

Designs are drawn from three spaces of 1,000 and more designs over energies, sizes of buffers and
fanouts; those of the last one are executed on the machine. Each space has a process of its own.
Each design is evaluated as a trial of a study does it: some alone, sharing nothing with earlier
ones, then all in a sweep, with no answers of earlier runs.
"""

from __future__ import annotations

import argparse
import cProfile
import multiprocessing
import os
import pstats
import random
import struct
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilewright.dse.models.analytical import AnalyticalEvaluator
from tilewright.dse.models.design_families import KNOWN_FRONTS, NO_FAMILY
from tilewright.dse.models.evaluator import Attempt, Evaluator, attempt
from tilewright.dse.models.evaluators import make_evaluator
from tilewright.dse.report.sharing import hit_rates, total_of
from tilewright.dse.study.study import StudySpec
from tilewright.dse.study.study_loading import load_study
from tilewright.mapper.fusion.choice_programs import KNOWN_CHOICES
from tilewright.mapper.searches.shared.hit_counts import KEEPING
from tilewright.mapper.searches.shared.mapspace_programs import KNOWN
from tilewright.simulator.known.content_store import FOLDER_VARIABLE

GOAL = 20
SWEEP = 1000
ALONE = 100  # designs that are evaluated alone, spread over the sweep: the load may change
PROFILED = 40  # designs of the sweep that are evaluated once more, under a profiler
SPACES: Mapping[str, str] = {
    "tpu_v4i, projections of GPT-3": """\
model: analytical
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
model: analytical
arch: {file: edge_npu}
workload: {file: product.yaml}
space:
  arch.DRAM.actions.read.energy: {values: [128e-12, 192e-12, 256e-12, 320e-12, 384e-12]}
  arch.variables.GlbKiB: {pow2: [64, 1024]}
  arch.variables.RegBytes: {pow2: [128, 1024]}
  arch.variables.PEX: {values: [8, 16, 32]}
  arch.variables.PEY: {values: [8, 16, 32, 64]}
""",
    "wafer_grid, projections of Llama 3, executed": """\
model: simulated
machine: wse2-sdk-sim
arch: {file: wafer_grid}
workload: {file: llama_projections}
space:
  arch.SRAM.actions.read.energy: {values: [1e-12, 2e-12, 3e-12, 4e-12, 5e-12]}
  arch.Host.actions.read.energy: {values: [1e-10, 2e-10, 3e-10, 4e-10]}
  arch.Engine.actions.compute.energy: {values: [1e-12, 2e-12, 3e-12, 4e-12]}
  arch.Engine.leak_power: {values: [0, 1e-3, 2e-3]}
  arch.SRAM.size: {values: [32 KiB, 48 KiB]}
  arch.variables.GridX: {values: [4, 8, 16]}
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
    "best mapping, from the sets for all designs": ("design_families.py", "best"),
    "architecture with its knobs": ("architecture.py", "with_values"),
    "search of one Einsum": ("solver.py", "solve"),
    "of it: programs found, or compiled": ("mapspace_programs.py", "priced_programs"),
    "of it: bounds of programs": ("program_tree.py", "bounded_tree"),
    "of it: passes over labels": ("dynamic_program.py", "_pass"),
    "architecture evaluated": ("flattening.py", "flatten"),
    "verification": ("verified_answer.py", "verified_answer"),
    "key of what decides the execution": ("known_executions.py", "key"),
    "of what is known: energies of this design": ("known_executions.py", "_priced"),
}


HEAD = """\
name: sweep
question: What does a sweep cost?
seed: 1
objectives: [{metric: energy}, {metric: latency}]
search: {sampler: random, trials: 1000, batch: 50}
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """Designs of one space, each alone and all in one sweep.

    `alone`: seconds of some designs that share nothing with each other; `sweep`: of all designs,
    one after the other; `attempts`: the answers of the sweep; `parts`: shares of the time of a
    design that found all that it asked for. Seconds are time of a processor.
    """

    spec: StudySpec
    alone: Sequence[float]
    sweep: Sequence[float]
    attempts: Sequence[Attempt]
    parts: Mapping[str, float]

    @property
    def single(self) -> float:
        """Mean seconds of a design alone, in a process with everything loaded."""
        return sum(self.alone) / len(self.alone)

    @property
    def ready(self) -> float:
        """Mean seconds of a design of the sweep that found all that they asked for."""
        pairs = zip(self.attempts, self.sweep, strict=True)
        ready = [s for a, s in pairs if a.sharing[2::2] == a.sharing[3::2]]
        return sum(ready) / max(1, len(ready))

    @property
    def whole(self) -> float:
        """Seconds of SWEEP designs: as measured, the rest as if they found it."""
        return sum(self.sweep) + max(0, SWEEP - len(self.sweep)) * self.ready

    @property
    def ratio(self) -> float:
        """How often a design alone goes into SWEEP designs of the sweep."""
        return self.whole / self.single


def sampled(text: str, designs: int) -> Sample:
    """Evaluate some designs of a space alone, then all in one sweep, then some under a profiler."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.yaml"
        path.write_text(HEAD + text, encoding="utf-8")
        (Path(folder) / "product.yaml").write_text(PRODUCT, encoding="utf-8")
        spec = load_study(path)
        model: Evaluator = make_evaluator(spec)
        os.environ[FOLDER_VARIABLE] = str(Path(folder) / "known")
        numbers = random.Random(1).sample(range(spec.space.size), designs)
        points = [spec.space.point(spec.space.nth(number)) for number in numbers]
        _timed(model, points[0], shares=False)  # loads what a process needs
        single = (
            replace(model, family=NO_FAMILY) if isinstance(model, AnalyticalEvaluator) else model
        )
        _forget()
        every = -(-designs // ALONE)
        alone, pairs = list[float](), list[tuple[Attempt, float]]()
        for number, point in enumerate(points):
            pairs.append(_timed(model, point))
            if number % every == 0:
                alone.append(_alone(single, point))
        profile = cProfile.Profile()
        profile.enable()
        for point in points[-PROFILED:]:
            attempt(model, point)
        profile.disable()
    return Sample(spec, alone, [s for _, s in pairs], [a for a, _ in pairs], _parts(profile))


def _forget() -> None:
    """Forget what earlier designs left."""
    KNOWN.clear()
    KNOWN_CHOICES.clear()
    KNOWN_FRONTS.clear()


def _alone(model: Evaluator, point: Any) -> float:
    """Return the seconds of a design that shares nothing, in a copy of this process.

    What earlier designs left stays here.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, struct.pack("d", _timed(model, point, shares=False)[1]))
        os._exit(0)
    os.close(writer)
    (seconds,) = struct.unpack("d", os.read(reader, 8))
    os.close(reader)
    os.waitpid(child, 0)
    return float(seconds)


def _timed(model: Evaluator, point: Any, *, shares: bool = True) -> tuple[Attempt, float]:
    if not shares:
        _forget()
    KEEPING.answers = shares
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
    answers = [attempt.outcome for attempt in sample.attempts]
    sharing = total_of(attempt.sharing for attempt in sample.attempts)
    text = SECTION.format(
        name=name, size=sample.spec.space.size, count=len(answers), sweep=SWEEP, goal=GOAL,
        feasible=sum(answer.status == "feasible" for answer in answers),
        proven=sum(answer.proof == "optimal" for answer in answers),
        single=sample.single, alone=len(sample.alone), measured=sum(sample.sweep),
        ratio=sample.ratio, ready=sample.ready, whole=sample.whole,
        shared=", ".join(hit_rates(sharing)),
    )  # fmt: skip
    parts = [f"| {words} | {100 * share:.0f} % |" for words, share in sample.parts.items() if share]
    return "\n".join([text, *parts, ""])


SECTION = """\
## {name}

{count:,} of {size:,} designs, drawn at random, one after the other in one process:
{feasible:,} are feasible, {proven:,} proven optimal.

| | |
|---|---|
| a design alone (mean of {alone}) | {single:.2f} s |
| all {count:,} designs | {measured:.0f} s |
| a design that finds all that it asks for, mean | {ready:.3f} s |
| {sweep:,} designs, the rest as if they found it | {whole:.0f} s |
| as many designs alone | {ratio:.0f} (goal: {goal}) |
| shared | {shared} |

| part of the time of a design that finds all that it asks for | share |
|---|---|"""


def in_a_process(text: str, designs: int) -> Sample:
    """Return what `sampled` does, in a process of its own, as each study runs in one."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(sampled, text, designs).result()


def main() -> None:
    """Evaluate the designs and print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--designs", type=int, default=SWEEP)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    samples = {name: in_a_process(text, arguments.designs) for name, text in SPACES.items()}
    reached = all(sample.ratio <= GOAL for sample in samples.values())
    ratios = ", ".join(f"{sample.ratio:.0f}" for sample in samples.values())
    verdict = REACHED if reached else MISSED.format(goal=GOAL, ratios=ratios)
    sections = [section(name, sample) for name, sample in samples.items()]
    load = LOAD.format(load=os.getloadavg()[1], processors=os.cpu_count())
    page = PAGE.format(verdict=verdict, load=load, designs=arguments.designs)
    page += "\n".join(sections)
    if arguments.write:
        arguments.write.write_text(page, encoding="utf-8")
    print(page)


REACHED = "**The goal is reached.**"
MISSED = "**The goal is not reached**: it costs {ratios} instead of {goal} designs alone."
LOAD = "; the load of the machine was {load:.1f} on {processors} processors"
PAGE = """\
# What a sweep costs

Written by `python benchmarks/sweep.py --designs {designs} --write docs/validation/sweeps.md`.
Time of a processor, a process for each space{load}.

A sweep of 1,000 designs over energies, sizes of buffers and fanouts of one architecture should cost
at most 20 times a single design, every design proven.

{verdict}

What designs share in a process:

- *One search for many designs* (theory/fronts.md §6, §7). Designs that differ in sizes of memories,
  energies and leakage alone are answered from one Pareto set per Einsum; each answer is proven. It
  holds for any knobs of the architecture that do no more than that, given by a field or a variable,
  with at most 3 groups of energies that move in step; for workloads whose Einsums share no tensor;
  and for studies with at least 8 designs for each search. It ends when it has done as much work as
  the designs one by one; then each is searched. Other fanouts need another set, found with the
  same programs unless a `min_usage` counts lanes, as in the first space. Loop nests and
  charts of a design are made for those that the report shows, at the end of a run.
- *Templates and their programs.* They name their costs, so that energies, speeds and leakage come
  in as numbers afterwards. Sizes of memories decide only which tiles fit: a set of templates is
  used again for all sizes that give the same answers to the questions asked. Each set of fanouts
  has its own, and so have sizes between which tensors begin to fit whole.
- *The architecture*, evaluated once for each Einsum: search, model and verification get one answer
  where no expression asks which tensors a memory keeps.
- *Lower bounds* within a design: programs that go on alike have the same (theory/lattice.md §6.1).
- *Executions on the machine*, with their search: designs that differ in energies, leakage and areas
  alone have the same mappings, cycles and counts (docs/studies.md). These are kept on the disk, for
  other processes and later runs, too; here the sweep begins with none.
- *Whole outcomes*: a design that was tried before in a run, or in a run that `--reuse` names, is
  not evaluated again.

Answers do not depend on what was searched before (`tests/agreement/test_shared_programs.py`,
`tests/dse/models/test_design_families.py`, `tests/dse/store/test_known_executions.py`). The report
of a study and its live view say how much was shared.

What is left of the first two is mostly the fronts: 6 sets for the first space, 12 for the second,
one for each pair of fanouts; each costs as much as one or two designs alone; of the last one it is
the searches of 6 machines. A further design takes some thousandths
of a second: the mappings of its Einsums are scored by the model once per front, nodes of the
architecture that are written alike are read once, and a component is evaluated anew only where its
node or a variable that it uses is written differently. The ratio varies from run to run, for caches
and processors are shared: seconds of a design alone and of the sweep are measured in turns. Before
2026-11-30 the mean of a design alone was that of 12 designs, which for the second space are 1.2
times as slow as 100 are: the figure of that space was a fifth too good. What was taken out since:
costs that follow one another, and loops along several axes, are one compiled step in a sweep of a
front, where the calls of steps took longer than the steps; bounds above all choices of lanes, and
the costs of steps, are computed once for all fanouts; the second pass goes to the programs at whose
ends the first one left room for a mapping; choices of too many lanes are left out of the arrays. A
label that a corner drops is compared with the corner that dropped the label before it first; the
helpers of the label kernels are compiled into them, for to pass a dozen arrays took longer than
they did; bounds at all prices are made in one walk over the tree of steps. What was taken out
before: a sweep of a front has a narrow first pass (2 % above the least energy) and then one over
all, instead of three that widen; counts of a score are split by Einsum once. Ways to
do less that were tried, and not kept:

- *One Pareto set for all fanouts.* Labels with fewer lanes are hardly ever beaten by those with
  more: for the second space 144 points took 20 to 30 s instead of 12 times 0.7 s (measured once).
- *Every price by itself, or a simplex around all prices* instead of the corners of the box: prices
  far from any design then count, and 5 times as many labels are left (measured once).
- *The least objective at each corner* instead of energy and latency: as many points and labels.
- *Mappings of earlier designs as a first limit.* Which of several equally good mappings is returned
  depends on the limits of the passes, so it would depend on the order of the designs.

"""


if __name__ == "__main__":
    main()
