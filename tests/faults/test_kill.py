"""Kill -9 and Ctrl-C of a running study: what is resumed ends like what was never stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from explore import at_night

TOY = Path(__file__).parents[1] / "dse" / "toy_study.py"


def start(folder, action, workers, pause="0.01"):
    return subprocess.Popen(
        [sys.executable, str(TOY), str(folder), action, str(workers), "nsga2", pause],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_bytes(process, log, least):
    """Wait until the log has that many bytes (or the process has ended)."""
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if log.exists() and log.stat().st_size > least:
            return
        time.sleep(0.002)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    process = start(folder, "start", 1, "0")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    run = folder / "run"
    return (run / "trials.jsonl").read_bytes(), (run / "front.json").read_bytes()


def finished(folder, whole):
    process = start(folder, "resume", 1, "0")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    run = folder / "run"
    # The input files of each run lie in a folder of their own: only their contents count.
    assert (run / "trials.jsonl").read_bytes() == whole[0]
    assert (run / "front.json").read_bytes() == whole[1]


@pytest.mark.parametrize("workers", [2, *at_night(1)])
def test_kill_twice_and_resume(tmp_path, whole, workers):
    log = tmp_path / "run" / "trials.jsonl"
    process = start(tmp_path, "start", workers)
    wait_for_bytes(process, log, 4000)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    first = len(log.read_bytes())
    assert 0 < first < len(whole[0]), "the run must be cut in the middle"

    process = start(tmp_path, "resume", workers)
    wait_for_bytes(process, log, first + 4000)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert first < len(log.read_bytes()) < len(whole[0])
    finished(tmp_path, whole)


@pytest.mark.nightly
def test_kill_right_after_the_start(tmp_path, whole):
    process = start(tmp_path, "start", 1)
    wait_for_bytes(process, tmp_path / "run" / "env.json", 0)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    finished(tmp_path, whole)


@pytest.mark.parametrize("workers", [1, *at_night(2)])
def test_ctrl_c_finishes_the_batch_and_can_be_resumed(tmp_path, whole, workers):
    log = tmp_path / "run" / "trials.jsonl"
    process = start(tmp_path, "start", workers)
    wait_for_bytes(process, log, 4000)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the whole group
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    part = log.read_bytes()
    assert whole[0].startswith(part)
    assert part.count(b"\n") % 8 == 0
    assert (tmp_path / "run" / "report.html").exists()
    finished(tmp_path, whole)


def test_two_processes_do_not_share_a_run(tmp_path):
    first = start(tmp_path, "start", 1, "0.05")
    try:
        wait_for_bytes(first, tmp_path / "run" / "trials.jsonl", 0)
        second = start(tmp_path, "resume", 1)
        _, errors = second.communicate(timeout=60)
        assert second.returncode != 0
        assert "another process is running the study" in errors
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
