"""Every row of the reference cases of the linear-map layout of 2024 and of virtual grids."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import pytest

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import AffineMap, Collapse, GridMap, GridSplit, Layout, Tiling
from tilewright.mapper.layout.schemes.grid_selection import select_grid
from tilewright.mapper.layout.schemes.linear_map import linear_map_layout, tt_mlir_2024_map

Row = dict[str, Any]
GROUPS = {
    "meta",
    "era1_linear_map",
    "era2_dim_alignments",
    "ttnn_layout",
    "virtual_to_physical",
    "d2m_grid_selection",
}
ALIGNED_GROUPS = {"own_and_comment_vectors", "lit_tests_consistent", "lit_tests_not_derivable"}


def vectors(shared_data: Path) -> dict[str, Any]:
    text = (shared_data / "layouts" / "tt_layout_vectors.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def test_no_group_of_rows_is_left_out(shared_data: Path) -> None:
    """A group of rows that no test of this folder reads would pass unseen."""
    loaded = vectors(shared_data)
    assert set(loaded) == GROUPS
    assert set(loaded["era2_dim_alignments"]) == ALIGNED_GROUPS
    assert set(loaded["ttnn_layout"]) == {"consistent", "not_derivable_hand_written"}


def documented(shared_data: Path) -> Iterator[Row]:
    era = vectors(shared_data)["era1_linear_map"]
    for group, rows in era.items():
        if group != "lit_tests":
            yield from rows


def built(row: Row) -> Layout:
    """The row's layout: by the compiler's rule, or by its explicit coefficients."""
    tiling = Tiling(tuple(row["tile"] or ()))
    if row["collapse_intervals"] is not None:
        intervals = [tuple(pair) for pair in row["collapse_intervals"]]
        return linear_map_layout(
            row["logical_shape"], row["grid"], intervals, tiling, "tt-mlir-2024"
        )
    affine = AffineMap.parse(row["linear"], len(row["logical_shape"]))
    collapse = Collapse.linear(row["logical_shape"], affine)
    return Layout.on_grid(collapse, GridSplit.ceil(collapse.extents, row["grid"]), tiling)


def check_padding(row: Row, layout: Layout) -> None:
    """Allocated and valid positions per grid dimension, and the padding of all cells."""
    for group, column in enumerate(row["padding_per_dim"]):
        assert layout.allocated_shape[group] == column["alloc"], row["id"]
        for at, core in enumerate(column["cores"]):
            valid = sum(length for _, _, length in layout.split.runs(group, at))
            assert valid == core["valid"], row["id"]
            assert layout.allocated_shape[group] - valid == core["pad"], row["id"]
    assert layout.allocated_scalars == row["alloc_elems_all_cores"], row["id"]
    assert layout.padding_total == row["pad_elems_all_cores"], row["id"]


@pytest.mark.row("004.09", "004.14", "004.15", "004.16", "004.29")
def test_documented_layouts(shared_data: Path) -> None:
    checked = 0
    for row in documented(shared_data):
        checked += 1
        if "error" in row:
            check_refused(row)
            continue
        layout = built(row)
        coefficients = [{str(d): c for d, c in terms} for terms in layout.collapse.rows]
        assert coefficients == row["linear_coeffs"], row["id"]
        assert layout.collapse.extents == tuple(row["physical_extent"]), row["id"]
        assert layout.shard_shape == tuple(row["scalar_shard"]), row["id"]
        assert layout.shard_tiles == tuple(row["memref"]), row["id"]
        assert layout.strides == tuple(row["logical_stride_elems"]), row["id"]
        check_padding(row, layout)
        check_document(row)
    assert checked


def check_refused(row: Row) -> None:
    """The compiler's builder cannot emit it; the join rule gives what the document prints."""
    with pytest.raises(SpecError, match="tt-mlir-2024"):
        built(row)
    if "doc_linear" not in row:
        return
    intervals = [tuple(pair) for pair in row["collapse_intervals"]]
    joined = Collapse.of(row["logical_shape"], intervals, len(row["grid"]))
    assert joined == Collapse.linear(row["logical_shape"], AffineMap.parse(row["doc_linear"]))
    assert joined.extents == tuple(row["doc_map_extent"]), row["id"]
    assert joined.strides == tuple(row["doc_map_stride_by_getStride"]), row["id"]


