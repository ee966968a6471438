"""Each kind of sharding keeps its rules; each rule is broken with its numbers."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.number_format import number_format
from tilewright.mapper.layout import Layout, Tiling
from tilewright.mapper.layout.legality.sharding_rules import ShardingKind, broken_sharding_rules
from tilewright.mapper.layout.machines.layout_machine import load_machine
from tilewright.mapper.layout.schemes.linear_map import linear_map_layout
from tilewright.mapper.layout.schemes.tensor_shardings import ShardedTensor

WORMHOLE = load_machine("wormhole")
TILES = Tiling((32, 32), number_format("bf16"))
TENSOR = ShardedTensor((512, 256), (1, 8, 8), TILES)
BANKS = ShardedTensor((512, 256), (12,), TILES, "dram")


@given(st.integers(1, 600), st.integers(1, 600), st.integers(1, 8), st.integers(1, 8))
def test_the_schemes_keep_the_rules_of_their_kind(m: int, n: int, rows: int, columns: int) -> None:
    tensor = replace(TENSOR, shape=(m, n))
    made: dict[ShardingKind, Layout] = {
        "height": tensor.height_sharded(rows * columns),
        "width": tensor.width_sharded(rows * columns),
        "block": tensor.block_sharded(rows, columns),
        "interleaved": tensor.interleaved(),
    }
    for kind, layout in made.items():
        assert broken_sharding_rules(layout, kind, WORMHOLE) == ()


@pytest.mark.parametrize(
    ("layout", "kind", "rules"),
    [
        (TENSOR.block_sharded(4, 2), "height", ["kind-grid: each shard .* all columns, .* 4 x 2"]),
        (TENSOR.block_sharded(4, 2), "width", ["kind-grid: each shard .* all rows"]),
        (TENSOR.height_sharded(16), "block", ["kind-grid: blocks of 16 x 1 on 8 x 8 units"]),
        (replace(TENSOR.block_sharded(2, 2), memory="dram"), "block", ["kind-memory: banks of"]),
        (replace(TENSOR.height_sharded(2), memory="system"), "height", ["kind-memory: a tensor"]),
        (
            replace(TENSOR.height_sharded(16), memory="dram"),
            "height",
            ["kind-units: 16 shards on 12 units of dram .instead: at most 12"],
        ),
        (linear_map_layout((53, 63), (3, 2), tiling=TILES), "block", ["kind-tile: .* 18 x 32"]),
        (
            TENSOR.block_sharded(2, 2),
            "interleaved",
            ["kind-pages: a page is one tile of 32 x 32, the shards"],
        ),
        (linear_map_layout((2, 4, 4), (1, 1, 1)), "height", ["kind-grid: .* not of 3 dimensions"]),
    ],
)
def test_a_broken_rule_has_its_numbers(
    layout: Layout, kind: ShardingKind, rules: list[str]
) -> None:
    broken = [str(rule) for rule in broken_sharding_rules(layout, kind, WORMHOLE)]
    assert len(broken) == len(rules)
    assert all(re.match(wanted, text) for text, wanted in zip(broken, rules, strict=True)), broken


def test_rules_can_be_allowed_and_banks_take_pages_in_turn() -> None:
    wide = TENSOR.height_sharded(16)
    assert not broken_sharding_rules(wide, "block", WORMHOLE, ("kind-grid",))
    assert broken_sharding_rules(BANKS.interleaved(), "interleaved", WORMHOLE) == ()
    assert BANKS.interleaved().grid_map.used_units == 12
