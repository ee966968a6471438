"""The decorators of the kernels: compiled by numba, or plain Python when numba is switched off.

Set NUMBA_DISABLE_JIT=1 to run the same functions un-jitted (the tests' slow twin). The kernels
make no arrays, so they are compiled without reference counts, which makes their calls cheap.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numba

from tilewright.simulator.engine.engine_entries import CONSTANTS

F = TypeVar("F", bound=Callable[..., object])

OPTIONS: Final[dict[str, Any]] = {
    "cache": True,
    "_nrt": False,
    "no_cfunc_wrapper": True,
    "error_model": "numpy",
}
ADDRESS: Final = (1 << 48) - 1


def kernel(function: F) -> F:
    """Compile a function that Python calls through numba."""
    return _compiled(function)


def inner_kernel(function: F) -> F:
    """Compile a function that only kernels call, or Python by machine code (engine_entries.py)."""
    return _compiled(function, no_cpython_wrapper=True)


def inline_kernel(function: F) -> F:
    """Compile a small function of kernels whose machine code goes into its callers."""
    return _compiled(function, no_cpython_wrapper=True, forceinline=True)


def part_kernel(function: F) -> F:
    """Make a function a part of the kernels that call it, one or two: nothing is compiled alone.

    Every function that is compiled alone costs 0.1 to 0.2 s at the first run (docs/machine.md).
    """
    return _compiled(function, no_cpython_wrapper=True, inline="always")


def _compiled(function: F, **options: Any) -> F:
    compiler: Any = numba.njit
    return cast(F, compiler(**OPTIONS, **options)(function))


@inline_kernel
def address(value: int) -> int:
    """Return an address that is known not to be -1.

    The mask lets the compiler see that it is not negative, so that it drops the test for an
    index from the end on every access at a fixed distance from it.
    """
    return value & ADDRESS


def drop_stale_cache(folder: Path, *called: Path) -> None:
    """Delete a folder's compiled kernels when any of their source files has changed.

    numba's cache looks at the file of each function only, but a kernel also holds the code of
    those it calls in other files, in the folders `called` too. Without write access the cache is
    elsewhere and left alone.
    """
    sources = [path for one in (folder, *called) for path in sorted(one.glob("*.py"))]
    sources += [folder.parent / name for name in CONSTANTS]
    digest = sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    stamp = folder / "__pycache__" / "kernels.sha256"
    try:
        if stamp.is_file() and stamp.read_text() == digest:
            return
        for path in sorted(stamp.parent.glob("*.nb[ic]")):
            path.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(digest)
    except OSError:
        return


drop_stale_cache(Path(__file__).parent)
