"""Designs evaluated by the workers of a Dask cluster: on this machine, or on many.

Dask starts a task again elsewhere if its worker is lost. The coordinator hands out a window of
tasks, a few for each worker, and takes the answers in the order of the designs, so that a run has
the same bytes as with workers of its own.
"""

from __future__ import annotations

import logging
import lzma
import pickle
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib import import_module
from typing import Any

from tilewright.arch.errors import TilewrightError
from tilewright.dse.command.console import say
from tilewright.dse.models.design_watch import watched_attempt
from tilewright.dse.models.evaluator import Attempt, Evaluator, Keep, Note, Outcome, WorkerLost
from tilewright.dse.run.interrupts import unheard
from tilewright.dse.study.design_space import Point
from tilewright.dse.study.study import NO_LIMITS, DesignLimits

WINDOW = 3  # tasks at the cluster for each of its threads
_GROWTH = 1.0  # seconds after which the workers are counted again: some may have come, some gone
_POLL = 0.005  # seconds between looks for an answer
_PATIENCE = 60.0  # seconds without a scheduler until the run ends
_FIRST_TRY = 5.0  # seconds for a scheduler and a worker to answer, before the user is told of it
DASK = "dask"
_PREFIX = "dask://"


class DaskWorkers(AbstractContextManager["DaskWorkers"]):
    """The workers of a Dask cluster.

    `executor`: `dask://HOST:PORT` of a scheduler, or `dask` for `count` worker processes on this
    machine. The workers must see the files of the study under the same paths. `limits`: of the
    evaluation of each design.
    """

    def __init__(
        self, evaluator: Evaluator, executor: str, count: int, limits: DesignLimits = NO_LIMITS
    ) -> None:
        check_executor(executor)
        self._evaluator = evaluator
        self._address = executor.removeprefix(_PREFIX) if executor.startswith(_PREFIX) else None
        self._count = count
        self._limits = limits
        self._cluster: Any = None
        self._client: Any = None

    def __enter__(self) -> DaskWorkers:
        _distributed()  # sets levels of its own when it is loaded
        for name in ("distributed", "distributed.client"):  # tracebacks of lost peers
            logging.getLogger(name).setLevel(logging.CRITICAL)
        with unheard():  # workers and threads that start here do not hear Ctrl-C
            if self._address is None:
                self._cluster = _local_cluster(self._count)
            self._connect()
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._client, self._cluster):
            if each is not None:
                with suppress(OSError, TimeoutError):
                    each.close()

    def evaluate(
        self, points: Sequence[Point], note: Note, keep: Keep | None = None
    ) -> list[Attempt]:
        """Evaluate all designs; return their outcomes in the order of the designs.

        `note` and `keep` are called as answers come. Where the scheduler is lost, the answers that
        are missing are asked for again once there is one; WorkerLost after a minute without. Wait
        and end are said on standard error.
        """
        answers: dict[int, Attempt] = {}
        while len(answers) < len(points):
            missing = [number for number in range(len(points)) if number not in answers]
            for number, attempt in self._completed(points, missing):
                answers[number] = attempt
                if keep is not None:
                    keep(number, attempt)
                note(len(answers), len(points))
            if len(answers) < len(points):
                self._say_awaited("is lost")
                self._connect(is_awaited=True)
        return [answers[number] for number in range(len(points))]

    def _completed(
        self, points: Sequence[Point], numbers: Sequence[int]
    ) -> Iterator[tuple[int, Attempt]]:
        """Yield (number, attempt) of the designs as they come; end early if the scheduler is lost.

        numbers: of the designs that are tried, among `points`.
        """
        ahead = deque(numbers)
        position: dict[str, int] = {}
        waiting = _distributed().as_completed(loop=self._client.loop)
        room, asked = 0, -_GROWTH
        try:
            while ahead or position:
                if ahead and time.monotonic() - asked > _GROWTH:
                    room, asked = WINDOW * max(1, self._threads()), time.monotonic()
                while ahead and len(position) < room:
                    number = ahead.popleft()
                    future = self._client.submit(
                        _packed_attempt, self._evaluator, points[number], self._limits, pure=False
                    )
                    position[future.key] = number
                    waiting.add(future)
                if not waiting.has_ready():
                    time.sleep(_POLL)
                    continue
                future = next(waiting)
                attempt = _attempt_of(future)
                if attempt is None:
                    return
                yield position.pop(future.key), attempt
        except _lost_errors():
            return

    def _threads(self) -> int:
        return sum(self._client.nthreads().values())

    def _connect(self, *, is_awaited: bool = False) -> None:
        """Connect to the scheduler, and wait for the first worker.

        `is_awaited`: the user knows already that this may take a while. Raises WorkerLost if there
        is none.
        """
        end = time.monotonic() + _PATIENCE
        patience = _PATIENCE if is_awaited else _FIRST_TRY
        while True:
            try:
                self._reach(max(1.0, patience))
                break
            except _lost_errors() as error:
                if time.monotonic() > end:
                    raise WorkerLost(
                        f"there is no Dask scheduler with a worker: {error}",
                        value=self._address or DASK,
                        instead="start both (dask scheduler, dask worker HOST:PORT), then resume",
                    ) from None
            if not is_awaited:
                self._say_awaited("does not answer, or has no worker")
                is_awaited = True
            time.sleep(0.5)
            patience = end - time.monotonic()
        if is_awaited:
            say("the Dask scheduler answers and has a worker; the study goes on")

    def _reach(self, seconds: float) -> None:
        """Connect to the scheduler, wait so long for its first worker, and prepare all of them.

        Raises one of _lost_errors().
        """
        if self._client is not None:
            with suppress(*_lost_errors()):
                self._client.close(timeout=1)
        target = self._cluster if self._cluster is not None else self._address
        self._client = _distributed().Client(target, timeout=_FIRST_TRY, set_as_default=False)
        self._client.wait_for_workers(1, timeout=seconds)
        self._client.register_plugin(_preload())

    def _say_awaited(self, state: str) -> None:
        """Say what is awaited, how long, and what happens then; `state`: what the scheduler is."""
        where = "of this machine" if self._address is None else f"at {self._address}"
        say(
            f"the Dask scheduler {where} {state}; waiting at most {_PATIENCE:.0f} s for a scheduler"
            " with a worker there, then the run ends and can be resumed (study resume)"
        )


