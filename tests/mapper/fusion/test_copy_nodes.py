"""The nodes of copies: what they share with other Einsums, and what is their own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilewright.mapper.fusion.copies.copy_nodes import (
    CopySpatialLoop,
    KeptTensors,
    copy_branch,
    nodes_of_one_lane,
    spatial_loops_above,
    without_null_loops,
    without_storages,
)
from tilewright.mapper.fusion.fused_mapping import UpperHolder
from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Node,
    Spatial,
    Storage,
    Temporal,
    TollNode,
)

LEAF = ComputeNode("X", "MAC")
LANES = CopySpatialLoop("m", 4, ("TILE", "x"))
OUTER = Storage(("Y", "X"), "DRAM")
KEPT = KeptTensors(("Y",), "BUF", frozenset({"TILE"}), frozenset({"m"}), frozenset({"Y"}))


def test_spatial_loops_have_the_lanes_between_two_tiles() -> None:
    """Of 16 values a loop leaves 8, four lanes have 2 each, and two lanes of another array 1."""
    nodes = (OUTER, Temporal("m", 8), Spatial("m", 2, "x", "TILE"), Spatial("m", 1, "y", "PE"))
    mapping = Mapping((*nodes, LEAF))
    assert spatial_loops_above(mapping, {"m": 16}, frozenset({"TILE"})) == [LANES]
    assert spatial_loops_above(mapping, {"m": 16}, frozenset({"TILE", "PE"})) == [
        LANES,
        CopySpatialLoop("m", 2, ("PE", "y")),
    ]


def test_a_branch_starts_below_the_outermost_memory() -> None:
    """A Toll of a tensor that other Einsums use ends the outermost part."""
    own_toll, shared_toll = TollNode(("X",), "LINK"), TollNode(("Y",), "LINK")
    nodes: tuple[Node, ...] = (OUTER, own_toll, shared_toll, Storage(("Y",), "BUF"), LEAF)
    branch = copy_branch(nodes, "DRAM", frozenset({"Y"}))
    assert branch.outermost == (Storage(("Y",), "DRAM"), Storage(("X",), "DRAM"), own_toll)
    assert branch.inner_nodes == nodes[2:]


def test_loops_above_shared_lanes_see_one_lane() -> None:
    """Tiles of 8 in all four lanes are tiles of 2 in one; below the lanes nothing changes."""
    nodes = (Temporal("m", 8), Temporal("n", 4), Spatial("m", 2, "x", "TILE"), Temporal("m", 1))
    assert nodes_of_one_lane((*nodes, LEAF), [LANES]) == (
        Temporal("m", 2), Temporal("n", 4), Temporal("m", 1), LEAF,
    )  # fmt: skip


def test_lanes_of_two_dimensions_multiply() -> None:
    """Of tiles of 16 in four times two lanes one lane has 2; of 4 in two lanes, 2."""
    second = CopySpatialLoop("m", 2, ("PE", "y"))
    nodes = (Temporal("m", 16), Spatial("m", 4, "x", "TILE"), Temporal("m", 4),
             Spatial("m", 2, "y", "PE"))  # fmt: skip
    assert nodes_of_one_lane((*nodes, LEAF), [LANES, second]) == (
        Temporal("m", 2), Temporal("m", 2), LEAF,
    )  # fmt: skip


def test_kept_tensors_leave_their_storages() -> None:
    nodes = (OUTER, Storage(("Y", "X"), "BUF"), Storage(("Y",), "REG"), LEAF)
    branch = without_storages(copy_branch(nodes, "DRAM", frozenset()), ("Y",))
    assert branch.upper_holders == (UpperHolder(0, Storage(("Y",), "BUF")),)
    assert branch.on_chip == {Storage(("Y",), "BUF")}
    assert branch.inner_nodes == (Storage(("X",), "BUF"), Storage(("Y",), "REG"), LEAF)


def test_loops_with_the_tile_above_are_left_out() -> None:
    nodes = (Temporal("m", 4), Temporal("m", 2), Temporal("n", 3), Temporal("m", 2), LEAF)
    reduced = tuple(without_null_loops({"m": 4, "n": 3}, nodes))
    assert reduced == (Temporal("m", 2), LEAF)


def test_tolls_of_shared_tensors_move_below_what_is_kept() -> None:
    """X stays in DRAM for other Einsums; above the storage of Y its Toll would charge them."""
    kept, toll = Storage(("Y",), "BUF"), TollNode(("X",), "LINK")
    nodes = (Storage(("X",), "DRAM"), toll, Spatial("m", 1, "x", "TILE"), kept, LEAF)
    assert KEPT.fit(Mapping(nodes)) == Mapping(nodes)
    moved = replace(KEPT, shared_tensors=frozenset({"Y", "X"})).fit(Mapping(nodes))
    assert moved == Mapping((nodes[0], nodes[2], kept, toll, LEAF))


@pytest.mark.parametrize(
    ("node", "variables"),
    [(Storage(("Y",), "DRAM"), {"m"}), (Spatial("m", 1, "x", "TILE"), {"n"})],
)
def test_mappings_without_a_place_in_the_tree(node: Node, variables: set[str]) -> None:
    """The tensor is first held elsewhere; lanes above it that no other Einsum may have."""
    nodes = (Storage(("X",), "DRAM"), node, Storage(("Y",), "BUF"), LEAF)
    kept_tensors = replace(KEPT, spatial_variables=frozenset(variables))
    assert kept_tensors.fit(Mapping(nodes)) is None
