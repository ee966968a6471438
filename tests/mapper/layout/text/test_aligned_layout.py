"""The text form of aligned layouts: read, checked, printed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from click.testing import CliRunner
from hypothesis import assume, given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError, TilewrightError
from tilewright.arch.number_format import number_format
from tilewright.dse.command.cli import cli
from tilewright.mapper.layout.schemes.dim_alignments import aligned_layout, tile_alignments
from tilewright.mapper.layout.text.aligned_layout import (
    EXAMPLE,
    AlignedTensor,
    parse_aligned_tensor,
)
from tilewright.mapper.layout.tiling import Tiling

SPACED = """tensor<1x8x8x8x!ttcore.tile<32x32, bfp_bf8>,
  #ttcore.metal_layout<logical_shape = 2x50x2000, dim_alignments = 1x128x256,
    collapsed_intervals = dense<[[0, -1]]> : tensor<1x2xi64>, dram, sharded>>"""


def test_a_text_of_the_compiler_is_read() -> None:
    """2 · 128 rows and 2048 columns on 1 × 8: 8 × 8 tiles each (theory/layouts.md §7.2)."""
    tensor = parse_aligned_tensor(SPACED)
    layout = tensor.layout
    assert layout.shape == (2, 50, 2000)
    assert layout.collapse.extents == (256, 2048)
    assert (layout.grid, layout.shard_tiles) == ((1, 8), (8, 8))
    assert layout.memory == "dram"
    assert layout.tiling.element.name == "bfp8"
    assert tensor.intervals == ((0, -1),)
    assert layout.padding_total == 256 * 2048 - 2 * 50 * 2000


@pytest.mark.parametrize("text", [EXAMPLE, SPACED])
def test_printed_text_reads_as_the_same(text: str) -> None:
    tensor = parse_aligned_tensor(text)
    assert parse_aligned_tensor(str(tensor)) == tensor
    without = "".join(text.split()).replace("ttcore", "tt").replace("undef,", "")
    assert "".join(str(tensor).split()).replace("undef,", "") == without


@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=4).map(tuple),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.sampled_from(["f32", "bf16", "bfp8"]),
    st.sampled_from(["undef", "zero", "neginf"]),
)
def test_every_aligned_layout_has_a_text(
    shape: tuple[int, ...], grid: tuple[int, int], name: str, padding: str
) -> None:
    intervals = ((0, len(shape) - 1),)
    alignments = tile_alignments(len(shape), intervals)
    tiling = Tiling((32, 32), number_format(name))
    try:
        layout = aligned_layout(shape, grid, intervals, alignments, tiling)
    except SpecError:
        assume(condition=False)
    layout = replace(layout, padding_value=padding)
    tensor = AlignedTensor(layout, alignments, intervals)
    assert parse_aligned_tensor(str(tensor)) == tensor


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("2x3x1x1", "2x3x1x2", "ends in the shard 1x2, but .* the grid 2x3 give 1x1"),
        ("2x3x1x1", "2x4x1x1", "do not divide over 4 cells"),
        ("logical_shape", "shape", "'logical_shape' is missing"),
        ("= 32x32", "= 32", "2 dimensions need as many alignments"),
        ("[1, 2]]", "1, 2]]", "an interval is missing"),
        ("tensor<2x2xi64>", "tensor<3x2xi64>", "tensor<2x2xi64>' is missing"),
        ("sharded", "interleaved", "interleaved tensor is not read"),
        ("sharded", "sharded, index_map = map(0)", "an index map is not read"),
        ("sharded", "shared", "a memory layout is one of sharded, interleaved"),
        ("l1", "l2", "a memory space is one of system"),
        ("64x96", "y", "the numbers of logical_shape are missing"),
        (">>", ">> x", "text after the end"),
    ],
)
def test_wrong_texts_are_refused_with_the_reason(old: str, new: str, what: str) -> None:
    head, sep, tail = EXAMPLE.rpartition(old) if old == ">>" else EXAMPLE.partition(old)
    assert sep
    with pytest.raises(SpecError, match=what):
        parse_aligned_tensor(head + new + tail)


@given(st.integers(0, len(EXAMPLE) - 1), st.characters(codec="ascii"))
def test_a_changed_character_is_read_or_refused(place: int, sign: str) -> None:
    broken = EXAMPLE[:place] + sign + EXAMPLE[place + 1 :]
    with suppress(TilewrightError):
        assert str(parse_aligned_tensor(broken))


def test_the_command_reads_this_form_too() -> None:
    result = CliRunner().invoke(cli, ["layout", EXAMPLE])
    assert result.exit_code == 0, result.output
    assert "tensor     64 × 96" in result.output
    assert "grid 2 × 3" in result.output
