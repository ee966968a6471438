"""Every row of the reference cases of the aligned layout of 2025."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import pytest

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import Collapse, Tiling
from tilewright.mapper.layout.schemes.dim_alignments import (
    aligned_collapse,
    aligned_layout,
    grid_aware_alignments,
    tile_alignments,
)
from tilewright.mapper.layout.schemes.grid_selection import select_grid
from tilewright.mapper.layout.text.aligned_layout import AlignedTensor
from tilewright.mapper.layout.text.tensor_type import parse_tensor_type

Row = dict[str, Any]
TILES = Tiling((32, 32))


def era(shared_data: Path) -> dict[str, list[Row]]:
    text = (shared_data / "layouts" / "tt_layout_vectors.json").read_text(encoding="utf-8")
    loaded: dict[str, list[Row]] = json.loads(text)["era2_dim_alignments"]
    return loaded


def intervals(row: Row) -> list[tuple[int, int]]:
    return [tuple(pair) for pair in row["collapsed_intervals"]]


def test_alignments_grids_and_strides(shared_data: Path) -> None:
    for row in era(shared_data)["own_and_comment_vectors"]:
        shape, device = row["logical_shape"], tuple(row["device_grid"])
        tiles = tile_alignments(len(shape), intervals(row))
        assert list(tiles) == row["tile_alignments"], row["id"]
        plain = aligned_collapse(shape, tiles, intervals(row))
        assert list(plain.extents) == row["tile_physical"], row["id"]
        assert list(plain.strides) == row["host_stride_tile_aligned"], row["id"]
        assert prod(plain.extents) == row["host_volume_tile_aligned"], row["id"]
        aware = grid_aware_alignments(shape, intervals(row), device)
        assert list(aware) == row["grid_aware_alignments"], row["id"]
        padded = aligned_collapse(shape, aware, intervals(row))
        assert list(padded.extents) == row["grid_aware_physical"], row["id"]
        extents = TILES.tiles(padded.extents)
        assert list(extents) == row["grid_aware_tiles"], row["id"]
        selected = select_grid(extents, device)
        assert list(selected.grid) == row["optimal_grid"], row["id"]
        assert selected.kind == row["grid_kind"], row["id"]
        layout = aligned_layout(shape, selected.grid, intervals(row), aware, TILES)
        assert list(layout.shard_tiles) == row["shard_tiles"], row["id"]
        check_comment(row, aware, padded)


def check_comment(row: Row, aware: tuple[int, ...], padded: Collapse) -> None:
    """Comments of the sources: some are stale (docs/validation/layout-references.md)."""
    computed = {
        "doc_alignments": list(aware),
        "doc_physical": list(padded.extents),
        "doc_tiles": list(TILES.tiles(padded.extents)),
    }
    for name, value in computed.items():
        if name in row:
            assert (value == row[name]) == row[f"{name}_match"], (row["id"], name)


def test_compiler_tests_that_follow_the_rule(shared_data: Path) -> None:
    for row in era(shared_data)["lit_tests_consistent"]:
        tiling = Tiling(tuple(row["tile"] or ()))
        layout = aligned_layout(
            row["logical_shape"], row["grid"], intervals(row), row["dim_alignments"], tiling
        )
        physical = tiling.tiles(layout.collapse.extents)
        wanted = row["physical_shape_tiles"] if row["tile"] else row["physical_shape"]
        assert list(physical) == wanted, row
        assert list(layout.shard_tiles) == row["shard"], row
        assert [*layout.grid, *layout.shard_tiles] == row["device_tensor_shape"], row
        assert list(layout.strides) == row["host_stride"], row
        assert prod(layout.collapse.extents) == row["host_volume"], row
        assert layout.padding_total == row["host_volume"] - prod(row["logical_shape"]), row
        check_flags(row)


def test_compiler_tests_have_a_text_that_reads_as_the_same(shared_data: Path) -> None:
    for row in era(shared_data)["lit_tests_consistent"]:
        tiling, pairs = Tiling(tuple(row["tile"] or ())), tuple(intervals(row))
        shape, alignments = row["logical_shape"], tuple(row["dim_alignments"])
        layout = aligned_layout(shape, row["grid"], pairs, alignments, tiling)
        tensor = AlignedTensor(layout, alignments, pairs)
        assert parse_tensor_type(str(tensor)) == tensor, row
        device = "x".join(map(str, row["device_tensor_shape"]))
        assert str(tensor).startswith(f"tensor<{device}x"), row


def check_flags(row: Row) -> None:
    shape, chosen = row["logical_shape"], tuple(row["dim_alignments"])
    default = chosen == tile_alignments(len(shape), intervals(row))
    assert default == row["alignment_is_tile_default"], row
    aware = chosen == grid_aware_alignments(shape, intervals(row), (8, 8))
    assert aware == row["alignment_is_grid_aware_8x8"], row


def test_rows_that_no_rule_gives_are_refused_or_differ(shared_data: Path) -> None:
    """Hand-written device shapes: grid times shard is not the physical shape."""
    for row in era(shared_data)["lit_tests_not_derivable"]:
        if "alignment_is_tile_default" in row:
            check_flags(row)
        tiling = Tiling(tuple(row["tile"] or ()))
        rank = len(row["device_tensor_shape"]) // 2
        grid, shard = row["device_tensor_shape"][:rank], row["device_tensor_shape"][rank:]
        collapse = aligned_collapse(row["logical_shape"], row["dim_alignments"], intervals(row))
        physical = list(tiling.tiles(collapse.extents))
        if "physical_shape" in row or "physical_shape_tiles" in row:
            wanted = row["physical_shape_tiles"] if row["tile"] else row["physical_shape"]
            assert physical == wanted, row
            assert list(collapse.strides) == row["host_stride"], row
            assert prod(collapse.extents) == row["host_volume"], row
        assert shard_or_refusal(row, grid, tiling) != shard, row


def shard_or_refusal(row: Row, grid: list[int], tiling: Tiling) -> list[int] | str:
    """Shard in tiles; or the sentence with which the layout is refused."""
    try:
        layout = aligned_layout(
            row["logical_shape"], grid, intervals(row), row["dim_alignments"], tiling
        )
    except SpecError as error:
        if "do not divide" not in error.what and "no multiple of the tile" not in error.what:
            raise
        return error.what
    return list(layout.shard_tiles)


def test_a_grid_that_does_not_divide_is_refused_with_the_remainder() -> None:
    with pytest.raises(SpecError, match="group 0: 18 positions do not divide over 8 cells, 2 are"):
        aligned_layout((576, 4096), (8, 8), [(0, 1), (1, 2)], (32, 32), TILES)
