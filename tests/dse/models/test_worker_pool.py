"""Designs evaluated here and in worker processes."""

from __future__ import annotations

import inspect
import os
import re
import signal
import threading
import time
import warnings
from pathlib import Path

import pytest
from joblib.externals.loky import get_reusable_executor, process_executor
from joblib.externals.loky.process_executor import BrokenProcessPool

from tilewright.arch.errors import SpecError
from tilewright.dse.models.design_watch import watched_attempt
from tilewright.dse.models.evaluator import Outcome
from tilewright.dse.models.worker_pool import WORKER_REPLACED, InProcess, Workers, make_pool
from tilewright.dse.study.study import DesignLimits

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


def blocked(status):
    """The signals that a thread blocks, from its status file."""
    (line,) = [line for line in status.read_text().splitlines() if line.startswith("SigBlk:")]
    mask = int(line.split()[1], 16)
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


def test_workers_and_what_starts_them_again_do_not_hear_signals():
    class Masks:
        def evaluate(self, point):
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
            return Outcome({"blocked": float({signal.SIGINT, signal.SIGTERM} <= set(mask))})

    get_reusable_executor().shutdown(wait=True)  # workers that another test has left
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    old = {thread.ident for thread in threading.enumerate()}
    with Workers(Masks(), 2) as pool:
        answers = pool.evaluate([{}] * 4, lambda done, count: None)
        threads = {
            thread.name: blocked(Path(f"/proc/self/task/{thread.native_id}/status"))
            for thread in threading.enumerate()
            if thread.ident not in old
        }
    assert [attempt.outcome.metrics for attempt in answers] == [{"blocked": 1.0}] * 4
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before
    managers = [mask for name, mask in threads.items() if "Manager" in name]
    assert managers, threads
    assert all({signal.SIGINT, signal.SIGTERM} <= mask for mask in managers)


class Square:
    """Scores a number; 3 cannot be built, and 4 is a defect."""

    def evaluate(self, point):
        if point["x"] == 3:
            raise SpecError("three is refused")
        return Outcome({"y": float(point["x"] ** 2 // (4 - point["x"]))})


def test_a_worker_that_joblib_replaces_is_no_warning():
    """Joblib ends a worker that has grown by 300 MB, and says so with a line of its own sources."""
    known = " ".join(re.findall(r'"([^"\n]*)"', inspect.getsource(process_executor)))
    assert WORKER_REPLACED in known.replace("  ", " ")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        Workers(Square(), 2)
        warnings.warn(f"{WORKER_REPLACED}. This can be …", UserWarning, stacklevel=1)
        warnings.warn("something else", UserWarning, stacklevel=1)
    assert [str(each.message) for each in heard] == ["something else"]


@pytest.mark.parametrize("workers", [1, 2])
def test_answers_come_in_the_order_of_the_designs(workers):
    noted = []
    with make_pool(Square(), workers) as pool:
        attempts = pool.evaluate(
            [{"x": x} for x in (2, 3, 1, 4)], lambda done, count: noted.append((done, count))
        )
    outcomes = [attempt.outcome for attempt in attempts]
    assert [outcome.status for outcome in outcomes] == [
        "feasible",
        "infeasible",
        "feasible",
        "error",
    ]
    assert (outcomes[0].metrics, outcomes[2].metrics) == ({"y": 2.0}, {"y": 0.0})
    assert outcomes[1].reason == "three is refused"
    assert str(outcomes[3].reason).startswith("internal error: ZeroDivisionError")
    assert noted == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_one_worker_is_this_process():
    assert isinstance(make_pool(Square(), 1), InProcess)
    assert isinstance(make_pool(Square(), 2), Workers)


def test_a_worker_that_dies_costs_its_own_design():
    class Dying:
        def evaluate(self, point):
            if point["x"] == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            return Outcome({"y": 1.0})

    get_reusable_executor().shutdown(wait=True)
    with Workers(Dying(), 2) as pool:
        answers = pool.evaluate([{"x": x} for x in range(4)], lambda done, count: None)
    assert [each.outcome.status for each in answers] == ["feasible", "failed"] + ["feasible"] * 2
    assert answers[1].outcome.reason == "its worker process died, perhaps of too little memory"


@pytest.mark.nightly
def test_a_design_whose_workers_are_killed_twice_by_others_is_evaluated(tmp_path):
    class Killed:
        def evaluate(self, point):
            kills = tmp_path / "kills"
            count = len(kills.read_text()) if kills.exists() else 0
            if point["x"] == 1 and count < 2:
                kills.write_text("x" * (count + 1))
                os.kill(os.getpid(), signal.SIGKILL)
            return Outcome({"y": 1.0})

    get_reusable_executor().shutdown(wait=True)
    with Workers(Killed(), 2) as pool:
        answers = pool.evaluate([{"x": x} for x in range(3)], lambda done, count: None)
    assert [each.outcome.status for each in answers] == ["feasible"] * 3


def test_an_answer_that_cannot_be_read_ends_no_batch(monkeypatch):
    """As the half that a worker leaves which dies while it writes."""
    answered = Workers._answers

    def torn(pool, points):
        if len(points) > 1:
            yield from answered(pool, points[:1])
            raise BrokenProcessPool("A result has failed to un-serialize.")
        yield from answered(pool, points)

    monkeypatch.setattr(Workers, "_answers", torn)
    with Workers(Square(), 2) as pool:
        answers = pool.evaluate([{"x": x} for x in (1, 2, 0)], lambda done, count: None)
    assert [each.outcome.metrics for each in answers] == [{"y": 0.0}, {"y": 2.0}, {"y": 0.0}]


def test_a_limit_begins_after_what_designs_call_is_compiled(monkeypatch):
    """With no machine code on disk; a stand-in for the compilation, which takes seconds."""
    compiled = []

    class Slow:
        name = "slow"
        identity = ("slow", "slow", "void()")

        def load(self):
            time.sleep(0.6)
            compiled.append(self.name)

    class Model(Square):
        def kernels(self):
            return [Slow()]

    monkeypatch.setattr("tilewright.arch.parallel_compilation.is_kept", lambda _: False)
    monkeypatch.setattr("tilewright.arch.parallel_compilation.compile_missing", lambda _: None)
    for x in (1, 2):
        answer = watched_attempt(Model(), {"x": x}, DesignLimits(seconds=0.3))
        assert answer.outcome.metrics == Square().evaluate({"x": x}).metrics
    assert compiled == ["slow"], "looked for once"
