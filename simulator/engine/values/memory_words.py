"""Values in memory: words of 16 bits, of which a wide value (f32, u32) takes two."""

from __future__ import annotations

import numpy as np

from tilewright.simulator.compile.columns import Memory, Word
from tilewright.simulator.engine.jit import address, inline_kernel


@inline_kernel
def read_word(memory: Memory, position: int, wide: int) -> Word:
    """Return the bits of a value in memory.

    position: address in 16-bit words, in the memory of all elements; wide: words of the value, 1 or
    2; two begin at an even address.
    """
    double = np.int64(memory[address(position >> 1)])
    if wide == 2:
        return double
    return (double >> (16 * (position & 1))) & 0xFFFF


@inline_kernel
def write_word(memory: Memory, position: int, wide: int, bits: int) -> None:
    """Write the bits of a value to memory.

    position: address in 16-bit words, in the memory of all elements; wide: words of the value, 1 or
    2; two begin at an even address.
    """
    if wide == 2:
        memory[address(position >> 1)] = np.uint32(bits)
        return
    shift = 16 * (position & 1)
    neighbour = np.int64(memory[address(position >> 1)]) & (0xFFFF0000 >> shift)
    memory[address(position >> 1)] = np.uint32(neighbour | ((bits & 0xFFFF) << shift))
