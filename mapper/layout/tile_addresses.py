"""Addresses of tile buffers in one memory: modulo rotation, placement, overlaps (layouts.md §4).

Addresses and sizes are in machine words of 16 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from tilewright.arch.errors import SpecError
from tilewright.mapper.workload.errors import InfeasibleMapping


@dataclass(frozen=True, slots=True)
class ModuloRotation:
    """Blocks of a tensor use the `counts` physical tiles in turn (theory/layouts.md §4.2).

    The address of block `i` is base + scale * linearize(counts, i mod counts), row-major, in words.
    `counts = (2,)` is double buffering. SpecError for a count below 1.
    """

    base: int
    scale: int
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        if any(count < 1 for count in self.counts):
            raise SpecError("a modulo rotation needs at least one tile per axis", value=self.counts)

    @property
    def tiles(self) -> int:
        return prod(self.counts)

    def address(self, block: Sequence[int]) -> int:
        """Return the address in words of a block; SpecError unless it has one index per count."""
        if len(block) != len(self.counts):
            raise SpecError(
                "a block index needs one entry per modulo count",
                value=tuple(block),
                instead=f"{len(self.counts)} entries",
            )
        slot = 0
        for position, count in zip(block, self.counts, strict=True):
            slot = slot * count + position % count
        return self.base + self.scale * slot


@dataclass(frozen=True, slots=True)
class TileBuffer:
    """A region of an element's memory: `copies` tiles of `size` words each, from `base` on."""

    name: str
    base: int
    size: int
    copies: int = 1

    @property
    def end(self) -> int:
        return self.base + self.size * self.copies

    @property
    def rotation(self) -> ModuloRotation:
        return ModuloRotation(self.base, self.size, (self.copies,))


@dataclass(frozen=True, slots=True)
class MemoryMap:
    """The buffers of one memory of `capacity` words, in order of address.

    SpecError if two buffers overlap.
    """

    capacity: int
    buffers: tuple[TileBuffer, ...] = ()

    def __post_init__(self) -> None:
        clash = self.overlap()
        if clash is not None:
            first, second, word = clash
            raise SpecError(f"buffers {first} and {second} overlap at word {word}")

    @property
    def used(self) -> int:
        return max((buffer.end for buffer in self.buffers), default=0)

    def overlap(self) -> tuple[str, str, int] | None:
        """Return two buffers that overlap and the first word they share; None if none do."""
        for first, second in combinations(self.buffers, 2):
            word = max(first.base, second.base)
            if word < min(first.end, second.end):
                return first.name, second.name, word
        return None

    def place(self, name: str, size: int, copies: int = 1, align: int = 1) -> MemoryMap:
        """Return a map with another buffer after the last one, aligned to `align` words.

        `size`: words of one copy. InfeasibleMapping with the bytes needed and left if the memory is
        too small.
        """
        base = -(-self.used // align) * align
        buffer = TileBuffer(name, base, size, copies)
        if buffer.end > self.capacity:
            tiles = f"{copies} × {2 * size}" if copies > 1 else f"{2 * size}"
            free = max(0, self.capacity - base)
            raise InfeasibleMapping(
                f"buffer {name} needs {tiles} bytes, {2 * free} of {2 * self.capacity} are left",
                instead="a larger grid, a smaller tile, or single buffers",
            )
        return MemoryMap(self.capacity, (*self.buffers, buffer))

    def buffer(self, name: str) -> TileBuffer:
        """Return the buffer called `name`; KeyError if there is none."""
        for buffer in self.buffers:
            if buffer.name == name:
                return buffer
        raise KeyError(name)
