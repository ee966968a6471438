"""The text form of tensors with a layout: read, checked, printed."""

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError, TilewrightError
from tilewright.arch.number_format import number_format
from tilewright.mapper.layout.schemes.buffering import multi_buffered
from tilewright.mapper.layout.schemes.linear_map import linear_map_layout
from tilewright.mapper.layout.schemes.tensor_shardings import ShardedTensor
from tilewright.mapper.layout.text.aligned_layout import AlignedTensor
from tilewright.mapper.layout.text.metal_layout import EXAMPLE, MetalTensor, parse_metal_tensor
from tilewright.mapper.layout.tiling import Tiling

DOCUMENTED = """tensor<5x3x2x2x7x32x32xf32,
  #tt.metal_layout<
    (d0, d1, d2, d3, d4, d5, d6)
    -> (d0 * 2688 + d1 * 896 + d2 * 448 + d3 * 224 + d4 * 32 + d5, d4, d5, d6),
    undef,
    <3x2x2x2>,
    memref<4480x4x16x16xf32, #tt.memory_space<l1>>
  >
>"""
TILED = """tensor<3x64x128xf32,
  #ttcore.metal_layout<
    (d0, d1, d2) -> (d0 * 64 + d1, d2),
    zero,
    <3x2>,
    memref<2x2x!tt.tile<32 x 32, bfp_bf8>, #tt.memory_space<dram>>
  >
>"""


@pytest.mark.row("004.06", "004.19", "004.20", "004.27")
def test_documented_texts_are_read() -> None:
    """theory/layouts.md §8."""
    read = parse_metal_tensor(DOCUMENTED)
    assert read.layout.shard_tiles == (4480, 4, 16, 16)
    assert not read.layout.collapse.separable
    tiled = parse_metal_tensor(TILED)
    assert tiled.layout.shard_tiles == (2, 2)
    assert tiled.layout.bytes_per_unit == 4 * 1024
    assert tiled.layout.memory == "dram"
    assert tiled.layout.padding_value == "zero"
    assert tiled.element.name == "f32"
    assert tiled.layout.tiling.element.name == "bfp8"


ONE_SIDE = EXAMPLE.replace("18x32xf32", "18x8x!tt.tile<4, bf16>")


@pytest.mark.parametrize("text", [DOCUMENTED, TILED, EXAMPLE, ONE_SIDE])
def test_printed_text_reads_as_the_same(text: str) -> None:
    read = parse_metal_tensor(text)
    assert parse_metal_tensor(str(read)) == read
    assert "".join(text.split()).replace("ttcore", "tt") == "".join(str(read).split())


@pytest.mark.row("004.04", "004.07", "004.10")
@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("18x32", "18x31", "the memref has the shape 18x31, but .* give 18x32"),
        ("<3x2>", "<3x2x1>", "memref has|a grid needs one dimension per group"),
        ("(d0, d1) ->", "(d0, d1, d2) ->", "an affine map of 3 dimensions for a tensor of rank 2"),
        ("(d0, d1),", "(d0, d0),", "have the same coordinates"),
        ("(d0, d1),", "(d0 floordiv 2, d1),", "a sum of indices times coefficients"),
        ("undef", "nothing", "a value of padding is one of undef, zero"),
        ("53x63xf32", "53x63xf31", "unknown number format 'f31'"),
        ("<l1>", "<l2>", "a memory space is one of system"),
        ("tensor<", "vector<", "'tensor' is missing, at character 1"),
        (">>>>", ">>>", "'>' is missing"),
        (">>>>", ">>>> x", "text after the end"),
        ("#tt.metal", "#tt.mtl", "'#tt.metal_layout' is missing"),
        ("<3x2>", "<3>", "a grid needs one dimension per group"),
        ("53x63xf32, #tt", "f32, #tt", "extents are missing"),
        ("53x", "0x", "at least 1"),
        ("53x", "9" * 30 + "x", "a number is too long"),
        ("(d0, d1) -> (d0, d1)", "(d0, d1)", "the affine map is missing"),
        ("<3x2>", "<1000000x1000000>", "a grid of more than"),
    ],
)
def test_wrong_texts_are_refused_with_the_reason(old: str, new: str, what: str) -> None:
    assert old in EXAMPLE
    with pytest.raises(SpecError, match=what):
        parse_metal_tensor(EXAMPLE.replace(old, new, 1))


def test_long_texts_are_refused() -> None:
    with pytest.raises(SpecError, match="more than 8000 characters"):
        parse_metal_tensor(" " * 9000)


sizes = st.integers(1, 70)


@given(
    st.lists(sizes, min_size=2, max_size=4).map(tuple),
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    st.sampled_from([(), (32, 32), (16, 32)]),
    st.sampled_from(["f32", "bf16", "bfp8", "bfp4", "fp8", "int8", "uint32", "bfp8_a"]),
)
def test_every_linear_map_layout_has_a_text(
    shape: tuple[int, ...], grid: tuple[int, int], sides: tuple[int, ...], name: str
) -> None:
    layout = linear_map_layout(shape, grid, tiling=Tiling(sides, number_format(name)))
    tensor = MetalTensor(layout, number_format("f32"))
    assert parse_metal_tensor(str(tensor)) == tensor


def test_a_layout_that_the_text_does_not_say_is_refused() -> None:
    """Tiles first, an alignment, a map of units, blocks, hardware sizes, PSUM."""
    tiles = Tiling((32, 32))
    tensor = ShardedTensor((100, 90), (1, 8, 8), tiles)
    plain = linear_map_layout((128, 64), (2, 2), tiling=tiles)
    others = [
        tensor.block_sharded(2, 2),
        tensor.height_sharded(2),
        replace(plain, memory="psum"),
        plain.with_tiling(replace(tiles, sizes="hardware")),
        linear_map_layout((8,), (1,), []).with_place(multi_buffered(4, 8, 2)),
    ]
    for layout in others:
        with pytest.raises(SpecError, match="do not give this layout"):
            MetalTensor(layout, number_format("f32"))
        with pytest.raises(SpecError):
            AlignedTensor(layout, (32,) * len(layout.shape), ())
    assert str(MetalTensor(plain, number_format("f32"))).startswith("tensor<128x64xf32")


@given(st.integers(0, len(DOCUMENTED) - 1), st.characters(codec="ascii"))
def test_a_changed_character_is_read_or_refused(place: int, sign: str) -> None:
    """Nothing but an error of the user comes out of broken text."""
    broken = DOCUMENTED[:place] + sign + DOCUMENTED[place + 1 :]
    with suppress(TilewrightError):
        assert str(parse_metal_tensor(broken))
