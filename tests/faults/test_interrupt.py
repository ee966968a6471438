"""Ctrl-C at any moment of `study run`: the first one finishes the batch, the second one leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from explore import at_night

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

COMMAND = [sys.executable, "-c", "from tilewright.dse.command.cli import main; main()"]
SLOW = ["wafer_matvec", "--set", "SCALE=64", "--set", "TOKENS=2"]
QUICK = ["trainium_matmul"]
"""Studies whose designs take seconds, and milliseconds."""
BATCH = 2
SMALL = ["--set", f"search.batch={BATCH}", "--workers", "2", "--out", "my run"]


def start(folder, study, trials):
    return subprocess.Popen(
        [*COMMAND, "study", "run", *study, *SMALL, "--trials", str(trials)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=folder,
    )


def members(group):
    """The living processes of a group."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, number = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # it has just ended
            continue
        if int(number) == group and state != "Z":
            found.append(int(path.parent.name))
    return found


def wait_for_members(process, count):
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if len(members(process.pid)) >= count:
            return
        time.sleep(0.002)
    pytest.fail(f"never saw {count} processes: {process.communicate()}")


# The coordinator and two trackers make three; the fourth and the fifth are the workers.
@pytest.mark.parametrize("moment", [(4, 0), *at_night((2, 0), (3, 0), (5, 0), (5, 0.3))])
def test_ctrl_c_while_the_workers_start(tmp_path, moment):
    count, delay = moment
    process = start(tmp_path, QUICK if moment == (4, 0) else SLOW, 2 * BATCH)
    wait_for_members(process, count)
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGINT)
    answer, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors + answer
    assert errors.rstrip().endswith("go on with: tilewright study resume 'my run'")
    lines = (tmp_path / "my run" / "trials.jsonl").read_text().count("\n")
    assert lines in (0, BATCH)
    assert lines == BATCH or count < 4, "a batch that has begun is finished"
    assert (tmp_path / "my run" / "report.html").exists()


def test_second_ctrl_c_leaves_at_once_and_quietly(tmp_path):
    process = start(tmp_path, SLOW, BATCH)
    wait_for_members(process, 5)
    for _ in range(2):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.2)
    answer, errors = process.communicate(timeout=20)
    assert process.returncode == 130, errors
    assert answer == ""
    words = [line for line in errors.splitlines() if line]
    assert words[-1] == "interrupted; go on with: tilewright study resume 'my run'"
    assert len(words) == 3, errors
    deadline = time.monotonic() + 10
    while members(process.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not members(process.pid), "no worker stays behind"
    assert not list(Path("/dev/shm").glob(f"*loky-{process.pid}-*"))