def check_document(row: Row) -> None:
    """Where the document prints a map or a memref, they are what the rule gives."""
    if "doc_linear" in row:
        collapse = Collapse.linear(row["logical_shape"], AffineMap.parse(row["doc_linear"]))
        assert collapse.extents == tuple(row["doc_map_extent"]), row["id"]
        assert (collapse == built(row).collapse) == row["doc_linear_matches_rule"], row["id"]
    if "doc_memref" in row:
        matches = built(row).shard_tiles == tuple(row["doc_memref"])
        assert matches == row["doc_memref_matches_rule"], row["id"]


def test_the_join_rule_allocates_no_dimension_twice(shared_data: Path) -> None:
    """Where the compiler's rule obeys the join rule both agree; else it has room for more."""
    for row in documented(shared_data):
        if row["collapse_intervals"] is None or "error" in row:
            continue
        intervals = [tuple(pair) for pair in row["collapse_intervals"]]
        tiling = Tiling(tuple(row["tile"] or ()))
        joined = linear_map_layout(row["logical_shape"], row["grid"], intervals, tiling)
        twice = not built(row).collapse.separable
        assert twice or strides_of_wide(joined) == strides_of_wide(built(row)), row["id"]
        assert prod(joined.collapse.extents) == joined.collapse.volume, row["id"]
        assert not twice or prod(row["physical_extent"]) > joined.collapse.volume, row["id"]


def strides_of_wide(layout: Layout) -> list[int]:
    """Strides of the dimensions with more than one position."""
    pairs = zip(layout.shape, layout.strides, strict=True)
    return [stride for extent, stride in pairs if extent > 1]


def test_compiler_tests_of_the_linear_map(shared_data: Path) -> None:
    for row in vectors(shared_data)["era1_linear_map"]["lit_tests"]:
        shape, grid = row["logical_shape"], row["grid"]
        affine = AffineMap.parse(row["linear"], len(shape))
        if refused(shape, affine):  # written by hand: two indices have one place
            assert not row["match"], row
            continue
        collapse = Collapse.linear(shape, affine)
        layout = Layout.on_grid(
            collapse, GridSplit.ceil(collapse.extents, grid), Tiling(tuple(row["tile"] or ()))
        )
        assert collapse.extents == tuple(row["extent"]), row
        assert layout.shard_tiles == tuple(row["computed_memref"]), row
        assert (layout.shard_tiles == tuple(row["expected_memref"])) == row["match"], row
        assert layout.strides == tuple(row["logical_stride_elems"]), row
        default = Collapse.linear(shape, tt_mlir_2024_map(shape, len(grid)))
        assert (default == collapse) == row["linear_is_default_collapse"], row


def refused(shape: list[int], affine: AffineMap) -> bool:
    try:
        Collapse.linear(shape, affine)
    except SpecError as error:
        if "have the same coordinates" not in error.what:
            raise
        return True
    return False


@pytest.mark.row("004.17")
def test_virtual_grids(shared_data: Path) -> None:
    for row in vectors(shared_data)["virtual_to_physical"]:
        grid = tuple(row["virtual_grid"])
        units = (prod(row["mesh_shape"]), *row["chip_grid"])
        mapped = GridMap(grid, units, AffineMap.parse(row["virt_to_phys"], len(grid)))
        for sample in row["samples"]:
            assert list(mapped.unit(sample["virt"])) == sample["phys"], row["id"]
        assert (mapped.used_units == mapped.unit_count) == row["covers_all_cores"], row["id"]
        back = AffineMap.parse(row["phys_to_virt"], len(units))
        inverse = all(
            mapped.cells(mapped.unit(cell)) == (cell,) == (back.value(mapped.unit(cell)),)
            for cell in product(*map(range, grid))
        )
        assert inverse == row["inverse_roundtrip_ok"], row["id"]
        assert row["injective"], row["id"]


def test_grid_selections(shared_data: Path) -> None:
    for row in vectors(shared_data)["d2m_grid_selection"]:
        device = tuple(row["target_grid"])
        selected = select_grid(row["physical_tiles"], device)
        assert list(selected.grid) == row["grid"], row
        assert selected.kind == row["kind"], row
        assert selected.cores == row["cores"], row
        assert list(selected.physical) == row["phys_grid"], row
        assert selected.cores / prod(device) == pytest.approx(row["util"], abs=5.1e-5)
        pairs = zip(row["physical_tiles"], selected.grid, strict=True)
        assert [tiles // cells for tiles, cells in pairs] == row["shard_tiles"], row
