"""A search that the system gives too little memory ends in one message that says what to write."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tilewright.dse.models.evaluator import attempt
from tilewright.mapper.searches.search_errors import MemoryUsedUp

pytest.importorskip("resource")
PROGRAM = """
import resource, sys
from pathlib import Path
sys.path.insert(0, "tests/oracles")
from buffered_design import arch, chain
from tilewright.mapper import search

options = {"einsum": "T1", "objective": "latency", "front": ("energy", "latency")}
search(arch(), chain(12, 16), **options)  # all is loaded and compiled
in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (in_use + 8_000_000, resource.RLIM_INFINITY))
try:
    search(arch(), chain(10080, 10080, m=10080), **options)
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_limit_of_the_system() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.startswith("MemoryUsedUp the search of T1 needs more memory"), done.stdout
    assert "max_memory=" in done.stdout


def test_a_trial_without_memory_says_nothing_about_its_design() -> None:
    class Greedy:
        def evaluate(self, point: object) -> object:
            raise MemoryUsedUp("the search of Z needs more memory")

    outcome = attempt(Greedy(), {}).outcome  # type: ignore[arg-type]
    assert outcome.status == "failed"
    assert outcome.reason == "the search of Z needs more memory"
