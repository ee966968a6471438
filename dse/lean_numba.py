"""Start numba without SciPy's linear algebra, which no kernel here uses."""

from __future__ import annotations

import sys


def start_numba_lean() -> None:
    """Load numba's array library while `scipy.linalg` cannot be found: a third of a short search.

    Numba imports all of SciPy's linear algebra only to see whether it is there. Kernels compiled in
    this process then cannot call np.dot and the like, so only a command of ours does this, never a
    function that a user's program calls.
    """
    if "scipy.linalg" in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules["scipy.linalg"] = None  # type: ignore[assignment]
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules["scipy.linalg"]
