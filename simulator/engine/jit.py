"""One decorator for every kernel: compiled by numba, or plain Python when numba is switched off.

Set NUMBA_DISABLE_JIT=1 to run the same functions un-jitted (the tests' slow twin).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile a function with the on-disk cache."""
    return cast(F, numba.njit(cache=True, _nrt=False)(function))


def inline_kernel(function: F) -> F:
    """Compile a small function and merge it into its callers."""
    return cast(F, numba.njit(cache=True, forceinline=True, _nrt=False)(function))


ADDRESS = (1 << 48) - 1


@inline_kernel
def address(value: int) -> int:
    """Return an address that is known not to be -1.

    The mask lets the compiler see that it is not negative, so that it drops the test for an
    index from the end on every access at a fixed distance from it.
    """
    return value & ADDRESS
