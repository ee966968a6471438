"""Rules of the file decide where loops may stand in a mapspace."""

from __future__ import annotations

import pytest
from buffer_spaces import space

from tilewright.mapper.mapping.mapping import Spatial, Storage, Temporal


def test_no_refetch_keeps_loops_off() -> None:
    for mapping in space("keep: All, no_refetch_from_above: weight"):
        above = True
        for node in mapping.nodes:
            if isinstance(node, Storage) and node.component == "BUF" and "B" in node.tensors:
                above = False
            if isinstance(node, Temporal) and node.rank_variable == "m":
                assert not above


def test_no_resend_keeps_loops_off() -> None:
    found = list(space("keep: All, no_resend_to_below: weight"))
    assert found
    for mapping in found:
        below = False
        for node in mapping.nodes:
            below |= isinstance(node, Storage) and node.component == "BUF" and "B" in node.tensors
            assert not (below and isinstance(node, Temporal) and node.rank_variable == "m")


@pytest.mark.parametrize(("conventions", "binds"), [("default", True), ("accelforge", False)])
def test_tile_shape(conventions: str, binds: bool) -> None:
    rules = "keep: weight, tile_shape: [{expression: k, operator: ==, value: 3}]"
    tiles = set()
    for mapping in space(rules, conventions=conventions):
        k = 6
        for node in mapping.nodes:
            if isinstance(node, Storage) and node.component == "BUF":
                tiles.add(k)
            if isinstance(node, (Temporal, Spatial)) and node.rank_variable == "k":
                k = node.tile_shape
    assert (tiles == {3}) is binds


def test_what_tile_shape_refuses_is_no_member() -> None:
    pinned = space("keep: weight, tile_shape: [{expression: k, operator: ==, value: 3}]")
    members = {str(mapping) for mapping in pinned}
    others = [mapping for mapping in space("keep: weight") if str(mapping) not in members]
    assert members
    assert others
    assert {"tile_shape of BUF refuses the tile" in (pinned.contains(m) or "") for m in others} == {
        True
    }
