"""Which rules of a machine a layout breaks."""

from dataclasses import replace

import pytest

from tilewright.mapper.layout import Layout, Tiling, number_format
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
