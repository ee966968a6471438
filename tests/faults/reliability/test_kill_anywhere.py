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


def start(folder, action, pause, workers=1, sampler="nsga2"):
    return subprocess.Popen(
        [sys.executable, str(TOY), str(folder), action, str(workers), sampler, str(pause)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("sampler", "workers", "kills"), [("nsga2", 1, 100), ("nsga2:3", 1, 30), ("nsga2:3", 2, 30)]
)
def test_10_killed_anywhere(tmp_path, sampler, workers, kills):
    """Runs killed by `kill -9` at 160 random moments (nightly) resume to the same bytes."""
    assert start(tmp_path / "whole", "start", 0, 1, sampler).wait(120) == 0
    whole = log_of(tmp_path / "whole")
    moments = random.Random(5)
    for number in range(kills):
        folder = tmp_path / str(number)
        process = start(folder, "start", 0.01, workers, sampler)
        deadline = time.monotonic() + 60
        while not (folder / "run/env.json").exists() and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(moments.uniform(0, 1.2 * workers))
        os.kill(process.pid, signal.SIGKILL)  # others end by themselves
        process.wait()
        assert start(folder, "resume", 0, 1, sampler).wait(120) == 0, number
        assert log_of(folder) == whole, number
