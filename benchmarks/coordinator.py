"""The own time of the process that runs a study, per trial; write the page of it.

    python benchmarks/coordinator.py [--trials 10000] [--write docs/validation/coordinator.md]

The model is a formula that takes microseconds, so nearly all time is the coordinator's: proposing,
telling, keys, writing and syncing every batch, details of the front, lines of progress.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.dse.models.evaluator import NOTHING_SHARED, Outcome, Sharing
from tilewright.dse.run.progress import describe_state
from tilewright.dse.run.record import FrontSoFar, Trial
from tilewright.dse.run.runner import RunSettings, start_study
from tilewright.dse.study.design_space import Point
from tilewright.dse.study.study import StudySpec
from tilewright.dse.study.study_loading import load_study

SAMPLERS = ("nsga2", "nsga3", "bottleneck", "random")
BATCH = 50
KNOBS = 8
STUDY = """\
name: coordinator
question: How long does the coordinator take for a trial?
seed: 1
arch: {file: arch.yaml}
workload: {file: workload.yaml}
model: analytical
objectives: [{metric: energy}, {metric: latency}]
search: {sampler: SAMPLER, trials: TRIALS, batch: 50, population: 50}
space:
""" + "".join(f"  arch.variables.K{k}: {{range: [1, 64]}}\n" for k in range(KNOBS))


class Formula:
    """A model that takes microseconds: two objectives that pull in different directions."""

    def evaluate(self, point: Point) -> Outcome:
        """Return the metrics of a design."""
        x = [float(value) for value in point.values()]
        energy = 1 + sum((each - 20) ** 2 for each in x)
        latency = 1 + sum((each - 45) ** 2 for each in x) + x[0] * x[1]
        shares = {"GlobalBuffer": energy / 3, "LocalBuffer": energy * 2 / 3}
        return Outcome(
            {"energy": energy, "latency": latency, "edp": energy * latency},
            details={"sections": []},
            breakdown={"energy": shares, "latency": {"GlobalBuffer": latency}},
        )


@dataclass
class Stopwatch:
    """A watcher that notes after each batch how many trials there are, and the seconds.

    `spec`: the study, whose state is put into words as for the user's progress.
    """

    spec: StudySpec
    marks: list[tuple[int, float]] = field(default_factory=list)
    walls: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._front = FrontSoFar(self.spec.objectives)

    def batch(
        self, trials: Sequence[Trial], seconds: float, sharing: Sharing = NOTHING_SHARED
    ) -> None:
        """Note a batch."""
        del seconds, sharing
        describe_state(self.spec, trials, self._front)
        self.marks.append((len(trials), time.process_time()))
        self.walls.append(time.perf_counter())

    def evaluated(self, done: int, count: int) -> None:
        """Note nothing."""


def row_of(sampler: str, trials: int) -> str:
    """Run one study; return its row: ms a trial in the first and last tenth, and in all."""
    text = STUDY.replace("SAMPLER", sampler).replace("TRIALS", str(trials))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.yaml"
        path.write_text(text, encoding="utf-8")
        (Path(folder) / "arch.yaml").write_text("arch: {nodes: []}\n", encoding="utf-8")
        (Path(folder) / "workload.yaml").write_text("workload: {einsums: []}\n", encoding="utf-8")
        spec = load_study(path)
        watch = Stopwatch(spec)
        execution = RunSettings(evaluator=Formula(), watcher=watch)
        start, start_wall = time.process_time(), time.perf_counter()
        result = start_study(spec, Path(folder) / "run", execution)
        report = time.process_time() - watch.marks[-1][1]
    marks = [(0, start), *watch.marks]
    tenth = max(1, len(marks) // 10)
    spans = [marks[: tenth + 1], marks[-tenth - 1 :], marks]
    per_trial = [1e3 * (s[-1][1] - s[0][1]) / (s[-1][0] - s[0][0]) for s in spans]
    per_trial.append(1e3 * (watch.walls[-1] - start_wall) / len(result.trials))
    figures = " | ".join(f"{each:.2f}" for each in per_trial)
    return f"| {sampler} | {len(result.trials)} | {figures} | {report:.1f} |"


def main() -> None:
    """Run the studies and print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    rows = [row_of(sampler, arguments.trials) for sampler in SAMPLERS]
    page = PAGE.format(
        trials=arguments.trials,
        batch=BATCH,
        python=platform.python_version(),
        load=os.getloadavg()[1],
        rows="\n".join(rows),
    )
    if arguments.write:
        arguments.write.write_text(page, encoding="utf-8")
    print(page)


PAGE = """\
# Time of the coordinator

Written by `python benchmarks/coordinator.py --write docs/validation/coordinator.md`.

One process runs a study; workers only evaluate. This is the time that this process takes by itself
for each trial: proposing, telling, keys, writing and syncing each batch, details of the front and
lines of progress. The goal is under 5 ms a trial at {trials:,} trials with NSGA-II. The model is a
formula of microseconds; {trials:,} different designs, eight knobs of 64 values, two objectives,
batches of {batch}; Python {python}. The first columns are time of a processor; wall-clock time
(with the wait for the disk) is that of a machine with other work, here {load:.0f} processes on 2
cores.

A trial that repeats a design is recorded and counts as a trial here. NSGA-II of Optuna alone grows
with the number of trials, for it looks for generations and parents among all of them; ours has an
index (`dse/sampling/generations.py`) and proposes the same designs.

| sampler | trials | ms a trial, first tenth | last tenth | all | all, wall clock | report, s |
|---|---|---|---|---|---|---|
{rows}
"""


if __name__ == "__main__":
    main()
