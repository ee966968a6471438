"""The road to SLURM as docs/studies.md has it, with a stand-in for SLURM's commands.

There is no SLURM here. `sbatch` and `scancel` of the stand-in start the job script of dask-jobqueue
as a process of this machine and end it: all but the queue itself is the real thing.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tilewright.dse.run.rundir import TRIALS
from tilewright.dse.run.runner import RunSettings, start_study
from tilewright.dse.study.study_loading import load_study

pytestmark = pytest.mark.nightly
HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[2] / "docs" / "studies.md"
SBATCH = """\
#!/usr/bin/env bash
# Starts a job script as a process of this machine, as the leader of a group of its own.
set -eu
test "$#" = 1
script=$(mktemp "$JOBS/job.XXXXXX")
cat "$1" > "$script"
setsid bash "$script" > "$script.out" 2>&1 < /dev/null &
echo "$!" >> "$JOBS/submitted"
echo "Submitted batch job $!"
"""
SCANCEL = """\
#!/usr/bin/env bash
for job in "$@"; do
  echo "$job" >> "$JOBS/cancelled"
  kill -TERM -- "-$job" || exit 1
done
"""


def documented(jobs: int) -> str:
    """Return the program of the page, for so many small jobs on this machine alone."""
    program = re.search(r"```text\n(from dask_jobqueue.*?)```", PAGE.read_text(), re.DOTALL)[1]
    for stated, small in (
        ('cores=32, processes=32, memory="64GB"', 'cores=1, processes=1, memory="2GB"'),
        ('interface="ib0"', 'interface="lo"'),
        ("minimum_jobs=8, maximum_jobs=8", f"minimum_jobs={jobs}, maximum_jobs={jobs}"),
    ):
        assert program.count(stated) == 1, f"the page says {stated}"
        program = program.replace(stated, small)
    return program


class Jobs:
    """Jobs of workers, submitted by the program of the page with the stand-in on its PATH."""

    def __init__(self, folder: Path, count: int):
        self.folder = folder / "jobs"
        self.folder.mkdir()
        commands = folder / "bin"
        commands.mkdir()
        for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
            (commands / name).write_text(text)
            (commands / name).chmod(0o755)
        environment = {
            **os.environ,
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(HERE.parent),  # the workers import the toy
            "JOBS": str(self.folder),
        }
        self._program = subprocess.Popen(
            [sys.executable, "-u", "-c", documented(count)], env=environment, cwd=folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.executor = self._program.stdout.readline().strip()

    def of(self, name: str) -> list[str]:
        """Return the numbers of the jobs that were `submitted`, or `cancelled`."""
        path = self.folder / name
        return path.read_text().split() if path.exists() else []

    def end(self) -> None:
        """Press Enter, as the page says; return when the program has ended."""
        self._program.communicate("\n", timeout=60)

    def close(self) -> None:
        self._program.kill()
        self._program.wait()
        for job in self.of("submitted"):
            subprocess.run(["pkill", "-KILL", "-g", job], check=False)


@pytest.fixture
def jobs(tmp_path):
    pytest.importorskip("dask_jobqueue", reason="not installed: pip install dask-jobqueue")
    jobs = Jobs(tmp_path, 2)
    yield jobs
    jobs.close()


def test_the_documented_program_submits_workers_and_replaces_a_job_that_ends(toy, tmp_path, jobs):
    assert re.fullmatch(r"dask://127\.0\.0\.1:\d+", jobs.executor)
    spec = load_study(toy.write_study(tmp_path), {"search.trials": 48})
    local = start_study(spec, tmp_path / "local", RunSettings(evaluator=toy.ToyModel(0.0)))
    record = tmp_path / "slurm" / TRIALS

    def time_is_up():
        """End a job in the middle of the run, as SLURM does when its walltime is over."""
        while not record.exists() or record.read_bytes().count(b"\n") < 8:
            time.sleep(0.05)
        subprocess.run(["pkill", "-TERM", "-g", jobs.of("submitted")[0]], check=True)

    harm = threading.Thread(target=time_is_up, daemon=True)
    harm.start()
    execution = RunSettings(evaluator=toy.ToyModel(0.5), executor=jobs.executor)
    start_study(spec, tmp_path / "slurm", execution)
    harm.join()
    assert record.read_bytes() == (local.run.path / TRIALS).read_bytes()
    script = next(p.read_text() for p in jobs.folder.glob("job.*") if p.suffix != ".out")
    assert "#SBATCH --mem=2G" in script
    assert "#SBATCH -t 04:00:00" in script
    for _ in range(300):
        if len(jobs.of("submitted")) > 2:
            break
        time.sleep(0.1)
    assert len(jobs.of("submitted")) > 2, "another job stands in for the one that ended"
    jobs.end()
    assert jobs.of("cancelled"), "Enter ends the jobs"
