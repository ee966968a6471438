"""Kernels compiled by several processes: each once, all on disk; without them nothing breaks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilewright.arch import parallel_compilation
from tilewright.arch.compiled import Kernel, is_kept

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
p.processors = lambda: 2
kernels = [Kernel("three", f"f{n}", "int64(int64)") for n in range(3)]
p.compile_missing(kernels)
print(sum(map(is_kept, kernels)), [k(10) for k in kernels], "numba" in sys.modules)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "three.py").write_text(HOME + "".join(FUNCTION.format(number=n) for n in range(3)))
    return tmp_path


def run(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", USE], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_all_are_on_disk_after_the_call(folder: Path) -> None:
    assert run(folder) == "3 [10, 11, 12] True"
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("*.code")}
    assert run(folder) == "3 [10, 11, 12] False"
    assert times == {path: path.stat().st_mtime_ns for path in folder.rglob("*.code")}


def test_where_nothing_is_gained_kernels_are_compiled_at_the_calls(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one processor, and where no folder takes the code."""
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    kernels = [Kernel("three", f"f{number}", "int64(int64)") for number in range(3)]
    monkeypatch.setattr(parallel_compilation, "processors", lambda: 1)
    parallel_compilation.compile_missing(kernels)
    assert not list(folder.rglob("*.code"))
    monkeypatch.setattr(parallel_compilation, "MOST_PROCESSES", 2)
    monkeypatch.setattr(parallel_compilation, "processors", lambda: 2)
    (folder / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder / "file"))
    parallel_compilation.compile_missing(kernels)
    assert [kernel(10) for kernel in kernels] == [10, 11, 12]
    assert not any(map(is_kept, kernels))
