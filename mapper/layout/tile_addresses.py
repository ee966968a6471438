"""Where the buffers of tiles lie in one memory: addresses, modulo rotation, overlaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from tilewright.arch.errors import SpecError
from tilewright.mapper.workload.errors import InfeasibleMapping


@dataclass(frozen=True, slots=True)
class ModuloRotation:
    """Blocks of a tensor take turns in `counts` physical tiles (layouts.md §4.2).

    The address of block `i` is base + scale * linearize(counts, i mod counts), row-major.
    `counts = (2,)` is double buffering.
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
        """Return the address of a block; SpecError unless it has one index per count."""
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
    """A named region of an element's memory: `copies` tiles of `size` words from `base` on."""

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
    """The buffers of one memory of `capacity` 16-bit words, in order of address."""

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
        """Return two buffers that share a word, and that word; None if all are apart."""
        for first, second in combinations(self.buffers, 2):
            word = max(first.base, second.base)
            if word < min(first.end, second.end):
                return first.name, second.name, word
        return None

    def place(self, name: str, size: int, copies: int = 1, align: int = 1) -> MemoryMap:
        """Return a map with one more buffer behind the last, aligned to `align` words.

        Raises InfeasibleMapping with the numbers when the memory is too small.
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
