"""Addresses of the tiles in an element's memory, so that the two reads of an operation do not meet.

The memory has banks of 4 words that take turns, so two vectors are read at once where their
addresses differ by 4 modulo 8 (theory/wafer.md §2.1). The output, which `fmacs` reads beside the
vector input, and each further vector input lie 4 words off the first vector input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.isa.dsd import DTYPES

PERIOD_WORDS = 8
"""Words after which the banks repeat."""
APART_WORDS = 4


@dataclass(frozen=True, slots=True)
class Addresses:
    """The first 16-bit word of each tensor's buffers, and the words in use up to the last one."""

    first_word: Mapping[str, int]
    words: int


def addresses_of(read: SpaceTime, reserved_bytes: int = 0) -> Addresses:
    """Place the buffers of all tensors in an element's memory, one behind the other.

    `reserved_bytes`: memory that the machine's own code takes. Raises InfeasibleMapping, with the
    size of each tensor, if the memory is too small.
    """
    first_word: dict[str, int] = {}
    first_vector = next((t.name for t in read.inputs if t.name != read.scalar), "")
    end = 0
    for tensor in sorted(read.tensors, key=lambda tensor: not tensor.resident):
        wanted = 0 if tensor.name in (first_vector, read.scalar) else APART_WORDS
        start = end + (wanted - end) % PERIOD_WORDS
        first_word[tensor.name] = start
        end = start + tensor.buffers * tensor.values * DTYPES[read.dtype]
    free = (int(read.grid.memory.size) // 8 - reserved_bytes) // 2
    if end > free:
        sizes = ", ".join(
            f"{t.name} {t.buffers * t.values * DTYPES[read.dtype] * 2}" for t in read.tensors
        )
        raise InfeasibleMapping(
            f"{read.grid.memory.name} of an element has {2 * free} free bytes, the tiles need "
            f"{2 * end}",
            value=sizes,
            instead="smaller tiles, one buffer, or more elements",
        )
    return Addresses(first_word, end)
