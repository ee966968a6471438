"""A search from the command line starts without SciPy, and leaves it usable."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from tilewright.dse.lean_numba import start_numba_lean
start_numba_lean()
assert "scipy.linalg" not in sys.modules
from tilewright.mapper.searches import kernels
import numpy as np
kernels.least_above(np.ones(4), 1, 4, 1.0)
assert "scipy.linalg" not in sys.modules
import scipy.linalg
assert scipy.linalg.norm([3.0, 4.0]) == 5.0
start_numba_lean()
assert "scipy.linalg" in sys.modules
"""


def test_kernels_need_no_linear_algebra() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
