"""The lanes that fanouts, loop bounds and reuse admit."""

from __future__ import annotations

import pytest
from buffer_spaces import space

from tilewright.mapper.mapping.mapping import Mapping, Spatial, Temporal


def lanes(mapping: Mapping) -> dict[str, int]:
    shape, found = {"m": 4, "k": 6, "n": 2}, {}
    for node in mapping.nodes:
        if isinstance(node, (Temporal, Spatial)):
            if isinstance(node, Spatial):
                found[node.rank_variable] = shape[node.rank_variable] // node.tile_shape
            shape[node.rank_variable] = node.tile_shape
    return found


@pytest.mark.row("001.28", "001.33", "001.34")
@pytest.mark.parametrize(
    ("dim", "allowed"),
    [
        ("fanout: 2", {(), ("m", 2), ("k", 2), ("n", 2)}),
        ("fanout: 3", {(), ("m", 2), ("k", 2), ("n", 2), ("k", 3)}),
        ("fanout: 3, reuse: input", {(), ("n", 2)}),
        ("fanout: 3, min_usage: 1", {("k", 3)}),
        ("fanout: 5, min_usage: 1",
         {("m", 4), ("m", 2, "k", 2), ("m", 2, "n", 2), ("k", 2, "n", 2)}),
        ("fanout: 4, usage_scale: 2", {(), ("m", 2), ("k", 2), ("n", 2)}),
        ("fanout: 3, loop_bounds: [{expression: k, operator: ==, value: 1}]",
         {(), ("m", 2), ("n", 2)}),
        ("fanout: 4, loop_bounds: [{expression: k, operator: '>=', value: 2}]",
         {("k", 2), ("k", 3), ("m", 2, "k", 2), ("k", 2, "n", 2)}),
        ("fanout: 4, loop_bounds: [{expression: m | k, operator: 'product==', value: 4}]",
         {("m", 4), ("m", 2, "k", 2)}),
        ("fanout: 4, loop_bounds: [{expression: m | k | n, operator: 'product<', value: 3}]",
         {(), ("m", 2), ("k", 2), ("n", 2)}),
        ("fanout: 4, loop_bounds: [{expression: m | k | n, operator: 'product>', value: 3}]",
         {("m", 4), ("m", 2, "k", 2), ("m", 2, "n", 2), ("k", 2, "n", 2)}),
    ],
)  # fmt: skip
def test_lanes(dim: str, allowed: set[tuple[object, ...]]) -> None:
    found = set()
    for mapping in space("keep: weight", dim):
        used = lanes(mapping)
        found.add(tuple(x for v in "mkn" if v in used for x in (v, used[v])))
    assert found == allowed
