"""Machine code on disk: used when it fits, made anew when it does not, never trusted blindly."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tilewright.arch.compiled import Kernel, is_kept

HOME = """
from typing import NamedTuple

import numpy as np
from numba import njit

class Row(NamedTuple):
    values: np.ndarray
    scale: float
    marks: np.ndarray

bare = njit(error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)

@bare
def plus(a, b):
    return a + b

@bare
def total(rows, scale, marks):
    found = 0
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            if marks[j]:
                found = plus(found, int(rows[i, j] * scale))
    return found

@njit
def sum_of(a, b):
    return a + b

@bare
def row_total(row, span):
    found = 0
    for i in range(span[0], span[1]):
        if row.marks[i]:
            found = sum_of(found, int(row.values[i] * row.scale))
    return found

@njit(cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def makes_an_array(rows):
    return np.zeros(rows.shape[0]).shape[0]
"""
USE = """
import sys
import numpy as np
from tilewright.arch.compiled import Kernel
total = Kernel("home", "total", "int64(float64[:, ::1], float64, bool[::1])")
made = Kernel("home", "makes_an_array", "int64(float64[::1])")
rows = np.arange(6.0).reshape(2, 3)
marks = np.array([True, False, True])
marks.flags.writeable = False
assert total(np.ones((0, 3)), 2.0, marks) == 0
print(total(rows, 2.0, marks), "numba" in sys.modules)
if "record" in sys.argv:
    from typing import NamedTuple
    class Row(NamedTuple):
        values: np.ndarray
        scale: float
        marks: np.ndarray
    fields = {"Row": "float64[::1], float64, bool[::1]"}
    row_total = Kernel("home", "row_total", "int64(Row, UniTuple(int64, 2))", records=fields)
    print(row_total(Row(np.arange(4.0), 2.0, np.ones(4, dtype=bool)), (1, 4)))
if "part" in sys.argv:
    print(Kernel("home", "plus", "int64(int64, int64)")(2, 3))
if "called" in sys.argv:
    from home import sum_of
    print(sum_of(2, 3))
if "made" in sys.argv:
    print(made(np.ones(5)))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "home.py").write_text(HOME)
    return tmp_path


def run(folder: Path, *arguments: str, script: str = USE, **environment: str) -> list[str]:
    paths = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": paths, "NUMBA_CACHE_DIR": "", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def kept(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.code"))


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the kernels were compiled, the first run of each test that copies it.

    A kernel, one that takes a named tuple field by field, one that needs numba to run, and a part
    of a kernel that Python calls: 2 * (0 + 2 + 3 + 5) = 20; 2 * (1 + 2 + 3) = 12.
    """
    folder = tmp_path_factory.mktemp("first")
    (folder / "home.py").write_text(HOME)
    assert run(folder, "record", "called", "made") == ["20", "True", "12", "5", "5"]
    assert {path.parent for path in kept(folder)} == {folder / "__pycache__"}
    return folder


@pytest.fixture
def compiled(first_run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(first_run, tmp_path / "copy")


def test_the_second_process_needs_no_numba(compiled: Path) -> None:
    assert run(compiled, "record", "made") == ["20", "False", "12", "5"]
    (path,) = compiled.rglob("*.makes_an_array-*.code")
    assert path.read_bytes().count(b"\n") == 1  # noted, with nothing after the header


THREADS = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from tilewright.arch.compiled import Kernel
together = Barrier(2)
def call(name):
    together.wait()
    return Kernel("home", name, "int64(int64, int64)")(2, 3)
with ThreadPoolExecutor(2) as pool:
    print(*pool.map(call, ["plus", "less"]))
"""


def test_threads_compile_one_after_the_other(folder: Path) -> None:
    less = "@bare\ndef less(a, b):\n    return a - b\n"
    (folder / "home.py").write_text(HOME + less)
    assert run(folder, script=THREADS) == ["5", "-1"]


def test_switched_off_the_plain_functions_run(folder: Path) -> None:
    assert run(folder, "record", NUMBA_DISABLE_JIT="1") == ["20", "True", "12"]
    assert kept(folder) == []


def test_other_source_is_compiled_anew_and_a_part_of_a_kernel_also_alone(compiled: Path) -> None:
    """`total` calls `plus`; numba's own cache is not used for either."""
    other = HOME.replace("return a + b", "return a + b + 1")
    (compiled / "home.py").write_text(other.replace("bare = njit(", "bare = njit(cache=True, "))
    stored = len(kept(compiled))
    assert run(compiled, "part") == ["24", "True", "6"]
    assert run(compiled, "part") == ["24", "False", "6"]
    assert len(kept(compiled)) == stored + 1
    assert not list(compiled.rglob("*.nb[ic]"))


def test_damaged_code_is_not_taken(compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = compiled.rglob("*.total-*.code")
    whole = path.read_bytes()
    monkeypatch.syspath_prepend(compiled)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    total = Kernel("home", "total", "int64(float64[:, ::1], float64, bool[::1])")
    assert is_kept(total)
    for damaged in (b"", b"a b c\n", whole[:-100]):
        path.write_bytes(damaged)
        assert not is_kept(total)


def test_two_processes_compile_a_kernel_once(folder: Path, tmp_path: Path) -> None:
    """The second one waits for the first, and takes its code from the folder given to numba."""
    (folder / "home.py").write_text(
        HOME + "\nfrom time import sleep\nprint('imported')\nsleep(1)\n"
    )
    given = tmp_path / "given"
    paths = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    both = [
        subprocess.Popen(
            [sys.executable, "-c", USE], text=True, stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(given)},
        )
        for _ in range(2)
    ]  # fmt: skip
    texts = sorted(process.communicate()[0].split() for process in both)
    assert texts == [["20", "False"], ["imported", "20", "True"]]
    assert len(kept(given)) == 1
    assert kept(folder) == kept(given)


def test_arrays_of_another_type_or_order_are_refused() -> None:
    home = "tilewright.mapper.searches.exact.label_kernels"
    least = Kernel(home, "least_above", "void(float64[::1], int64, int64, float64)")
    good = np.ones(4)
    least(good, 1, 4, 1.0)
    for bad in (np.ones(4, np.float32), np.ones((2, 2)), np.ones(8)[::2]):
        with pytest.raises(TypeError, match="least_above takes void"):
            least(bad, 1, 4, 1.0)
