"""Interleaved banks of one memory: where buffers may start, which reads meet (layouts.md §15)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import lcm

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.packing.packing import PackedMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class Banks:
    """Describe a memory whose successive words lie in successive banks.

    `alignment`: bytes that a buffer's address is a multiple of; `banks`: of the memory, 1 for none;
    `word_bytes`: of a word of a bank; `read_words`: words that one step of an operation reads from
    each source. Raises SpecError for a number below 1.
    """

    alignment: int = 1
    banks: int = 1
    word_bytes: int = 1
    read_words: int = 1

    def __post_init__(self) -> None:
        numbers = (self.alignment, self.banks, self.word_bytes, self.read_words)
        if min(numbers) < 1:
            raise SpecError("alignment, banks and words are 1 or more", value=numbers)

    @property
    def round_bytes(self) -> int:
        """Bytes after which alignment and bank numbers of addresses repeat.

        The least common multiple of the alignment and one word of every bank.
        """
        return lcm(self.alignment, self.banks * self.word_bytes)

    @property
    def residues(self) -> tuple[int, ...]:
        """Aligned addresses within one round (`round_bytes`): where in the banks data may start."""
        return tuple(range(0, self.round_bytes, self.alignment))

    def meet(self, first: int, second: int) -> bool:
        """Tell whether reads that begin at two addresses in bytes touch one bank in each step.

        theory/wafer.md §2.1: with d words between them and s words per read, if d mod banks < s or
        d mod banks > banks - s. Without banks nothing meets.
        """
        if self.banks == 1:
            return False
        apart = (first - second) // self.word_bytes % self.banks
        return apart < self.read_words or apart > self.banks - self.read_words

    def meetings(self, packed: PackedMemory, readers: Sequence[str]) -> list[tuple[str, str]]:
        """Return the pairs of buffers that are read together and meet.

        `readers`: names of the buffers that one operation reads.
        """
        addresses = [
            (buffer.request.name, buffer.address)
            for buffer in packed.buffers
            if buffer.request.name in readers
        ]
        return [
            (name, other)
            for (name, first), (other, second) in combinations(addresses, 2)
            if self.meet(first, second)
        ]
