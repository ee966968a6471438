"""Buffers of a few tiles for a stream of blocks: multi-buffering and circular buffers (§7.5)."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.rotation import ModuloRotation
from tilewright.mapper.layout.tile_placement import TilePlacement


def multi_buffered(blocks: int, tile_bytes: int, depth: int, base: int = 0) -> TilePlacement:
    """Give a stream of blocks `depth` tiles in turn: block i lies in tile i mod depth.

    Depth 2 is double buffering: one tile is filled while the other is read.
    """
    return TilePlacement(
        blocks=(blocks,), tile_bytes=tile_bytes, address=ModuloRotation(base, tile_bytes, (depth,))
    )


@dataclass(frozen=True, slots=True)
class CircularBuffer:
    """A ring of pages between a producer and a consumer, which each move on by whole pushes.

    `page_bytes`: of a page; `pages`: depth of the ring; `base`: byte address of page 0. Raises
    SpecError for a number below its least.
    """

    page_bytes: int
    pages: int
    base: int = 0

    def __post_init__(self) -> None:
        if self.page_bytes < 1 or self.pages < 1 or self.base < 0:
            raise SpecError(
                "a circular buffer needs pages of 1 byte or more",
                value=(self.page_bytes, self.pages, self.base),
            )

    @property
    def bytes(self) -> int:
        """Bytes of all pages."""
        return self.page_bytes * self.pages

    def placement(self, blocks: int) -> TilePlacement:
        """Return the placement of a stream of blocks, one page each."""
        return multi_buffered(blocks, self.page_bytes, self.pages, self.base)

    def push(self, pushed: int, count: int) -> tuple[int, ...]:
        """Return the addresses of the next `count` pages after `pushed` pages in all.

        A kernel writes them as one block, so they must not go around the end of the ring. Raises
        SpecError if they do, or if there are more than the ring has.
        """
        first = pushed % self.pages
        if count < 1 or first + count > self.pages:
            raise SpecError(
                f"{count} pages from page {first} of {self.pages} go around the end of the ring",
                value=count,
                instead=f"a depth that is a multiple of {count}",
            )
        return tuple(self.base + (first + page) * self.page_bytes for page in range(count))

    def free_pages(self, pushed: int, popped: int) -> int:
        """Return how many pages a producer may fill: all but those pushed and not popped yet.

        SpecError if more were popped than pushed, or if more are held than there are pages.
        """
        if not 0 <= popped <= pushed <= popped + self.pages:
            raise SpecError(
                f"{pushed} pages pushed and {popped} popped do not fit a ring of {self.pages}",
                value=(pushed, popped),
            )
        return self.pages - (pushed - popped)