@contextmanager
def for_several_coordinators(executor: str, count: int) -> Iterator[str]:
    """Context manager that gives an executor to which processes of this run can connect.

    For `dask` it starts `count` workers on this machine. Others stay what they are.
    """
    if executor != DASK:
        yield executor
        return
    check_executor(executor)
    with unheard():
        cluster = _local_cluster(count)
    with cluster:
        yield f"{_PREFIX}{cluster.scheduler_address.removeprefix('tcp://')}"


def _local_cluster(count: int) -> Any:
    """Start a scheduler and `count` worker processes on this machine."""
    return _distributed().LocalCluster(
        n_workers=count, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    )


def check_executor(executor: str, coordinators: int = 1) -> None:
    """Check that an executor has a known form, and that Dask is installed if it needs it.

    executor: `dask`, or `dask://HOST:PORT` of a scheduler, of several ones separated by commas if a
    study has several coordinators (islands). Raises TilewrightError.
    """
    if executor != DASK and not executor.startswith(_PREFIX):
        raise TilewrightError(
            "there is no such executor",
            value=executor,
            instead="loky, dask, or dask://HOST:PORT of a scheduler",
        )
    if "," in executor and coordinators == 1:
        raise TilewrightError(
            "one coordinator has one scheduler",
            value=executor,
            instead="name one, or give the study several coordinators: search.islands",
        )
    from importlib.util import find_spec

    if find_spec("distributed") is None:
        raise TilewrightError(
            "Dask is not installed", value=executor, instead="pip install 'tilewright[dask]'"
        )


def _packed_attempt(evaluator: Evaluator, point: Point, limits: DesignLimits) -> bytes:
    """Evaluate one design on a worker; return the attempt packed.

    Heat maps and timelines of an executed design take 100 kB, packed some 5, and all results pass
    through the scheduler.
    """
    return lzma.compress(pickle.dumps(watched_attempt(evaluator, point, limits)), preset=1)


def _attempt_of(future: Any) -> Attempt | None:
    """Return the attempt that a task made, None if the scheduler has lost the task."""
    if future.status == "finished":
        attempt: Attempt = pickle.loads(lzma.decompress(future.result(timeout=60)))  # noqa: S301
        return attempt
    if future.status == "error":
        error = future.exception(timeout=60)
        if isinstance(error, _distributed().KilledWorker):
            reason = "its worker process died again and again, perhaps of too little memory"
            return Attempt(Outcome(reason=reason, status="failed"), 0.0)
        raise error
    return None  # cancelled, lost


def _lost_errors() -> tuple[type[BaseException], ...]:
    from asyncio import CancelledError as AsyncCancelled
    from asyncio import TimeoutError as AsyncTimeout
    from concurrent.futures import CancelledError

    closed: type[BaseException] = _distributed().comm.CommClosedError
    return (OSError, TimeoutError, AsyncTimeout, AsyncCancelled, CancelledError, closed)


def _distributed() -> Any:
    """Return the package distributed, which is not there in every installation."""
    return import_module("distributed")


def _preload() -> Any:
    """Return what each worker does at its start: import the modules of a search."""
    base: Any = _distributed().WorkerPlugin

    class Preload(base):  # type: ignore[misc]
        name = "tilewright"

        async def setup(self, worker: Any) -> None:
            from asyncio import to_thread

            del worker
            await to_thread(_import_search)  # the worker answers the scheduler meanwhile

    return Preload()


def _import_search() -> None:
    import tilewright.mapper.searches.api
    import tilewright.mapper.verification.verification  # noqa: F401
