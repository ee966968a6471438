"""Random families with fresh seeds: `make explore` and what it tells its worker processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FAMILY = "tests/mapper/mapspace/test_lattice.py"


def test_the_time_ends_in_worker_processes_too() -> None:
    command = [sys.executable, "-m", "pytest", "-m", "", "-n", "1", "--explore-seed=7"]
    done = subprocess.run(
        [*command, "--explore-seconds=0", FAMILY],
        cwd=Path(__file__).resolve().parent.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "1 skipped" in done.stdout
