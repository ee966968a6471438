"""Work that goes on when the thread that waits for it is interrupted."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time

import pytest

from tilewright.arch.lean.background import in_background, is_busy


class Interrupted(BaseException):
    pass


def test_results_and_errors_are_those_of_the_work():
    assert in_background(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        in_background(lambda: 1 // 0)
    assert not is_busy()


def test_work_ends_although_its_caller_is_interrupted():
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()
    caller = threading.get_ident()

    def work():
        begun.set()
        may_end.wait(30)
        ended.set()

    def interrupt():
        begun.wait(30)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(caller), ctypes.py_object(Interrupted)
        )

    threading.Thread(target=interrupt).start()
    with pytest.raises(Interrupted):
        in_background(work)
    assert is_busy()
    assert not ended.is_set()
    (working,) = [each for each in threading.enumerate() if each.name.startswith("tilewright")]
    assert not working.daemon, "the process ends after it"
    may_end.set()
    working.join(30)
    assert ended.is_set()


KERNEL = """
from numba import njit

@njit
def below(a, b):
    return a - b

@njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def difference(a, b):
    return below(a, b)
"""
USE = """
import ctypes, sys, threading, time
from tilewright.arch import compiled
from tilewright.arch.compiled import Kernel
from tilewright.arch.lean.background import UNDISTURBED

class Interrupted(BaseException):
    pass

made, caller, begun = compiled._compiled, threading.get_ident(), threading.Event()

def noticed(kernel):
    begun.set()
    return made(kernel)

def interrupt():
    begun.wait()
    for _ in range(20):
        with UNDISTURBED:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(caller), ctypes.py_object(Interrupted))
        time.sleep(0.05)

compiled._compiled = noticed
interrupting = threading.Thread(target=interrupt)
interrupting.start()
answers = []
while len(answers) < 2:
    try:
        if interrupting.is_alive():
            Kernel("home", "difference", "int64(int64, int64)")(5, 3)
        else:
            answers.append(Kernel("home", "difference", "int64(int64, int64)")(5, 3))
    except Interrupted:
        answers.append("interrupted") if not answers else None
print(answers)
"""


def test_a_kernel_whose_compilation_was_interrupted_is_compiled_all_the_same(tmp_path):
    (tmp_path / "home.py").write_text(KERNEL)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    begun = time.monotonic()
    answer = subprocess.run([sys.executable, "-c", USE], cwd=tmp_path, env=environment,
                            capture_output=True, text=True, check=True, timeout=120)  # fmt: skip
    assert answer.stdout == "['interrupted', 2]\n", answer.stderr
    assert time.monotonic() - begun < 100
