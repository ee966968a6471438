"""How many workers one coordinator can keep busy: a simulation with measured times; write its page.

    python benchmarks/many_workers.py [--write docs/validation/many-workers.md]

Measured are the coordinator's time for a trial, its time for a task at a Dask scheduler, and the
seconds of some evaluations. The rest is a simulation of events: one coordinator hands out tasks and
takes answers one after the other, workers evaluate.
"""

from __future__ import annotations

import argparse
import heapq
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coordinator import STUDY, Formula

from tilewright.dse.command.shipped import find_study
from tilewright.dse.models.dask_workers import WINDOW, DaskWorkers
from tilewright.dse.models.evaluator import attempt
from tilewright.dse.models.evaluators import make_evaluator
from tilewright.dse.run.runner import Execution, start_study
from tilewright.dse.study.study_loading import load_study

WORKERS = (1, 8, 64, 256, 1000, 3000)
BATCHES = 4
BUSY = 0.6
LENGTHS = (1.0, 10.0, 100.0)  # of evaluations, times the measured ones
TRIALS, TASKS, DESIGNS = 1000, 400, 12
STUDY_NAME = "tpu_v4i_gpt3"


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of a processor: `trial`, `task` of the coordinator, `services` of evaluations."""

    trial: float
    task: float
    services: Sequence[float]


@dataclass(frozen=True, slots=True)
class Load:
    """What a simulation gives: trials a second, shares of time that each side is busy."""

    rate: float
    workers_busy: float
    coordinator_busy: float


def measured() -> Measured:
    """Measure all three on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.yaml"
        text = STUDY.replace("SAMPLER", "nsga2").replace("TRIALS", str(TRIALS))
        path.write_text(text, encoding="utf-8")
        (Path(folder) / "arch.yaml").write_text("arch: {nodes: []}\n", encoding="utf-8")
        (Path(folder) / "workload.yaml").write_text("workload: {einsums: []}\n", encoding="utf-8")
        spec = load_study(path)
        start = time.process_time()
        result = start_study(spec, Path(folder) / "run", Execution(evaluator=Formula()))
        trial = (time.process_time() - start) / len(result.trials)
    points = [spec.space.point(spec.space.nth(7919 * n)) for n in range(TASKS)]
    with DaskWorkers(Formula(), "dask", 2) as pool:
        pool.evaluate(points[:20], _ignore)
        start = time.process_time()
        pool.evaluate(points, _ignore)
        task = (time.process_time() - start) / TASKS
    spec = load_study(find_study(STUDY_NAME))
    model, chosen = make_evaluator(spec), random.Random(1)
    services = []
    for _ in range(DESIGNS + 1):
        point = spec.space.point(spec.space.nth(chosen.randrange(spec.space.size)))
        start = time.process_time()
        attempt(model, point)
        services.append(time.process_time() - start)
    return Measured(trial, task, services[1:])  # the first one loads machine code


def simulated(costs: Measured, workers: int, batch: int, times: float) -> Load:
    """Simulate some batches; `times`: how much longer evaluations take than measured."""
    draw = random.Random(workers)
    clock = busy = working = 0.0
    for _ in range(BATCHES):
        free = [clock] * workers
        heapq.heapify(free)
        running: list[float] = []
        handed = done = 0
        while done < batch:
            if handed < batch and len(running) < WINDOW * workers:
                clock, busy, handed = clock + costs.task / 2, busy + costs.task / 2, handed + 1
                service = times * draw.choice(list(costs.services))
                end = max(clock, heapq.heappop(free)) + service
                heapq.heappush(free, end)
                heapq.heappush(running, end)
                working += service
            else:
                clock = max(clock, heapq.heappop(running)) + costs.task / 2
                busy, done = busy + costs.task / 2, done + 1
        clock, busy = clock + batch * costs.trial, busy + batch * costs.trial
    return Load(BATCHES * batch / clock, working / (clock * workers), busy / clock)


def most_workers(costs: Measured, times: float) -> int:
    """Return how many workers, doubled from 1 on, are still busy for BUSY of the time."""
    workers = 1
    while simulated(costs, 2 * workers, 8 * workers, times).workers_busy >= BUSY:
        workers *= 2
    return workers


def _ignore(done: int, count: int) -> None:
    del done, count


def _rows(costs: Measured) -> list[str]:
    rows = []
    for workers in WORKERS:
        for factor in (2, 4):
            cells = []
            for times in (1.0, 10.0):
                load = simulated(costs, workers, factor * workers, times)
                cells.append(
                    f"{load.rate:.3g} | {100 * load.workers_busy:.0f} %"
                    f" | {100 * load.coordinator_busy:.0f} %"
                )
            rows.append(f"| {workers:,} | {factor} × | {' | '.join(cells)} |")
    return rows


def main() -> None:
    """Measure, simulate, and print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    costs = measured()
    mean = sum(costs.services) / len(costs.services)
    page = PAGE.format(
        trial=1e3 * costs.trial, task=1e3 * costs.task, mean=mean, designs=DESIGNS,
        least=min(costs.services), most=max(costs.services), study=STUDY_NAME,
        limit=1 / (costs.trial + costs.task), enough=mean / (costs.trial + costs.task),
        rows="\n".join(_rows(costs)), busy=100 * BUSY,
        lengths="\n".join(
            f"| {times * mean:.3g} s | {most_workers(costs, times):,} |" for times in LENGTHS
        ),
    )  # fmt: skip
    if arguments.write:
        arguments.write.write_text(page, encoding="utf-8")
    print(page)


PAGE = """\
# One coordinator and many workers

Written by `python benchmarks/many_workers.py --write docs/validation/many-workers.md`.

This is a simulation, fed with times measured on one machine; no run had that many workers.
Measured were, in time of a processor: {trial:.2f} ms of the coordinator for a trial (NSGA-II, with
proposing, writing and report), {task:.2f} ms for a task at a Dask scheduler
in the same process, and {mean:.2f} s ({least:.2f} to {most:.2f} s) for an evaluation of
{designs} designs of `{study}`.

So one coordinator handles at most {limit:.0f} trials a second, which is what about {enough:.0f}
workers evaluate. A batch ends before the next one is proposed: a batch of 2 × the workers leaves
them idle longer than one of 4 ×. The last three columns are for
evaluations ten times as long, which keep ten times as many workers busy.

| workers | batch | trials/s | they are busy | coordinator | 10 ×: trials/s | busy | coordinator |
|---|---|---|---|---|---|---|---|
{rows}

Windows of three tasks per worker therefore suffice up to these numbers of workers (doubled until
they are busy for less than {busy:.0f} % of the time, batches of 4 × the workers):

| an evaluation takes | workers |
|---|---|
{lengths}

Beyond them a study needs several coordinators, each with a part of the workers, that exchange their
fronts (islands). Tilewright has no such mode, for three reasons. Designs that share a search take
hundredths of a second (sweeps.md): one machine is enough for them. Executed designs take seconds or
minutes: one coordinator is enough. And with islands the bytes of a run would depend on how many
there are. What comes closest are several runs with other seeds; `study run --reuse` takes over what
they have evaluated.
"""


if __name__ == "__main__":
    main()
