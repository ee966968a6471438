"""Where designs are evaluated: in this process, or in worker processes through joblib.

A worker that dies, or that a limit ends, costs its own design one more attempt, alone in a fresh
process. If a limit ends that, too, the design is recorded as failed. If it dies otherwise, perhaps
by somebody else's doing, there is a last one.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from tilewright.dse.models.design_watch import ENDED_BY, end_with, watched_attempt
from tilewright.dse.models.evaluator import (
    Attempt,
    Evaluator,
    Keep,
    Note,
    Outcome,
    WorkerLost,
    attempt,
)
from tilewright.dse.run.interrupts import ignore_from_now_on, unheard
from tilewright.dse.study.design_space import Point
from tilewright.dse.study.study import NO_LIMITS, DesignLimits

if TYPE_CHECKING:
    from tilewright.dse.models.dask_workers import DaskWorkers


class InProcess(AbstractContextManager["InProcess"]):
    """A pool that evaluates the designs one after the other in this process."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def evaluate(
        self, points: Sequence[Point], note: Note, keep: Keep | None = None
    ) -> list[Attempt]:
        """Evaluate all designs in order; `note` and `keep` are called after each."""
        answers = (attempt(self._evaluator, point) for point in points)
        return _noted(answers, len(points), note, keep)

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""


class Workers(AbstractContextManager["Workers"]):
    """A pool of `count` worker processes (joblib's loky, or the backend that joblib is set to).

    `limits`: of the evaluation of each design.
    """

    def __init__(self, evaluator: Evaluator, count: int, limits: DesignLimits = NO_LIMITS) -> None:
        self._evaluator = evaluator
        self._limits = limits
        self._count = count
        start_trackers()
        # joblib ends an idle worker that has grown by 300 MB, and starts another: nothing is lost.
        warnings.filterwarnings("ignore", WORKER_REPLACED, UserWarning)
        self._parallel: Any = _parallel(count)

    def __enter__(self) -> Workers:
        self._parallel.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._parallel.__exit__(*error)

    def evaluate(
        self, points: Sequence[Point], note: Note, keep: Keep | None = None
    ) -> list[Attempt]:
        """Evaluate all designs in parallel; return their outcomes in the order of the designs.

        `note` and `keep` are called as answers come.
        """
        from joblib.externals.loky.process_executor import BrokenProcessPool

        answers: list[Attempt] = []

        def keep_answer(position: int, answer: Attempt) -> None:
            answers.append(answer)
            if keep is not None:
                keep(position, answer)

        together = [points] if self._count > 1 else [[point] for point in points]
        each = (answer for few in together for answer in self._answers(few))
        try:
            return _noted(each, len(points), note, keep_answer)
        except BrokenProcessPool:  # a worker has died, perhaps within its answer
            done = len(answers)
        self._start_anew()
        for position in range(done, len(points)):
            keep_answer(position, self._alone(points[position]))
            note(position + 1, len(points))
        return answers

    def _answers(self, points: Sequence[Point]) -> Iterable[Attempt]:
        from joblib import delayed

        # Ctrl-C reaches the whole process group; the coordinator decides, the workers finish.
        # Here joblib starts the workers, and the thread that may start others in their place.
        with unheard():
            answers: Iterable[Attempt] = self._parallel(
                delayed(_in_worker)(self._evaluator, point, self._limits) for point in points
            )
        return answers

    def _alone(self, point: Point) -> Attempt:
        """Evaluate one design while no other is: if its worker dies, it was this design's doing.

        Or somebody else's, who killed it: only a limit is not tried again.
        """
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        ending = ""
        for _ in range(_ALONE):
            try:
                (answer,) = self._answers([point])
            except TerminatedWorkerError as error:
                self._start_anew()
                ending = _ending(str(error))
                if ending in ENDED_BY.values():
                    break
            else:
                return answer
        return Attempt(Outcome(reason=ending, status="failed"), 0.0)

    def _start_anew(self) -> None:
        """Start other workers: joblib gives up all of them when one has died.

        Raises WorkerLost if that does not work.
        """
        try:
            self._parallel.__exit__(None, None, None)
            self._parallel = _parallel(self._count)
            self._parallel.__enter__()
        except Exception as error:
            raise WorkerLost(
                f"worker processes cannot be started again: {error}",
                instead="resume the run with fewer workers",
            ) from error


def _ending(message: str) -> str:
    """Return what ended a worker process, from joblib's message with its exit code."""
    for code, text in ENDED_BY.items():
        if f"EXIT({code})" in message:
            return text
    return "its worker process died, perhaps of too little memory"


LOKY = "loky"
WORKER_REPLACED = "A worker stopped while some jobs were given to the executor"
_ALONE = 2  # attempts at a design, alone: one that died once by itself has another


def make_pool(
    evaluator: Evaluator, workers: int, limits: DesignLimits = NO_LIMITS, executor: str = LOKY
) -> InProcess | Workers | DaskWorkers:
    """Return the pool for a number of workers: for one (or less) this process, else processes.

    Designs with limits are always evaluated in another process, which can be ended. `executor`:
    loky, `dask`, or `dask://HOST:PORT`. Raises TilewrightError for another one.
    """
    if executor != LOKY:
        from tilewright.dse.models.dask_workers import DaskWorkers

        return DaskWorkers(evaluator, executor, workers, limits)
    if workers <= 1 and not limits.is_limited:
        return InProcess(evaluator)
    return Workers(evaluator, max(1, workers), limits)


def _parallel(count: int) -> Any:
    from joblib import Parallel

    options: dict[str, Any] = {"batch_size": 1, "pre_dispatch": "all", "return_as": "generator"}
    # One design per task: a task takes milliseconds to seconds. No threads inside of workers.
    # One worker alone joblib would put into this process, which no limit may end.
    parallel = Parallel(n_jobs=max(2, count), **options)
    if type(parallel._backend).__name__ != "LokyBackend":  # set by the user: Dask
        return parallel
    guard = {"initializer": end_with, "initargs": (os.getpid(),)}
    return Parallel(n_jobs=max(2, count), **options, **guard)


def _noted(answers: Iterable[Attempt], count: int, note: Note, keep: Keep | None) -> list[Attempt]:
    attempts: list[Attempt] = []
    for position, answer in enumerate(answers):
        attempts.append(answer)
        if keep is not None:
            keep(position, answer)
        note(len(attempts), count)
    return attempts


def _in_worker(evaluator: Evaluator, point: Point, limits: DesignLimits) -> Attempt:
    ignore_from_now_on()  # where the signals could not be blocked
    return watched_attempt(evaluator, point, limits)


def start_trackers() -> None:
    """Start the two processes that remove what a killed run leaves, to do so without warnings.

    They are started here, for the one of Python 3.11 unblocks the signals of its caller: had it to
    be started together with the first worker, that worker would hear them.
    """
    from multiprocessing import resource_tracker as python_tracker

    from joblib.externals.loky.backend import resource_tracker as loky_tracker

    former_warnings = os.environ.get("PYTHONWARNINGS")
    quiet = "ignore:resource_tracker:UserWarning"
    os.environ["PYTHONWARNINGS"] = quiet if not former_warnings else f"{former_warnings},{quiet}"
    try:
        python_tracker.ensure_running()
        loky_tracker.ensure_running()
    finally:
        if former_warnings is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = former_warnings
