"""Tiles: sizes by format, and the position of each scalar."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import Tiling, number_format


@pytest.mark.parametrize(
    ("name", "compiler", "hardware"),
    [
        ("f32", 4096, 4096),
        ("bf16", 2048, 2048),
        ("f16", 2048, 2048),
        ("fp8", 1024, 1024),
        ("int8", 1024, 1024),
        ("bfp_bf8", 1024, 1088),
        ("bfp4", 512, 576),
        ("bfp2", 256, 320),
    ],
)
def test_bytes_of_a_tile(name: str, compiler: int, hardware: int) -> None:
    """layouts.md §3: 32 × 32 scalars."""
    element = number_format(name)
    assert Tiling((32, 32), element).tile_bytes == compiler
    assert Tiling((32, 32), element, "hardware").tile_bytes == hardware


def test_unknown_formats_and_bad_sides_are_refused() -> None:
    with pytest.raises(SpecError, match="unknown number format 'f31'"):
        number_format("f31")
    with pytest.raises(SpecError, match="at least 1"):
        Tiling((0, 4))
    with pytest.raises(SpecError, match="a tile of 2 dimensions for shards of 1"):
        Tiling((2, 2)).tiles((4,))


sizes = st.integers(1, 4)


@given(
    st.lists(st.integers(1, 6), min_size=2, max_size=3).map(tuple),
    st.lists(sizes, max_size=2).map(tuple),
)
def test_positions_are_those_of_a_walk(shard: tuple[int, ...], sides: tuple[int, ...]) -> None:
    """Walk the tiles row-major, and the scalars of each."""
    tiling = Tiling(sides)
    full = (1,) * (len(shard) - len(sides)) + sides
    walked = [
        tuple(t * s + i for t, s, i in zip(tile, full, inside, strict=True))
        for tile in product(*(range(-(-n // s)) for n, s in zip(shard, full, strict=True)))
        for inside in product(*map(range, full))
    ]
    scalars = tiling.scalars
    for number, offset in enumerate(walked):
        assert tiling.position(offset, shard) == divmod(number, scalars)
        assert tiling.offset(*divmod(number, scalars), shard) == offset
    allocated = tiling.allocated(shard)
    assert sorted(walked) == list(product(*map(range, allocated)))
