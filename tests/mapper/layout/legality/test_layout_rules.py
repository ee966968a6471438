"""Which rules of a machine a layout breaks."""

from dataclasses import replace

import pytest

from tilewright.mapper.layout import (
    Collapse,
    GridSplit,
    Layout,
    ModuloRotation,
    TilePlacement,
    Tiling,
    number_format,
)
from tilewright.mapper.layout.legality.layout_rules import broken_rules, reduction_is_safe
from tilewright.mapper.layout.machines.layout_machine import load_machine
from tilewright.mapper.layout.schemes.linear_map import linear_map_layout
from tilewright.mapper.layout.schemes.tensor_shardings import ShardedTensor

TILES = Tiling((32, 32), number_format("bf16"))
WORMHOLE = load_machine("wormhole")


def broken(layout: Layout) -> dict[str, dict[str, int]]:
    return {rule.rule: dict(rule.numbers) for rule in broken_rules(layout, WORMHOLE)}


def test_an_even_sharding_breaks_nothing() -> None:
    tensor = ShardedTensor((1024, 1024), (1, 8, 8), TILES)
    for layout in (tensor.block_sharded(8, 8), tensor.height_sharded(32), tensor.width_sharded(32)):
        assert broken(layout) == {}


@pytest.mark.row("004.25", "004.32")
@pytest.mark.parametrize(
    ("layout", "rule", "numbers"),
    [
        (
            linear_map_layout((1024, 1024), (1, 1), tiling=TILES),
            "capacity",
            {"needed": 2097152, "capacity": 1499136},
        ),
        (linear_map_layout((8, 64), (6, 1)), "phantom", {"empty": 2, "cells": 6}),
        (linear_map_layout((9, 64), (2, 1)), "uneven", {"extent": 9, "cells": 2}),
        (linear_map_layout((64, 64), (16, 1)), "units", {"cells": 16}),
        (linear_map_layout((3, 3), (1, 1)), "alignment", {"bytes": 36, "alignment": 16}),
        (
            linear_map_layout((4, 4), (1, 1), tiling=Tiling((), number_format("f64"))),
            "format",
            {"bits": 64},
        ),
        (
            linear_map_layout((8, 32), (1, 1), tiling=Tiling((8, 32))),
            "tile",
            {"rows": 8, "columns": 32},
        ),
        (replace(linear_map_layout((4, 4), (1, 1)), memory="sbuf"), "memory-space", {}),
    ],
)
def test_a_broken_rule_has_its_numbers(layout: Layout, rule: str, numbers: dict[str, int]) -> None:
    found = broken(layout)
    assert list(found) == ([rule, "uneven"] if rule == "phantom" else [rule])
    assert found[rule] == numbers
    assert broken_rules(layout, WORMHOLE, allow=(rule, "uneven")) == ()


def test_addresses_of_blocks_are_checked_too() -> None:
    """A shard that fits breaks both rules at the end of the memory, off its alignment."""
    layout = linear_map_layout((64, 64), (2, 2), tiling=TILES)
    size = layout.shard_bytes
    for base, rules in ((0, []), (1499136 - size, []), (1499137 - size, ["capacity"])):
        moved = layout.with_place(
            TilePlacement(tile_bytes=size, address=ModuloRotation(base, size))
        )
        assert moved.end_address == base + size
        wanted = [*rules, *(["start-address"] if base % 16 else [])]
        assert list(broken(moved)) == wanted
    last = broken_rules(moved, WORMHOLE)[0]
    assert last.instead == f"a first address of at most {1499136 - size}"
    rows = linear_map_layout((96, 8), (1, 1), tiling=Tiling((), number_format("bf16")))
    odd = TilePlacement(blocks=(3, 1), tile_bytes=512, address=ModuloRotation(16, 520, (3, 1)))
    assert broken(rows.with_place(odd)) == {
        "start-address": {"first": 16, "apart": 520, "alignment": 16}
    }


def test_a_grid_with_cells_without_data_names_one_where_all_have_some() -> None:
    """65 rows aligned to 128: the fourth of four cells has none, and so have 3 cells of 43 rows."""
    collapse = Collapse.of((65, 32), (), alignments=(128, 1))
    layout = Layout.on_grid(collapse, GridSplit.ceil(collapse.extents, (4, 1)))
    assert layout.phantom_cells == ((3, 0),)
    assert layout.phantom_count == 1
    phantom = {rule.rule: rule for rule in broken_rules(layout, WORMHOLE)}["phantom"]
    assert phantom.instead == "a grid of 2 x 1"


def test_a_tensor_in_psum_keeps_the_rules_of_banks() -> None:
    layout = replace(linear_map_layout((1, 600), (1, 1)), memory="psum")
    rules = [rule.rule for rule in broken_rules(layout, load_machine("trainium1"), ("units",))]
    assert rules == ["psum.bank-size"]


@pytest.mark.row("004.08")
def test_a_reduction_over_padding_needs_a_neutral_value() -> None:
    """theory/layouts.md §8."""
    padded = linear_map_layout((9, 64), (2, 1))
    assert not reduction_is_safe(padded, "sum")
    assert reduction_is_safe(replace(padded, padding_value="zero"), "sum")
    assert not reduction_is_safe(replace(padded, padding_value="zero"), "product")
    assert reduction_is_safe(replace(padded, padding_value="neginf"), "max")
    assert reduction_is_safe(linear_map_layout((8, 64), (2, 1)), "min")
