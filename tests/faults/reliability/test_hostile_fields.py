"""A hostile value in each field of each kind of file: what comes is valid, or an error of ours.

The docstring of the first test is a row of docs/validation/reliability.md.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("hostile_fields.py")
KINDS = ("arch", "workload", "mapping", "study", "table", "profile")


def tried(kind: str, count: int, seed: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, SCRIPT, "--kind", kind, "--count", str(count), "--seed", str(seed)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="the script forks, and reads Linux's units")
@pytest.mark.parametrize("kind", KINDS)
def test_14_hostile_values_in_fields(kind: str) -> None:
    """A hostile value, or key, in any field of an architecture, workload, mapping, study, cost
    table or machine profile, under `validate`, `map`, `evaluate`, `study run` and `run`, ends as
    valid or in an error of ours: no traceback, no internal error, an exit code with a meaning, JSON
    that is JSON, no control characters, no more than 8 s and 700 MB
    (`tests/faults/reliability/hostile_fields.py` runs all, or as many as are wanted)."""
    done = tried(kind, 2, 1)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{kind}: 2 cases" in done.stdout


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_14_hostile_values_in_many_fields(kind: str, shift: int) -> None:
    """Two hundred other values of each kind of file (nightly)."""
    done = tried(kind, 200, shift + 2)
    assert done.returncode == 0, done.stdout + done.stderr


DEFECT = """
import sys
sys.path.insert(0, sys.argv[1])
import hostile_fields
from pathlib import Path
from tilewright.dse.command import command_validate

def broken(*_):
    raise KeyError("nothing")

command_validate._check = broken
case = next(hostile_fields.cases(hostile_fields.targets()["table"]))
case = hostile_fields.Case(case.place, "1", ("validate", "arch.yaml", "--json"))
(found,) = hostile_fields.try_all([case], "table")
print(found[1])
"""


def test_a_defect_is_seen_by_the_script() -> None:
    command = [sys.executable, "-c", DEFECT, str(SCRIPT.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "exit code 1" in done.stdout, done.stderr
    assert "internal error: KeyError: 'nothing'" in done.stdout
