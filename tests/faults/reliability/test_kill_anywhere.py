"""Kill -9 at 100 random moments: what is resumed ends with the bytes of what was never stopped.

The docstring of each test is a row of docs/validation/reliability.md.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from design_files import log_of

TOY = Path(__file__).parents[2] / "dse" / "toy_study.py"


def start(folder, action, pause, workers=1):
    return subprocess.Popen(
        [sys.executable, str(TOY), str(folder), action, str(workers), "nsga2", str(pause)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.nightly
def test_10_killed_anywhere(tmp_path):
    """Runs killed by `kill -9` at 100 random moments (nightly) resume to the same bytes."""
    assert start(tmp_path / "whole", "start", 0).wait(120) == 0
    whole = log_of(tmp_path / "whole")
    moments = random.Random(5)
    for number in range(100):
        folder = tmp_path / str(number)
        process = start(folder, "start", 0.01)
        deadline = time.monotonic() + 60
        while not (folder / "run/env.json").exists() and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(moments.uniform(0, 1.2))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert start(folder, "resume", 0).wait(120) == 0, number
        assert log_of(folder) == whole, number
