"""Record the runs of the machine that other tests make, as requests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pinned_answers import Data
from product_answers import packed_array

from tilewright.simulator.profiles.profile import Profile, load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.printing import print_program

ROOT = Path(__file__).resolve().parents[2]
TESTS = ("tests/programs", "tests/simulator")
MOST_CHARACTERS, MOST_DATA = 5000, 4000


class Recorder:
    """A plugin of pytest: keeps the first run of every test, or the first program refused."""

    def __init__(self) -> None:
        self.found: dict[str, Data] = {}
        self._test = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self._test = item.nodeid
        return (yield)

    def keep(self, program: Any, profile: Profile, memory: Any = None, edges: Any = None) -> None:
        if self._test in self.found:
            return
        try:
            request = {
                "ask": "run",
                "profile": profile.name,
                "changes": changes_of(profile),
                "program": print_program(program),
                "memory": {name: packed_array(v) for name, v in (memory or {}).items()},
                "edges": {name: packed_array(v) for name, v in (edges or {}).items()},
            }
            data = len(json.dumps([request["memory"], request["edges"], request["changes"]]))
        except Exception:  # a broken program may have no text, or broken data
            return
        if len(request["program"]) <= MOST_CHARACTERS and data <= MOST_DATA:
            self.found[self._test] = request


def changes_of(profile: Profile) -> Data:
    """Return the fields in which a profile differs from the shipped one of its name."""
    shipped = load_profile(profile.name)
    changes: Data = {}
    for name in Profile.__dataclass_fields__:
        value = getattr(profile, name)
        if name in ("name", "sources") or value == getattr(shipped, name):
            continue
        if isinstance(value, Mapping):
            raise ValueError(f"{name} of the profile is changed")
        if isinstance(value, Fraction):
            value = str(value)
        changes[name] = list(value) if isinstance(value, tuple) else value
    return changes


def record(file: str) -> None:
    """Run the tests, and write their runs to a file."""
    recorder = Recorder()
    plain_run, plain_init = Machine.run, Machine.__init__

    def run(self: Machine, *, memory: Any = None, edges: Any = None, **more: Any) -> Any:
        recorder.keep(self.program, self.profile, memory, edges)
        return plain_run(self, memory=memory, edges=edges, **more)

    def init(self: Machine, program: Any, profile: Profile, **more: Any) -> None:
        try:
            plain_init(self, program, profile, **more)
        except Exception:
            recorder.keep(program, profile)
            raise

    Machine.run, Machine.__init__ = run, init  # type: ignore[method-assign]
    pytest.main(["-q", "-n0", "-p", "no:cacheprovider", *TESTS], plugins=[recorder])
    Path(file).write_text(json.dumps(recorder.found), encoding="utf-8")


def recorded(file: Path) -> dict[str, Data]:
    """Return the runs by the test's name; they are recorded once into `file`."""
    if not file.exists():
        path = os.pathsep.join(sys.path)
        subprocess.run(
            [sys.executable, __file__, str(file)],
            check=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
        )
    runs: dict[str, Data] = json.loads(file.read_text(encoding="utf-8"))
    return runs


if __name__ == "__main__":
    record(sys.argv[1])
