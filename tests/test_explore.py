"""Random families with fresh seeds: `make explore` and what it tells its worker processes."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import explore
import pytest

FAMILY = "tests/mapper/mapspace/test_lattice.py"


@pytest.mark.nightly
def test_the_time_ends_in_worker_processes_too() -> None:
    command = [sys.executable, "-m", "pytest", "-m", "", "-n", "1", "--explore-seed=7"]
    done = subprocess.run(
        [*command, "--explore-seconds=0", FAMILY],
        cwd=Path(__file__).resolve().parent.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "1 skipped" in done.stdout


def test_no_test_is_ended_while_garbage_is_collected() -> None:
    """Python swallows what is raised there; the test is ended a moment later."""

    def gc_callback() -> float:
        explore._end(signal.SIGALRM, sys._getframe())
        return signal.setitimer(signal.ITIMER_REAL, 0)[0]

    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        assert gc_callback() > 0
    finally:
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(pytest.skip.Exception):
        explore._end(signal.SIGALRM, sys._getframe())
