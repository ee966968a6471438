"""Whether a run is being worked on, told from the kernel's locks and the pending outcomes."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from design_files import run, run_here
from toy_module import TOY

from tilewright.dse.query.running import can_tell, evaluated_of_batch, process_of


def test_a_lock_names_its_process(tmp_path):
    (tmp_path / "trials.jsonl").write_text("")
    place = (tmp_path / "trials.jsonl").stat()
    device = f"{os.major(place.st_dev):02x}:{os.minor(place.st_dev):02x}"
    locks = tmp_path / "locks"
    locks.write_text(
        f"1: POSIX  ADVISORY  READ 7 {device}:{place.st_ino + 1} 0 EOF\n"
        f"2: FLOCK  ADVISORY  WRITE 4711 {device}:{place.st_ino} 0 EOF\n"
    )
    assert process_of(tmp_path, locks) == 4711
    locks.write_text(f"1: POSIX  ADVISORY  READ 7 {device}:{place.st_ino + 1} 0 EOF\n3: odd\n")
    assert process_of(tmp_path, locks) is None
    assert process_of(tmp_path, tmp_path / "nowhere") is None
    assert process_of(tmp_path / "nowhere", locks) is None
    assert evaluated_of_batch(tmp_path) == 0


@pytest.mark.skipif(not can_tell(), reason="needs /proc/locks")
def test_watch_tells_a_run_from_one_that_was_left(tmp_path):
    process = subprocess.Popen(
        [sys.executable, str(TOY), str(tmp_path), "start", "1", "nsga2", "0.2"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        folder = tmp_path / "run"
        for _ in range(600):
            if evaluated_of_batch(folder):
                break
            time.sleep(0.05)
        assert process_of(folder) == process.pid
        watched = run("study", "watch", folder, "--once")
        assert "72 trials | " in watched.stdout
        assert "of the next batch evaluated" in watched.stdout
        assert "no process here" not in watched.stderr
    finally:
        process.kill()
        process.wait()
    assert process_of(folder) is None
    left = run("study", "watch", folder, "--once")
    assert f"no process here runs it; `tilewright study resume {folder}` goes on" in left.stderr


def test_watch_of_a_run_that_has_ended_says_no_more(toy, tmp_path):
    run_here(toy, tmp_path, {"search.trials": 8})
    done = run("study", "watch", tmp_path / "run")
    assert done.stdout.startswith("4/8 trials | front "), "12 of 16 cannot be built"
    assert done.stderr == ""
