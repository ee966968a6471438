"""Kernels compiled by several processes: each once, all on disk; without them nothing breaks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HOME = """
from numba import njit

bare = njit(error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""
FUNCTION = """
@bare
def f{number}(a):
    return a + {number}
"""
USE = """
import sys
from tilewright.arch import parallel_compilation as p
from tilewright.arch.compiled import Kernel, is_kept
p.processors = lambda: int(sys.argv[1])
kernels = [Kernel("home", f"f{n}", "int64(int64)") for n in range(3)]
p.compile_missing(kernels)
print(sum(map(is_kept, kernels)), [k(10) for k in kernels], "numba" in sys.modules)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "home.py").write_text(HOME + "".join(FUNCTION.format(number=n) for n in range(3)))
    return tmp_path


def run(folder: Path, processors: int, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", USE, str(processors)], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": "", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_all_are_on_disk_after_the_call(folder: Path) -> None:
    assert run(folder, 2) == "3 [10, 11, 12] True"
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("*.code")}
    assert run(folder, 2) == "3 [10, 11, 12] False"
    assert times == {path: path.stat().st_mtime_ns for path in folder.rglob("*.code")}


def test_one_processor_compiles_at_the_calls(folder: Path) -> None:
    assert run(folder, 1) == "0 [10, 11, 12] True"


def test_a_folder_that_takes_nothing(folder: Path) -> None:
    """Its kernels are compiled in the process that needs them."""
    target = folder / "file"
    target.write_text("")
    assert run(folder, 2, NUMBA_CACHE_DIR=str(target)) == "0 [10, 11, 12] True"
