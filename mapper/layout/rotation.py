"""Modulo rotation: blocks of a tensor take turns in a few physical tiles (layouts.md §4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tilewright.arch.errors import SpecError


@dataclass(frozen=True, slots=True)
class ModuloRotation:
    """Give the blocks of a tensor the physical tiles of a buffer in turn, by index modulo `counts`.

    `counts`: number of physical tiles along each axis of the block index; empty: one tile, which
    all blocks share. `base`: of the first tile; `scale`: distance between tiles; both count
    bytes, words, banks or partitions. Block i lies at base + scale * linearize(counts,
    i mod counts), row-major (theory/layouts.md §4.2). `counts = (2,)` is double buffering: blocks
    0, 1, 2, 3 with scale 512 lie at base + 0, 512, 0, 512. Raises SpecError for a count below 1.
    """

    base: int
    scale: int
    counts: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if any(count < 1 for count in self.counts):
            raise SpecError("a modulo rotation needs at least one tile per axis", value=self.counts)

    @property
    def tiles(self) -> int:
        """Number of physical tiles: the product of `counts`."""
        return prod(self.counts)

    @property
    def last(self) -> int:
        """The greatest of the tiles' addresses (the least, if `scale` is negative)."""
        return self.base + self.scale * (self.tiles - 1)

    def address(self, block: Sequence[int]) -> int:
        """Return where a block lies, in the unit of `base`.

        `block`: index of the block along each axis. Raises SpecError unless it has one entry per
        count.
        """
        if self.counts and len(block) != len(self.counts):
            raise SpecError(
                "a block index needs one entry per modulo count",
                value=tuple(block),
                instead=f"{len(self.counts)} entries",
            )
        slot = 0
        for position, count in zip(block, self.counts, strict=False):
            slot = slot * count + position % count
        return self.base + self.scale * slot
