"""Kernels for arrays of many millions of values: random values, and f16 as f64."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile.columns import Memory, Word
from tilewright.simulator.engine.jit import inline_kernel, inner_kernel
from tilewright.simulator.engine.values.processor_floats import half_value, load_half

Doubles = npt.NDArray[np.float64]
MASK = 4095
"""Of the bits that choose one of 4096 values."""


@inline_kernel
def random_bits(seed: int, number: int) -> Word:
    """Return 64 random bits that follow from a seed and a number alone, by splitmix64.

    Steele, Lea and Flood 2014: fast splittable pseudorandom number generators.
    """
    z = np.uint64(seed) + np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner_kernel
def draw_halves(table: Memory, seed: int, words: Memory) -> None:
    """Fill 32-bit words with two random 16-bit values each, drawn from a table of 4096 values.

    words: changed; an even number of them. The same seed gives the same words.
    """
    for i in range(words.size // 2):
        z = random_bits(seed, i)
        for j in range(2):
            low = table[np.int64(z & np.uint64(MASK))]
            high = table[np.int64((z >> np.uint64(16)) & np.uint64(MASK))]
            words[2 * i + j] = low | (high << np.uint32(16))
            z >>= np.uint64(32)


@inner_kernel
def draw_words(table: Memory, seed: int, words: Memory) -> None:
    """Fill 32-bit words with random values, drawn from a table of 4096 values; words: changed."""
    for i in range(words.size):
        words[i] = table[np.int64(random_bits(seed, i) & np.uint64(MASK))]


@inner_kernel
def widen(words: Memory, first: int, out: Doubles) -> None:
    """Convert f16 values to f64: those from number `first` on, as many as `out` takes.

    words: 32-bit words with two f16 each; out: changed.
    """
    for i in range(out.size):
        out[i] = np.float64(half_value(load_half(words, first + i)))
