"""Every row of the reference cases of height, width, block and interleaved shardings."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import AffineMap, Collapse, Layout, Tiling
from tilewright.mapper.layout.legality.sharding_rules import broken_sharding_rules
from tilewright.mapper.layout.machines.layout_machine import load_machine
from tilewright.mapper.layout.schemes.tensor_shardings import ShardedTensor, padded_collapse

Row = dict[str, Any]
KINDS = (None, "interleaved", "height_sharded", "width_sharded", "block_sharded")


def cases(shared_data: Path) -> dict[str, list[Row]]:
    text = (shared_data / "layouts" / "tt_layout_vectors.json").read_text(encoding="utf-8")
    loaded: dict[str, list[Row]] = json.loads(text)["ttnn_layout"]
    return loaded


def tiling(row: Row) -> Tiling:
    return Tiling(tuple(row["tile"] or ()))


def memref(row: Row) -> list[int]:
    """The shape that the compiler writes: shards, or for interleaved L1 a row of pages."""
    assert row["memory_layout"] in KINDS, row
    tensor = ShardedTensor(tuple(row["logical_shape"]), tuple(row["grid"]), tiling(row))
    collapse = tensor.collapse
    if row["buffer"].startswith("l1") and row["memory_layout"] == "interleaved":
        whole = prod(tiling(row).tiles(collapse.extents))
        return [1, -(-whole // prod(row["grid"]))]
    grid = (1, 1) if row["memory_layout"] in (None, "interleaved") else tuple(row["grid"])
    return list(divided(tensor, grid).shard_tiles)


def divided(tensor: ShardedTensor, grid: tuple[int, ...]) -> Layout:
    units = ShardedTensor(tensor.shape, (grid[0], grid[1]), tensor.tiling)
    return units.block_sharded(*grid)


def joined(row: Row, padded: bool) -> Collapse:
    tiles = tiling(row) if padded else Tiling()
    return padded_collapse(row["logical_shape"], tiles)


def matches_linear(row: Row, padded: bool) -> bool:
    """Whether the printed linear map is the collapse of the padded (or the plain) shape."""
    affine = AffineMap.parse(row["linear"])
    terms = [result.coefficients() for result in affine.results]
    rows = joined(row, padded).rows
    return len(terms) == len(rows) and all(
        read is not None and read[1] == 0 and read[0] == dict(group)
        for read, group in zip(terms, rows, strict=True)
    )


def test_consistent_rows(shared_data: Path) -> None:
    kinds = Counter()
    for row in cases(shared_data)["consistent"]:
        padded = joined(row, padded=True)
        assert padded.extents[1] == row["padded_shape"][-1], row
        assert padded.extents[0] == prod(row["padded_shape"][:-1]), row
        assert memref(row) == row["computed_memref"] == row["expected_memref"], row
        assert matches_linear(row, True) == row["linear_matches_padded_collapse"], row
        assert matches_linear(row, False) == row["linear_matches_unpadded_collapse"], row
        kinds[row["memory_layout"]] += 1
    assert kinds


def test_sharded_rows_keep_the_rules_of_their_kind(shared_data: Path) -> None:
    """All but those whose grid or memory the kind does not have, which break just that rule."""
    machine = load_machine("wormhole")
    for row in cases(shared_data)["consistent"]:
        kind = str(row["memory_layout"]).removesuffix("_sharded")
        if kind not in ("height", "width", "block"):
            continue
        rows, columns = row["grid"]
        tensor = ShardedTensor(tuple(row["logical_shape"]), (rows, columns), tiling(row))
        layout = replace(
            tensor.block_sharded(rows, columns), memory="dram" if "dram" in row["buffer"] else "l1"
        )
        fits = {"height": columns == 1, "width": rows == 1, "block": rows <= 8 and columns <= 8}
        wanted = [] if fits[kind] else ["kind-grid"]
        if kind == "block" and layout.memory == "dram":
            wanted.append("kind-memory")
        broken = broken_sharding_rules(layout, kind, machine, ("kind-tile",))
        assert sorted(rule.rule for rule in broken) == sorted(wanted), row


def test_hand_written_rows_differ_from_the_rule(shared_data: Path) -> None:
    for row in cases(shared_data)["not_derivable_hand_written"]:
        assert memref(row) == row["computed_memref"], row
        assert memref(row) != row["expected_memref"], row
        assert matches_linear(row, True) == row["linear_matches_padded_collapse"], row
        assert matches_linear(row, False) == row["linear_matches_unpadded_collapse"], row


def test_hand_written_maps_that_lose_data_are_named(shared_data: Path) -> None:
    """Linear maps under which two indices share a place are refused, all others are accepted."""
    for rows in cases(shared_data).values():
        for row in rows:
            shape = row["logical_shape"]
            affine = AffineMap.parse(row["linear"])
            if affine.rank != len(shape):
                continue
            refusal = refused(shape, affine)
            if refusal:
                assert "have the same coordinates" in refusal or "interleave" in refusal, row
            else:
                collapse, last = Collapse.linear(shape, affine), tuple(n - 1 for n in shape)
                assert collapse.index(collapse.coordinates(last)) == last, row


def refused(shape: list[int], affine: AffineMap) -> str:
    try:
        Collapse.linear(shape, affine)
    except SpecError as error:
        return error.what
    return ""
