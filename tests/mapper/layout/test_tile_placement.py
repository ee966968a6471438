"""Blocks in banks, partitions and bytes: turns, lives and overlaps."""

from itertools import product
from math import lcm, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import BlockPlace, ModuloRotation, TilePlacement


def buffer(blocks: int, count: int, base: int = 0, size: int = 1024) -> TilePlacement:
    return TilePlacement(
        blocks=(blocks,), tile_bytes=size, address=ModuloRotation(base, size, (count,))
    )


def test_rotations_on_one_axis_share_the_index() -> None:
    """4 partitions and 2 addresses on one axis: lcm(4, 2) = 4 of 8 tiles (layouts.md §4.2)."""
    diagonal = TilePlacement(
        blocks=(8,),
        tile_bytes=1024,
        partitions=32,
        address=ModuloRotation(0, 1024, (2,)),
        partition=ModuloRotation(0, 32, (4,)),
    )
    assert diagonal.declared_tiles == 8
    assert diagonal.physical_tiles == 4
    assert diagonal.max_consecutive_live() == 4


def test_two_axes_reuse_a_tile_early() -> None:
    """Counts (2, 2) over 4 × 4 blocks: four tiles, but reuse after two blocks (layouts.md §4.2)."""
    walk = TilePlacement(blocks=(4, 4), tile_bytes=8, address=ModuloRotation(0, 8, (2, 2)))
    assert walk.physical_tiles == 4
    assert walk.max_consecutive_live() == 2
    clash = walk.clash([(0, 0), (0, 1), (0, 2)])
    assert clash is not None
    assert (clash.first, clash.second) == ((0, 0), (0, 2))
    assert walk.clash([(0, 0), (0, 1)]) is None


def test_placements_that_overlap_have_a_witness() -> None:
    """Tiles at 0 and 1024, and at 1024 and 2048: both have byte 1024."""
    found = buffer(4, 2).overlap(buffer(4, 2, base=1024))
    assert found is not None
    assert (found.first, found.second, found.address) == ((1,), (0,), 1024)
    assert buffer(4, 2).overlap(buffer(4, 2, base=2048)) is None


def test_short_counts_are_refused() -> None:
    with pytest.raises(SpecError, match="counts of the bank rotation: length 1, but blocks have 2"):
        TilePlacement(
            blocks=(4, 4),
            tile_bytes=8,
            address=ModuloRotation(0, 8),
            bank=ModuloRotation(0, 1, (2,)),
        )


@pytest.mark.row("003.07")
def test_without_counts_all_blocks_share_a_tile() -> None:
    alone = TilePlacement(blocks=(3,), tile_bytes=8, address=ModuloRotation(16, 8))
    assert {alone.at((block,)) for block in range(3)} == {BlockPlace(0, 0, 16)}
    assert alone.max_consecutive_live() == 1
    assert alone.live_tiles([(0,), (2,)]) == {BlockPlace(0, 0, 16): ((0,), (2,))}


def counts_for(rank: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.one_of(st.just(()), st.tuples(*[st.integers(1, 4)] * rank))


placements = st.integers(1, 2).flatmap(
    lambda rank: st.builds(
        lambda blocks, a, b, p: TilePlacement(
            blocks=blocks,
            tile_bytes=8,
            partitions=2,
            address=ModuloRotation(4, 8, a),
            bank=ModuloRotation(1, 1, b),
            partition=ModuloRotation(0, 2, p),
        ),
        st.tuples(*[st.integers(1, 7)] * rank),
        *[counts_for(rank)] * 3,
    )
)


@given(placements, placements)
def test_turns_and_lives_against_a_walk(placement: TilePlacement, other: TilePlacement) -> None:
    """Visit every block; remember who was where, byte by byte."""
    places = {block: placement.at(block) for block in placement.indices()}
    assert placement.physical_tiles == len(set(places.values()))
    walk = list(places.values())
    most = max(
        n
        for n in range(1, len(walk) + 1)
        if all(len(set(walk[i : i + n])) == n for i in range(len(walk) - n + 1))
    )
    assert placement.max_consecutive_live() == most
    for axis, period in enumerate(placement.periods):
        assert period == lcm(*(r.counts[axis] for _, r in placement.rotations if r.counts))
    bytes_of = [set(_bytes(p, b)) for p in (placement, other) for b in [list(p.indices())]]
    shared = placement.overlap(other)
    assert (shared is None) == (not bytes_of[0] & bytes_of[1])
    if shared is not None:
        assert (shared.bank, shared.partition, shared.address) in bytes_of[0] & bytes_of[1]
    assert prod(placement.blocks) >= placement.physical_tiles


def _bytes(placement: TilePlacement, blocks: list[tuple[int, ...]]):
    for block in blocks:
        place = placement.at(block)
        for partition, byte in product(range(placement.partitions), range(placement.tile_bytes)):
            yield place.bank, place.partition + partition, place.address + byte
