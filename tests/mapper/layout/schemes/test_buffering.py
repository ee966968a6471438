"""Streams of blocks in a few tiles."""

import pytest

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.schemes.buffering import CircularBuffer, multi_buffered


@pytest.mark.row("004.28")
def test_depth_is_the_number_of_live_blocks() -> None:
    assert [multi_buffered(4, 1024, 2).at((i,)).address for i in range(4)] == [0, 1024, 0, 1024]
    assert multi_buffered(9, 64, 3).max_consecutive_live() == 3


def test_a_ring_of_pages() -> None:
    ring = CircularBuffer(page_bytes=100, pages=4, base=1000)
    assert ring.bytes == 400
    assert ring.push(6, 2) == (1200, 1300)
    assert ring.free_pages(6, 3) == 1
    assert [ring.placement(5).at((page,)).address for page in range(5)] == [
        1000, 1100, 1200, 1300, 1000,
    ]  # fmt: skip


def test_pushes_around_the_end_and_lost_pages_are_refused() -> None:
    ring = CircularBuffer(page_bytes=100, pages=4)
    with pytest.raises(SpecError, match="2 pages from page 3 of 4 go around the end"):
        ring.push(3, 2)
    with pytest.raises(SpecError, match="7 pages pushed and 2 popped do not fit a ring of 4"):
        ring.free_pages(7, 2)
    with pytest.raises(SpecError, match="1 byte or more"):
        CircularBuffer(page_bytes=0, pages=4)
