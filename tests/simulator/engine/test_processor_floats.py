"""The processor's own arithmetic gives the bits of its slow twin, which is written out."""

import numba
import numpy as np
import numpy.typing as npt
import pytest

from tilewright.simulator.engine.values.arithmetic import combine_f16, fma_f32
from tilewright.simulator.engine.values.processor_floats import (
    combine_half,
    fused_bits,
    load_half,
    store_half,
)
from tilewright.simulator.isa.operations import ADD, FMA, MAX, MUL, SUB

Bits = npt.NDArray[np.int64]
HALVES = [0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x3C00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E01]
"""Zeros, subnormal and normal numbers at the ends of their ranges, infinities and a NaN."""


@numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
def _halves(arithmetic: int, memory: npt.NDArray[np.uint32], scalars: Bits) -> Bits:
    """Combine the words of memory in pairs: the native bits, and those of the twin."""
    results = np.zeros((2, scalars.size), dtype=np.int64)
    for n in range(scalars.size):
        x, y = load_half(memory, 2 * n), load_half(memory, 2 * n + 1)
        results[0, n] = combine_half(arithmetic, x, y, scalars[n])
        results[1, n] = combine_f16(arithmetic, x, y, scalars[n])
        store_half(memory, 2 * n + 1, results[0, n])
    return results


@numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
def _singles(a: Bits, b: Bits, c: Bits) -> Bits:
    results = np.zeros((2, a.size), dtype=np.int64)
    for n in range(a.size):
        results[0, n] = fused_bits(a[n], b[n], c[n])
        results[1, n] = fma_f32(a[n], b[n], c[n])
    return results


INFINITY = {16: 0x7C00, 32: 0x7F800000}


def _numbers(bits: Bits, width: int) -> Bits:
    """Return bits of floats of a width, with one value for all that are NaN."""
    return np.where(bits % (1 << (width - 1)) > INFINITY[width], -1, bits)


@pytest.mark.parametrize("arithmetic", [FMA, ADD, MUL, SUB, MAX])
def test_halves_are_those_of_the_twin(arithmetic: int) -> None:
    drawn = np.random.default_rng(arithmetic).integers(0, 1 << 16, (3, 100_000))
    near = drawn[:, :50_000]  # numbers of one size, whose sums lie between two others
    near[:] = (near & 0x83FF) | 0x3800
    ends = np.array(np.meshgrid(HALVES, HALVES, HALVES)).reshape(3, -1)
    a, b, scalar = np.concatenate([drawn, ends], axis=1)
    memory = (a | b << 16).astype(np.uint32)
    native, twin = _halves(arithmetic, memory, scalar)
    np.testing.assert_array_equal(_numbers(native, 16), _numbers(twin, 16))
    np.testing.assert_array_equal(memory, a | native << 16)


def test_fused_singles_are_those_of_the_twin() -> None:
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 1 << 32, (3, 100_000))
    near = rng.standard_normal((3, 100_000)).astype(np.float32).view(np.uint32).astype(np.int64)
    halves = np.array(np.meshgrid(HALVES, HALVES, HALVES), dtype=np.uint16).reshape(3, -1)
    ends = halves.view(np.float16).astype(np.float32).view(np.uint32).astype(np.int64)
    native, twin = _singles(*np.concatenate([bits, near, ends], axis=1))
    np.testing.assert_array_equal(_numbers(native, 32), _numbers(twin, 32))
