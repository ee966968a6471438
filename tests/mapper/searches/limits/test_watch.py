"""A thread that interrupts what takes too long: in any thread, once, and nothing else."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path

import numpy as np
import pytest

from tilewright.arch.errors import lacks_memory
from tilewright.mapper.searches.budget import STOP_REQUESTED, Budget, EndReason, resident_bytes
from tilewright.mapper.searches.exact import kernels
from tilewright.mapper.searches.exact.remaining.carried_energy import NOTHING_CARRIED
from tilewright.mapper.searches.exact.remaining.remaining_latency import UNTIMED
from tilewright.mapper.searches.limits import watch
from tilewright.mapper.searches.limits.watch import Interruption, interrupted_when, limits_reached


@contextmanager
def soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in (
        ("AT_LEAST", 0.05),
        ("AT_ONCE", 0.06),
        ("LOOK", 0.002),
        ("_ONCE_MORE", 0.02),
    ):
        monkeypatch.setattr(watch, name, value)
    yield


def without_end() -> str:
    while True:
        sum(range(100))


def after(seconds: float) -> Callable[[], str | None]:
    begin = time.monotonic()
    return lambda: "late" if time.monotonic() - begin > seconds else None


def test_threads_that_start_meanwhile() -> None:
    """A subprocess: a new thread could get the exception before it says that it runs."""
    code = (
        "from tilewright.arch.lean import background\n"
        "from tilewright.mapper.searches.limits import watch\n"
        "import time\n"
        "background._LISTEN, watch.LOOK = 0.0, 0.001\n"
        "def starts():\n"
        "    while True:\n"
        "        background.in_background(lambda: None)\n"
        "for _ in range(200):\n"
        "    end = time.monotonic() + 0.003\n"
        "    late = lambda: 'late' if time.monotonic() > end else None\n"
        "    assert watch.interrupted_when(late, starts, str.upper) == 'LATE'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_under_a_profiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """A subprocess: the interpreter itself may go round in circles, and hear no signal."""
    code = (
        "import cProfile, test_watch as t\n"
        "with cProfile.Profile():\n"
        "    for _ in range(3):\n"
        "        print(t.interrupted_when(t.after(0.05), t.without_end, str.upper))\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["LATE"] * 3


def test_in_the_main_thread_and_in_another(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = []

    def work() -> None:
        answers.append(interrupted_when(after(0.05), without_end, str.upper))

    with soon(monkeypatch):
        work()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
    assert answers == ["LATE", "LATE"]


def test_what_ends_in_time_is_returned_and_errors_pass() -> None:
    assert interrupted_when(lambda: None, lambda: 3, lambda _: 4) == 3
    with pytest.raises(KeyError):
        interrupted_when(lambda: None, lambda: {}["x"], lambda _: 4)
    assert not [t for t in threading.enumerate() if "_look" in t.name]


def test_where_the_system_has_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system says reaches the caller, who can tell it from a defect."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError) as caught:
        interrupted_when(lambda: None, lambda: 3, lambda _: 4)
    assert lacks_memory(caught.value)


def test_a_long_step_over_labels_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call of machine code would compare 400,000 labels with each other for minutes."""
    rising = np.arange(400_000.0)
    label = np.column_stack([rising, rising[::-1], -np.ones(400_000)])
    table = np.array([0, len(label)]), np.ascontiguousarray(label)
    same, further = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.5, -0.5, 0.0]
    choices = kernels.ChoiceArrays(
        np.zeros((2, 1), np.int64), np.array([same, further]), np.zeros((0, 1)), np.ones(2)
    )
    limits = np.array([0.0, inf, 0.0, 0.0, 0.0, 0.0, 2.0, inf])
    no_time = UNTIMED.seconds, UNTIMED.terms, NOTHING_CARRIED.rows
    pruning = kernels.PruningArrays(np.zeros(1), np.ones(1), limits, *no_time)
    kernels.SEARCH_KERNELS[1].load()
    begin = time.monotonic()
    with soon(monkeypatch):
        answer = interrupted_when(
            after(0.05), lambda: kernels.distribute(table, 2, choices, pruning), lambda _: "late"
        )
    assert answer == "late"
    assert time.monotonic() - begin < 30


def test_an_interruption_that_is_not_heard_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = []

    def deaf() -> str:
        while True:
            try:
                without_end()
            except Interruption:
                heard.append(1)
                if len(heard) == 3:
                    raise

    with soon(monkeypatch):
        assert interrupted_when(after(0.01), deaf, str.upper) == "LATE"
    assert len(heard) == 3


def test_an_interruption_that_a_callback_gets_is_not_printed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What Python cannot raise there is lost, and comes again."""
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    callback = ctypes.CFUNCTYPE(None)(lambda: sum(range(20_000)))

    def in_callbacks() -> str:
        while True:
            callback()

    with soon(monkeypatch):
        for _ in range(3):
            assert interrupted_when(after(0.01), in_callbacks, str.upper) == "LATE"
    assert capfd.readouterr().err == ""


def test_only_the_outer_call_hears_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with soon(monkeypatch):
        inner = interrupted_when(
            after(0.05),
            lambda: interrupted_when(lambda: None, without_end, lambda _: "inner"),
            lambda _: "outer",
        )
    assert inner == "outer"


def test_no_interruption_comes_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the limit is reached just as the call ends."""
    with soon(monkeypatch):
        for _ in range(300):
            answer = interrupted_when(after(0.002), lambda: time.sleep(0.002), lambda _: "late")
            assert answer in (None, "late")
            sum(range(1000))


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.1])
def test_the_clock(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth later than the budget, and not before AT_LEAST."""
    with soon(monkeypatch):
        begin = time.monotonic()
        reached = limits_reached(Budget(begin + seconds), seconds)
        while reached() is None:
            time.sleep(0.001)
        assert reached() is EndReason.SECONDS
        assert time.monotonic() - begin >= max(0.05, 1.1 * seconds)
    assert limits_reached(Budget(), None)() is None


def test_the_time_to_close_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    with soon(monkeypatch):
        begin = time.monotonic()
        assert limits_reached(Budget(begin + 10), 10.0, closing=0.5)() is None
        assert limits_reached(Budget(begin + 10), 10.0, closing=11.5)() is EndReason.SECONDS


def test_the_memory() -> None:
    reached = limits_reached(Budget(memory=1.0), None)
    assert reached() is None  # 64 MB are left to any search
    more = np.ones(25_000_000)
    assert reached() is EndReason.MEMORY
    assert limits_reached(Budget(memory=inf), None)() is None
    assert limits_reached(Budget(memory=1.2 * resident_bytes()), None)() is None
    del more


def test_a_request_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        with soon(monkeypatch):
            reached = limits_reached(Budget(), None)
            assert reached() is None
            STOP_REQUESTED.set()
            assert reached() is None  # the search has time to hear of it
            time.sleep(0.06)
            assert reached() is EndReason.STOPPED
    finally:
        STOP_REQUESTED.clear()
