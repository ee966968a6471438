"""Large arrays of values: random ones, and products in f64 block by block.

The kernels are in `large_arrays.py`; numba is imported only to compile them.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.arch.compiled import Kernel

AnyArray = npt.NDArray[np.generic]
Floats = npt.NDArray[np.float64]
MANY_VALUES: Final = 1 << 24
"""Values from which on an array is large."""
TABLE: Final = 4096
_HOME: Final = "tilewright.simulator.execution.values.large_arrays"
_SOURCES: Final = tuple(
    f"../../engine/{name}.py"
    for name in ("jit", "values/arithmetic", "values/memory_words", "values/processor_floats")
)
_DRAW: Final = "void(uint32[::1], int64, uint32[::1])"
_draw_halves: Final = Kernel(_HOME, "draw_halves", _DRAW, _SOURCES)
_draw_words: Final = Kernel(_HOME, "draw_words", _DRAW, _SOURCES)
_widen: Final = Kernel(_HOME, "widen", "void(uint32[::1], int64, float64[::1])", _SOURCES)


def draw_many(shape: tuple[int, ...], dtype: npt.DTypeLike, seed: int) -> AnyArray:
    """Return random values of f16 or f32, each one of 4096 quantiles of the normal distribution.

    Ten times as fast as drawing from the distribution itself.
    """
    size = int(np.prod(shape))
    values = _quantiles().astype(dtype)
    if values.itemsize == 2:
        words = np.empty(2 * -(-size // 4), dtype=np.uint32)
        _draw_halves(values.view(np.uint16).astype(np.uint32), seed, words)
    else:
        words = np.empty(size, dtype=np.uint32)
        _draw_words(values.view(np.uint32), seed, words)
    return words.view(dtype)[:size].reshape(shape)


@cache
def _quantiles() -> Floats:
    from scipy.special import ndtri

    return np.asarray(ndtri((np.arange(TABLE) + 0.5) / TABLE), dtype=np.float64)


def widened(values: AnyArray) -> Floats:
    """Return values of any number type as f64, in the same shape."""
    is_words = values.flags.c_contiguous and values.size % 2 == 0 and values.ctypes.data % 4 == 0
    if values.dtype != np.float16 or not is_words:
        return values.astype(np.float64)
    flat = values.reshape(-1)
    out = np.empty(flat.size, dtype=np.float64)
    _widen(flat.view(np.uint32), 0, out)
    return out.reshape(values.shape)
