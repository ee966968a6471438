"""A study as islands: one process leads the rounds, each island has a coordinator of its own.

The leader hands out a round and joins what the islands have recorded; only an island's coordinator
proposes its designs and takes their results.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from tilewright.dse.islands.rounds import (
    ISLANDS,
    Round,
    island_directory,
    island_spec,
    joined,
    lines_of,
    next_round,
    read_rounds,
    take_islands,
    write_rounds,
)
from tilewright.dse.models.dask_workers import for_several_coordinators
from tilewright.dse.models.evaluator import (
    NOTHING_SHARED,
    Attempt,
    Evaluator,
    Sharing,
    WorkerLost,
    has_check,
)
from tilewright.dse.models.worker_pool import LOKY, make_pool, start_trackers
from tilewright.dse.run.environment import Keys
from tilewright.dse.run.interrupts import unheard
from tilewright.dse.run.record import Trial
from tilewright.dse.run.rundir import TRIALS, RunDirectory, TrialLog
from tilewright.dse.run.study_loop import Setting, distinct, explore, is_complete
from tilewright.dse.store.known_outcomes import known_outcomes
from tilewright.dse.study.study import StudySpec

_STOP = "stop"
_LOOK = 0.5  # seconds between two looks at the islands
Stop = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Crew:
    """What evaluates the designs of a run: a model in worker processes.

    `evaluator`: the model; `workers`: number of processes in all. `executor`: where they are, as of
    a run; several Dask schedulers are separated by commas, and the islands share them out.
    `earlier_outcomes`: by key, those that need no evaluation.
    """

    evaluator: Evaluator
    workers: int = 1
    executor: str = LOKY
    earlier_outcomes: Mapping[str, Attempt] = field(default_factory=dict)

    def at_once(self, islands: int) -> int:
        """Return how many islands search at the same time."""
        return min(islands, self.workers) if self.executor == LOKY else islands

    def part(self, island: int, islands: int) -> Crew:
        """Return the workers of one island: its share of the processes, and one of the schedulers.

        island: its number, from 0; islands: how many there are.
        """
        share, rest = divmod(self.workers, self.at_once(islands))
        addresses = self.executor.split(",")
        chosen = addresses[island % len(addresses)]
        executor = chosen if "://" in chosen or len(addresses) == 1 else f"dask://{chosen}"
        return replace(self, workers=max(1, share + (island < rest)), executor=executor)


@dataclass(frozen=True, slots=True)
class Island:
    """What the coordinator of one island needs to search.

    `spec`: the study; `run`: its directory; `number`: of the island, from 0; `crew`: its workers;
    `rounds`: all so far, the last of which is searched.
    """

    spec: StudySpec
    run: RunDirectory
    number: int
    crew: Crew
    rounds: Sequence[Round]

    @property
    def search(self) -> StudySpec:
        """The study as this island searches it, to the end of the last round."""
        return island_spec(self.spec, self.number, self.rounds[-1][self.number].target)


def search_islands(setting: Setting, run: RunDirectory, crew: Crew, stop: Stop) -> list[Trial]:
    """Run the rounds of a study that are missing in its run directory; return its trials.

    The islands keep their records below `islands/`; whole rounds are joined in trials.jsonl.
    Arguments and errors as of `explore`; WorkerLost if the process of an island dies.
    """
    with for_several_coordinators(crew.executor, crew.workers) as executor:
        return _searched(setting, run, replace(crew, executor=executor), stop)


def _searched(setting: Setting, run: RunDirectory, crew: Crew, stop: Stop) -> list[Trial]:
    spec = setting.spec
    with TrialLog(run) as log:
        trials = run.repair()
        take_islands(run, spec.islands)
        if trials:
            setting.watcher.batch(trials, 0.0)
        rounds = read_rounds(run)
        with _Coordinators(crew, spec.islands) as coordinators:
            while not stop():
                start = time.perf_counter()
                islands = [Island(spec, run, n, crew, rounds) for n in range(spec.islands)]
                if rounds:
                    coordinators.search(islands, setting, stop)
                records = [island_directory(run, n).trials() for n in range(spec.islands)]
                if rounds and not all(map(_is_done, islands, records)):
                    break
                new = joined(rounds, records)[len(trials) :]
                if new:
                    seconds = time.perf_counter() - start
                    log.append(new, _times(run, new, seconds))
                    trials += new
                    setting.watcher.batch(trials, seconds)
                if is_complete(spec, trials):
                    break
                rounds.append(next_round(spec, trials, records))
                write_rounds(run, rounds)
    return trials


def _is_done(island: Island, record: Sequence[Trial]) -> bool:
    """Return whether an island has come to the end of the last round."""
    return is_complete(island.search, record)


class _Coordinators:
    """The processes of the islands; with one worker all islands are searched in this process."""

    def __init__(self, crew: Crew, islands: int) -> None:
        self._count = crew.at_once(islands)
        self._processes: Any = None

    def __enter__(self) -> _Coordinators:
        return self

    def __exit__(self, *_: object) -> None:
        if self._processes is not None:
            self._processes.shutdown(wait=True)

    def search(self, islands: Sequence[Island], setting: Setting, stop: Stop) -> None:
        """Search all islands to the end of the round, or until `stop` says True."""
        if self._count == 1:
            for island in islands:
                _explore_island(replace(island, crew=island.crew.part(island.number, 1)), stop)
            return
        sign = islands[0].run.path / ISLANDS / _STOP
        sign.unlink(missing_ok=True)  # of a leader that was killed
        try:
            self._wait(list(self._submitted(islands)), islands, setting, stop)
        finally:
            sign.unlink(missing_ok=True)

    def _submitted(self, islands: Sequence[Island]) -> Iterator[Any]:
        from joblib.externals.loky import ProcessPoolExecutor

        from tilewright.dse.models.design_watch import end_with

        start_trackers()
        with unheard():  # Ctrl-C reaches the whole process group; the leader decides
            if self._processes is None:
                self._processes = ProcessPoolExecutor(
                    self._count, initializer=end_with, initargs=(os.getpid(),)
                )
            for island in islands:
                part = island.crew.part(island.number, len(islands))
                yield self._processes.submit(_explore_alone, replace(island, crew=part))

    def _wait(
        self, futures: list[Any], islands: Sequence[Island], setting: Setting, stop: Stop
    ) -> None:
        from concurrent.futures import wait

        from joblib.externals.loky.process_executor import BrokenProcessPool

        paths = [island_directory(island.run, island.number).path / TRIALS for island in islands]
        begin = sum(map(lines_of, paths))
        trials_to_go = setting.spec.trials
        pending = set(futures)
        while pending:
            done, pending = wait(pending, timeout=_LOOK)
            setting.watcher.evaluated(sum(map(lines_of, paths)) - begin, trials_to_go)
            if stop():
                (islands[0].run.path / ISLANDS / _STOP).touch()
            for future in done:
                try:
                    future.result()
                except BrokenProcessPool as error:
                    raise WorkerLost(
                        "the process of an island died", instead="resume the run"
                    ) from error


def _explore_alone(island: Island) -> None:
    """Search one island in a process of its own, until the leader asks for an end."""
    _explore_island(island, (island.run.path / ISLANDS / _STOP).exists)


def _explore_island(island: Island, stop: Stop) -> None:
    """Search one island to the end of the last round, or until `stop` says True."""
    spec, crew, run = island.search, island.crew, island.run
    parts = [each[island.number] for each in island.rounds]
    setting = Setting(
        spec,
        Keys(spec, run.environment()["files"]),
        _Unwatched(),
        {**known_outcomes(run.trials()), **crew.earlier_outcomes},
        guests={part.first: part.guests for part in parts},
        has_check=has_check(crew.evaluator),
    )
    pool = make_pool(crew.evaluator, crew.workers, spec.limits, crew.executor)
    with pool:
        explore(setting, island_directory(run, island.number), pool, stop)


class _Unwatched:
    def batch(
        self, trials: Sequence[Trial], seconds: float, sharing: Sharing = NOTHING_SHARED
    ) -> None:
        """Show nothing."""

    def evaluated(self, done: int, count: int) -> None:
        """Show nothing."""


def _times(run: RunDirectory, new: Sequence[Trial], seconds: float) -> dict[str, object]:
    """Return the line of times.jsonl about a round: seconds of each evaluation by trial number."""
    seconds_by_island: dict[Any, Mapping[int, float]] = {}
    evaluations: dict[str, float] = {}
    for trial in new:
        island = trial.sampler["island"]
        if island not in seconds_by_island:
            seconds_by_island[island] = island_directory(run, int(str(island))).seconds()
        took = seconds_by_island[island].get(int(str(trial.sampler["trial"])))
        if took is not None and trial.same_as is None:
            evaluations[str(trial.number)] = took
    return {
        "batch": new[-1].batch,
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 6),
        "shared": Sharing(len(new) - distinct(new))._asdict(),
        "evaluations": evaluations,
    }
