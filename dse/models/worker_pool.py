"""Where designs are evaluated: in this process, or in worker processes through joblib."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol

from tilewright.arch.errors import TilewrightError
from tilewright.dse.models.evaluator import Attempt, Evaluator, attempt
from tilewright.dse.run.interrupts import ignore_from_now_on, unheard
from tilewright.dse.study.design_space import Point

Note = Callable[[int, int], None]
"""Is told how many evaluations of how many are done."""


class Pool(Protocol):
    """Something that evaluates designs: this process or several worker processes."""

    def evaluate(self, points: Sequence[Point], note: Note) -> list[Attempt]:
        """Evaluate all designs; return their outcomes in the order of the designs.

        `note(done, count)` is called after each. Raises WorkerLost if a worker process died.
        """
        ...


class WorkerLost(TilewrightError):  # noqa: N818 (an event, named as such)
    """A worker process died, perhaps of too little memory.

    The batch of designs it worked on was not written to the run; a resume evaluates it again.
    """


class InProcess(AbstractContextManager["InProcess"]):
    """A pool that evaluates the designs one after the other in this process."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def evaluate(self, points: Sequence[Point], note: Note) -> list[Attempt]:
        """Evaluate all designs in order; `note(done, count)` is called after each."""
        return _noted((attempt(self._evaluator, point) for point in points), len(points), note)

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""


class Workers(AbstractContextManager["Workers"]):
    """A pool of `count` worker processes (joblib's loky, or the backend that joblib is set to)."""

    def __init__(self, evaluator: Evaluator, count: int) -> None:
        from joblib import Parallel

        self._evaluator = evaluator
        _start_trackers()
        # One design per task: a task takes milliseconds to seconds. No threads inside of workers.
        self._parallel: Any = Parallel(
            n_jobs=count, batch_size=1, pre_dispatch="all", return_as="generator"
        )

    def __enter__(self) -> Workers:
        self._parallel.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._parallel.__exit__(kind, error, trace)

    def evaluate(self, points: Sequence[Point], note: Note) -> list[Attempt]:
        """Evaluate all designs in parallel; return their outcomes in the order of the designs.

        `note(done, count)` is called as answers come. Raises WorkerLost if a worker process died.
        """
        from joblib import delayed
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        try:
            # Ctrl-C reaches the whole process group; the coordinator decides, the workers finish.
            # Here joblib starts the workers, and the thread that may start others in their place.
            with unheard():
                answers = self._parallel(
                    delayed(_in_worker)(self._evaluator, point) for point in points
                )
            return _noted(answers, len(points), note)
        except TerminatedWorkerError as error:
            raise WorkerLost(
                "a worker process died, perhaps of too little memory",
                instead="resume the run with fewer workers",
            ) from error


def make_pool(evaluator: Evaluator, workers: int) -> InProcess | Workers:
    """Return the pool for a number of workers: for one (or less) this process, else processes."""
    return InProcess(evaluator) if workers <= 1 else Workers(evaluator, workers)


def _noted(answers: Iterable[Attempt], count: int, note: Note) -> list[Attempt]:
    attempts: list[Attempt] = []
    for answer in answers:
        attempts.append(answer)
        note(len(attempts), count)
    return attempts


def _in_worker(evaluator: Evaluator, point: Point) -> Attempt:
    ignore_from_now_on()  # where the signals could not be blocked
    return attempt(evaluator, point)


def _start_trackers() -> None:
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
