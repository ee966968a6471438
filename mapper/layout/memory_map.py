"""Addresses of tile buffers in one memory of a processing element (layouts.md §4.1).

Addresses and sizes are in machine words of 16 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.rotation import ModuloRotation
from tilewright.mapper.workload.errors import InfeasibleMapping


@dataclass(frozen=True, slots=True)
class TileBuffer:
    """Region of an element's memory with `copies` tiles of one tensor, one after the other.

    `name`: of the buffer. `base`: address of the first tile; `size`: of one tile; both in machine
    words of 16 bits.
    """

    name: str
    base: int
    size: int
    copies: int = 1

    @property
    def end(self) -> int:
        """Address of the first machine word (16 bits) behind the buffer."""
        return self.base + self.size * self.copies

    @property
    def rotation(self) -> ModuloRotation:
        """Rule for which copy of the buffer holds which tile: tile i has copy i modulo `copies`."""
        return ModuloRotation(self.base, self.size, (self.copies,))


@dataclass(frozen=True, slots=True)
class MemoryMap:
    """List the buffers of one memory with their addresses.

    `capacity`: of the memory, in machine words of 16 bits. `buffers`: in the order in which they
    were placed, which is that of their addresses if `place` made them. Raises SpecError if two of
    them overlap. Only `place` checks the capacity.
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
        """Address of the first machine word (16 bits) behind all buffers; 0 without buffers."""
        return max((buffer.end for buffer in self.buffers), default=0)

    def overlap(self) -> tuple[str, str, int] | None:
        """Find two buffers that overlap.

        Return their names and the first word address that both have, or None if no two overlap.
        """
        for first, second in combinations(self.buffers, 2):
            word = max(first.base, second.base)
            if word < min(first.end, second.end):
                return first.name, second.name, word
        return None

    def place(self, name: str, size: int, copies: int = 1, align: int = 1) -> MemoryMap:
        """Return a new map with one more buffer, behind all others.

        `size`: machine words (16 bits) of one tile; `copies`: number of tiles. The buffer starts at
        the next multiple of `align` words. Raises InfeasibleMapping, with the bytes needed and the
        bytes left, if it does not fit the capacity.
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
        """Return the buffer called `name`.

        Raises KeyError if there is none.
        """
        for buffer in self.buffers:
            if buffer.name == name:
                return buffer
        raise KeyError(name)
