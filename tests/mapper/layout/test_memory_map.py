"""Modulo rotation and memory maps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import MemoryMap, ModuloRotation, TileBuffer
from tilewright.mapper.workload.errors import InfeasibleMapping


def test_double_buffering_alternates() -> None:
    """Blocks 0…3 in 2 tiles of 1024 bytes: 0, 1024, 0, 1024 (layouts.md §4.2)."""
    rotation = ModuloRotation(0, 1024, (2,))
    assert [rotation.address((block,)) for block in range(4)] == [0, 1024, 0, 1024]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.data())
def test_rotation_reuses_each_tile_with_the_period_of_its_counts(
    counts: list[int], data: st.DataObject
) -> None:
    rotation = ModuloRotation(16, 8, tuple(counts))
    block = [data.draw(st.integers(0, 20)) for _ in counts]
    shifted = [at + count for at, count in zip(block, counts, strict=True)]
    assert rotation.address(block) == rotation.address(shifted)
    assert rotation.base <= rotation.address(block) < rotation.base + 8 * rotation.tiles


def test_a_block_needs_one_index_per_count() -> None:
    with pytest.raises(SpecError, match="one entry per modulo count"):
        ModuloRotation(0, 8, (2, 2)).address((1,))
    assert ModuloRotation(3, 8).address((5, 6)) == 3  # without counts, all blocks share a tile


def test_a_map_grows_aligned_and_refuses_what_does_not_fit() -> None:
    memory = MemoryMap(100).place("w", 33).place("x", 10, copies=2, align=8)
    assert memory.buffer("x") == TileBuffer("x", 40, 10, 2)
    assert memory.used == 60
    with pytest.raises(InfeasibleMapping, match="buffer z needs 100 bytes, 80 of 200 are left"):
        memory.place("z", 50)


def test_overlapping_buffers_are_named_with_a_witness() -> None:
    with pytest.raises(SpecError, match="buffers a and b overlap at word 4"):
        MemoryMap(16, (TileBuffer("a", 0, 8), TileBuffer("b", 4, 8)))
