"""What the operating system refuses ends in one message with the path and exit code 2."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from design_files import run, small_wafer_study

from tilewright.dse.run import replay_design as replay_module

SMALL = ["--set", "SCALE=64", "--set", "TOKENS=2", "--trials", "4", "--workers", "1"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    study = small_wafer_study(folder)
    assert run("study", "run", study, *SMALL, "--out", folder / "run").exit_code in (0, 3)
    return folder / "run"


@pytest.fixture
def copy(finished, tmp_path):
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def refused(done, *words):
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert "internal error" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    for word in words:
        assert str(word) in line, done.stderr


def test_a_run_directory_below_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    done = run("study", "run", "wafer_matvec", *SMALL, "--out", tmp_path / "file" / "run")
    refused(done, "Not a directory: ", tmp_path / "file")


def test_out_of_simulate_is_tried_before_anything_is_executed(copy, tmp_path, monkeypatch):
    def never(*_):
        raise AssertionError("executed")

    monkeypatch.setattr(replay_module, "make_evaluator", never)
    there = tmp_path / "nowhere" / "timeline.json"
    refused(run("simulate", copy, "--out", there), "No such file or directory: ", there)
    refused(run("simulate", copy, "--out", tmp_path), "Is a directory: ", tmp_path)


def test_trying_the_place_of_the_timeline_leaves_nothing(copy, tmp_path):
    done = run("simulate", copy, "--trial", 999, "--out", tmp_path / "timeline.json")
    assert done.exit_code == 2
    assert not (tmp_path / "timeline.json").exists()


def test_trials_that_cannot_be_read(copy):
    (copy / "trials.jsonl").unlink()
    for command in (["study", "resume"], ["study", "report"], ["simulate"]):
        refused(run(*command, copy), copy / "trials.jsonl", "is missing")
    (copy / "trials.jsonl").mkdir()
    for command in (["study", "resume"], ["study", "report"], ["simulate"]):
        refused(run(*command, copy), "Is a directory: ", copy / "trials.jsonl")


def test_a_mapping_that_cannot_be_saved(tmp_path):
    there = tmp_path / "nowhere" / "m.yaml"
    done = run("map", "--arch", "tpu_v4i", "--workload", "llama_projections", "--save", there)
    refused(done, "No such file or directory: ", there)


needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@needs_full
def test_a_full_device_for_the_timeline(copy):
    trial = [] if '"front": []' not in (copy / "front.json").read_text() else ["--trial", "0"]
    done = run("simulate", copy, *trial, "--out", "/dev/full")
    assert done.exit_code == 4  # the system has no room
    assert "error: No space left on device: /dev/full" in done.stderr


@needs_full
@pytest.mark.parametrize("arguments", [["study", "list"], ["--help"]])
def test_a_full_device_for_the_answer(arguments):
    program = "from tilewright.dse.command.cli import main; main()"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (4, "error: No space left on device\n")


def test_a_limit_of_the_size_of_files_ends_as_a_full_disk_does(tmp_path):
    """`ulimit -f`, some kB above the study's inputs; the run goes on without the limit."""
    program = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9000, -1));"
        "from tilewright.dse.command.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "study", "run",
         str(small_wafer_study(tmp_path)), *SMALL, "--out", str(tmp_path / "run")],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    assert f"error: File too large: {tmp_path / 'run'}" in done.stderr
    assert run("study", "resume", tmp_path / "run").exit_code in (0, 3)
