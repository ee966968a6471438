"""Random families of tests with fresh seeds, for a given time: `make explore`.

A family is a test by hypothesis, one with a parameter `block`, one with the fixture `shift`, or one
marked `random` with a parameter `seed`. `--explore-seed N` runs the families alone, each once: it
adds N to `block` and `seed`, `shift` is N, and hypothesis draws from N. The same N replays it.
"""

from __future__ import annotations

import random
import signal
import time
from types import FrameType
from typing import Any

import hypothesis.core
import pytest
from hypothesis import is_hypothesis_test, settings

SHIFTED = ("block", "seed", "shift")
_SHIFT = 0
_WITHOUT_NIGHTLY = False


def enough(done: int, least: int) -> bool:
    """Tell whether a family compared as many of its cases as it does with its usual seeds.

    Cases that are too large are passed over; with fresh seeds there may be many of these.
    """
    return bool(_SHIFT) or done >= least


def at_night(*seeds: Any) -> list[Any]:
    """Return parameters of a family whose tests are nightly; none in a run without nightly tests.

    Ten thousand tests that are collected only to be deselected take seconds in every process.
    """
    if _WITHOUT_NIGHTLY:
        return []
    return [pytest.param(seed, marks=pytest.mark.nightly) for seed in seeds]


def collect(without_nightly: bool) -> None:
    """Tell whether nightly tests of families need not be made."""
    global _WITHOUT_NIGHTLY  # noqa: PLW0603
    _WITHOUT_NIGHTLY = without_nightly


def is_family(item: pytest.Item) -> bool:
    """Tell whether any seed will do."""
    if not isinstance(item, pytest.Function):
        return False
    names = set(item.fixturenames)
    marked = "seed" in names and item.get_closest_marker("random") is not None
    return marked or bool({"block", "shift"} & names) or is_hypothesis_test(item.obj)


class ExplorePlugin:
    """What a run with `--explore-seed` does. The time of a process begins with its first test."""

    def __init__(self, config: pytest.Config) -> None:
        global _SHIFT  # noqa: PLW0603
        self.config = config
        self.seed: int = config.option.explore_seed
        self.seconds: float = config.option.explore_seconds
        self.end = 0.0
        _SHIFT = self.seed
        settings.register_profile(
            "explore",
            derandomize=False,
            deadline=None,
            print_blob=True,
            database=None,
            max_examples=100,
        )
        settings.load_profile("explore")
        hypothesis.core.global_force_seed = self.seed

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep one of each family, in an order drawn from the seed."""
        chosen: dict[object, pytest.Item] = {}
        for item in items:
            if is_family(item):
                chosen.setdefault(family_of(item), item)
        kept = list(chosen.values())
        self.config.hook.pytest_deselected(items=[i for i in items if i not in set(kept)])
        random.Random(self.seed).shuffle(kept)
        items[:] = kept

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Function) -> Any:
        """Shift the seeds; end a test with the time."""
        for name in {"block", "seed"} & set(item.funcargs):
            if isinstance(item.funcargs[name], int):
                item.funcargs[name] += self.seed
        self.end = self.end or time.monotonic() + self.seconds
        left = self.end - time.monotonic()
        if left <= 0:
            pytest.skip("the time is over")
        before = signal.signal(signal.SIGALRM, _end)
        signal.setitimer(signal.ITIMER_REAL, left)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for report in terminalreporter.getreports("failed"):
            line = f"replay: .venv/bin/python -m pytest --explore-seed {self.seed}"
            terminalreporter.write_line(f"{line} -m '' '{report.nodeid}'")


def family_of(item: pytest.Item) -> object:
    """Return the test and its parameters that are no seeds."""
    assert isinstance(item, pytest.Function)
    params = getattr(item, "callspec", None)
    others = {k: v for k, v in params.params.items() if k not in SHIFTED} if params else {}
    return item.path, item.originalname, repr(others)


def _end(_: int, frame: FrameType | None) -> None:
    """End a test; a moment later where Python swallows exceptions: collecting garbage."""
    while frame is not None:
        if frame.f_code.co_name in {"gc_callback", "__del__"}:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            return
        frame = frame.f_back
    pytest.skip("the time is over")


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("explore", "random families of tests")
    told = "run the random families alone, with seeds that begin here"
    group.addoption("--explore-seed", type=int, default=0, help=told)
    told = "end the tests after so many seconds"
    group.addoption("--explore-seconds", type=float, default=1e9, help=told)
