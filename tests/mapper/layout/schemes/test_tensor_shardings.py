"""Height, width, block, interleaved and ND shardings: who owns which scalar."""

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import Layout, Tiling
from tilewright.mapper.layout.schemes.tensor_shardings import ShardedTensor


def test_rows_are_padded_to_tiles_before_they_are_joined() -> None:
    """1 × 32 × 10 × 10: 32 times 32 rows, not 320 (layouts.md §7.3)."""
    tensor = ShardedTensor((1, 32, 10, 10), (1, 8, 8), Tiling((32, 32)))
    assert tensor.collapse.extents == (1024, 32)
    assert tensor.height_sharded(32).shard_tiles == (1, 1)
    assert tensor.height_sharded(32).grid_map.unit((10, 0)) == (0, 1, 2)


def test_nd_shards_are_dealt_to_banks() -> None:
    """4 × 4 × 3 by 2 × 2 × 3 on 3 banks: 2, 1, 1 shards."""
    layout = ShardedTensor((4, 4, 3), (3,), memory="dram").nd_sharded((2, 2, 3))
    assert [len(layout.grid_map.cells((bank,))) for bank in range(3)] == [2, 1, 1]
    assert layout.bytes_per_unit == 2 * 12 * 4
    with pytest.raises(SpecError, match="needs as many sides"):
        ShardedTensor((4, 4, 3), (3,)).nd_sharded((2, 2))


@pytest.mark.row("004.34")
def test_the_grid_of_a_shard_shape_counts_all_rows() -> None:
    """2 × 3 × 64 × 128: 384 rows; stride[0] // stride[-2] would give 192 (layouts.md §7.3)."""
    tensor = ShardedTensor((2, 3, 64, 128), (1, 8, 8), Tiling((32, 32)))
    assert tensor.by_shard_shape((60, 30)).grid == (6, 4)
    assert tensor.by_shard_shape((60, 30)).shard_shape == (64, 32)


def test_a_block_sharding_fits_the_units() -> None:
    tensor = ShardedTensor((128, 128), (1, 8, 8), Tiling((32, 32)))
    assert tensor.block_sharded(2, 4).grid_map.unit((1, 3)) == (0, 1, 3)
    with pytest.raises(SpecError, match="a block sharding of 1 x 16 needs units"):
        tensor.block_sharded(1, 16)


def test_a_grid_is_blocks_where_the_units_have_it() -> None:
    """8 × 8 units: 2 × 4 and 8 × 1 by blocks, 16 × 1 by height, 1 × 16 by width, not 16 × 2."""
    tensor = ShardedTensor((1024, 1024), (1, 8, 8), Tiling((32, 32)))
    assert tensor.on_grid(2, 4) == tensor.block_sharded(2, 4)
    assert tensor.on_grid(8, 1) == tensor.block_sharded(8, 1)
    assert tensor.on_grid(16, 1) == tensor.height_sharded(16)
    assert tensor.on_grid(1, 16) == tensor.width_sharded(16)
    for grid in ((16, 2), (65, 1), (1, 65)):
        with pytest.raises(SpecError):
            tensor.on_grid(*grid)


tensors = st.builds(
    ShardedTensor,
    st.lists(st.integers(1, 5), min_size=2, max_size=3).map(tuple),
    st.just((1, 4, 4)),
    st.sampled_from([Tiling(), Tiling((2, 3))]),
)


def _kinds(tensor: ShardedTensor) -> list[Layout]:
    return [
        tensor.height_sharded(5),
        tensor.width_sharded(3),
        tensor.block_sharded(2, 3),
        tensor.interleaved(),
        tensor.nd_sharded((2,) * len(tensor.shape)),
        tensor.by_shard_shape((5, 5)),
    ]


@given(tensors)
def test_every_scalar_has_one_location(tensor: ShardedTensor) -> None:
    for layout in _kinds(tensor):
        locations = [layout.locate(index) for index in product(*map(range, tensor.shape))]
        assert len(set(locations)) == prod(tensor.shape)
        for index, location in zip(product(*map(range, tensor.shape)), locations, strict=True):
            assert layout.index_at(location) == index


@given(tensors)
def test_interleaved_pages_go_around_the_units(tensor: ShardedTensor) -> None:
    """Walk pages row-major: page n is on unit n mod 16, at n div 16 pages from the start."""
    layout = tensor.interleaved()
    rows, columns = tensor.tiling.sides or (1, layout.collapse.extents[1])
    across = -(-layout.collapse.extents[1] // columns)
    for index in product(*map(range, tensor.shape)):
        row, column = layout.collapse.coordinates(index)
        page = row // rows * across + column // columns
        location = layout.locate(index)
        assert location.unit == (0, page % 16 // 4, page % 4)
        assert location.address // layout.shard_bytes == page // 16
