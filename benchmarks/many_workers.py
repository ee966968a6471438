"""How many workers one coordinator can keep busy: a simulation with measured times; write its page.

    python benchmarks/many_workers.py [--write docs/validation/many-workers.md]

Measured are the coordinator's time for a trial, its time for a task at a Dask scheduler, the time
that the leader of islands takes for a trial, and the seconds of some evaluations. The rest is a
simulation of events: a coordinator hands out tasks and takes answers one after the other, workers
evaluate.
"""

from __future__ import annotations

import argparse
import heapq
import os
import random
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from coordinator import STUDY, Formula

from tilewright.dse.command.shipped import find_study
from tilewright.dse.islands.rounds import island_directory, joined, read_rounds
from tilewright.dse.models.dask_workers import WINDOW, DaskWorkers
from tilewright.dse.models.evaluator import attempt
from tilewright.dse.models.evaluators import make_evaluator
from tilewright.dse.run.runner import RunSettings, StudyResult, start_study
from tilewright.dse.store.trial_line import line_of
from tilewright.dse.study.study_loading import load_study

WORKERS = (1, 8, 64, 256, 1000, 3000)
BATCHES = 4
BUSY = 0.6
LENGTHS = (1.0, 10.0, 100.0)  # of evaluations, times the measured ones
ISLANDS = (1, 4, 16, 64)
FLEETS = (1000, 3000, 10000)  # workers in all, of islands
TRIALS, TASKS, DESIGNS = 1000, 400, 12
STUDY_NAME = "tpu_v4i_gpt3"


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of a processor.

    `trial`, `task`: of a coordinator; `joining`: of the leader of islands, for a trial; `services`:
    of evaluations.
    """

    trial: float
    task: float
    joining: float
    services: Sequence[float]


@dataclass(frozen=True, slots=True)
class Load:
    """What a simulation gives: trials a second, shares of time that each side is busy."""

    rate: float
    workers_busy: float
    coordinator_busy: float
    leader_busy: float = 0.0


def measured() -> Measured:
    """Measure all of it on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.yaml"
        text = STUDY.replace("SAMPLER", "nsga2").replace("TRIALS", str(TRIALS))
        path.write_text(text, encoding="utf-8")
        (Path(folder) / "arch.yaml").write_text("arch: {nodes: []}\n", encoding="utf-8")
        (Path(folder) / "workload.yaml").write_text("workload: {einsums: []}\n", encoding="utf-8")
        spec = load_study(path)
        start = time.process_time()
        result = start_study(spec, Path(folder) / "run", RunSettings(evaluator=Formula()))
        trial = (time.process_time() - start) / len(result.trials)
        spec_of_islands = load_study(path, {"search.islands": 4})
        result = start_study(
            spec_of_islands, Path(folder) / "four", RunSettings(evaluator=Formula())
        )
        joining = leaders_time(result)
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
    return Measured(trial, task, joining, services[1:])  # the first one loads machine code


def leaders_time(result: StudyResult) -> float:
    """Return the seconds that a leader takes for a trial: it reads and joins all in each round."""
    run = result.run
    rounds = read_rounds(run)
    start = time.process_time()
    records = [island_directory(run, number).trials() for number in range(len(rounds[0]))]
    trials = joined(rounds, records)
    middle = time.process_time()
    for trial in trials:
        line_of(trial)
    end = time.process_time()
    mean_share = (len(rounds) + 1) / 2  # of the trials that are there in a round, summed
    return (mean_share * (middle - start) + end - middle) / len(trials)


def simulated(costs: Measured, workers: int, batch: int, times: float, seed: int = 0) -> Load:
    """Simulate some batches; `times`: how much longer evaluations take than measured."""
    draw = random.Random(workers + seed)
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


def simulated_islands(costs: Measured, workers: int, islands: int, times: float) -> Load:
    """Simulate a round of islands with their share of the workers each, and the leader after it."""
    each = workers // islands
    batch = 4 * each
    loads = [simulated(costs, each, batch, times, seed) for seed in range(islands)]
    trials = BATCHES * batch * islands
    searching = max(BATCHES * batch / load.rate for load in loads)
    seconds = searching + trials * costs.joining

    def mean(shares: Iterable[float]) -> float:
        """Return the mean over the islands, as a share of the whole round."""
        pairs = zip(shares, loads, strict=True)
        return sum(share * BATCHES * batch / load.rate for share, load in pairs) / islands / seconds

    return Load(
        trials / seconds,
        mean(load.workers_busy for load in loads),
        mean(load.coordinator_busy for load in loads),
        trials * costs.joining / seconds,
    )


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


def _island_rows(costs: Measured) -> list[str]:
    rows = []
    for workers in FLEETS:
        for islands in ISLANDS:
            cells = []
            for times in (1.0, 10.0):
                load = simulated_islands(costs, workers, islands, times)
                cells.append(
                    f"{load.rate:,.0f} | {100 * load.workers_busy:.0f} %"
                    f" | {100 * load.coordinator_busy:.0f} % | {100 * load.leader_busy:.0f} %"
                )
            rows.append(f"| {workers:,} | {islands} | {' | '.join(cells)} |")
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
        least=min(costs.services), study=STUDY_NAME,
        limit=1 / (costs.trial + costs.task), enough=mean / (costs.trial + costs.task),
        rows="\n".join(_rows(costs)), busy=100 * BUSY,
        joining=1e3 * costs.joining, most=max(costs.services), leader=1 / costs.joining,
        islands="\n".join(_island_rows(costs)),
        load=os.getloadavg()[1], processors=os.cpu_count(),
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

## Islands

Beyond them a study needs several coordinators: `search: {{islands: 16}}` (studies.md). Each has its
part of the workers, and a scheduler of its own; they exchange designs of their fronts after each
round, and a leader joins their records. The leader takes {joining:.2f} ms for a trial (measured, 4
islands), so that it joins at most {leader:,.0f} a second. Simulated is a round of 4 batches of 4 ×
the workers of an island; all islands wait for the slowest one, and for the leader.

| workers | islands | trials/s | busy | coordinators | leader | 10 ×: trials/s | busy | coo. | l. |
|---|---|---|---|---|---|---|---|---|---|
{islands}

Each island learns from its own designs and a few of its neighbour; what that costs in designs found
with as many trials was not measured. The load of the machine was {load:.1f} on {processors}
processors: with more than one process for each, its times are longer than those of a quiet one.
Designs that share a search take thousandths of a second (sweeps.md): one machine is enough for
them.
"""


if __name__ == "__main__":
    main()
