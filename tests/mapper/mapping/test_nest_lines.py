"""The lines of a loop nest: trips, tiles, footprints, joined holders, numbered steps."""

from __future__ import annotations

from fractions import Fraction

from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Sequential,
    Spatial,
    Storage,
    Temporal,
    TollNode,
)
from tilewright.mapper.mapping.nest_lines import nest_lines, nest_text

NODES = (
    Storage(("A",), "DRAM"),
    Storage(("Z",), "DRAM"),
    Storage(("Z",), "BUF"),
    Temporal("m", 3),
    TollNode(("A",), "BUS"),
    Spatial("k", 2, "X", "PE"),
    ComputeNode("Z", "MAC"),
)


def test_numbers_of_tiles_and_what_is_held():
    bits = {"Z/DRAM/A": 8 * 2048, "Z/BUF/Z": Fraction(12)}
    lines = nest_lines(NODES, {"Z": {"m": 8, "k": 4}}, bits)
    assert nest_text(lines).splitlines() == [
        "[DRAM] A 2 KiB, Z",
        "[BUF] Z 1.5 B",
        "for m       3 tiles of 3, last 2",
        "  [BUS] A",
        "  parfor k  2 tiles of 2 over PE.X",
        "    compute Z on MAC",
    ]
    assert lines[2].document() == {
        "depth": 0, "kind": "temporal", "name": "m", "trips": 3, "tile": 3, "last": 2,
    }  # fmt: skip
    assert lines[0].document()["bits"] == {"A": 16384, "Z": None}


def test_without_bounds_only_tiles_are_known():
    assert "for m       tile 3" in nest_text(nest_lines(NODES))
    assert str(Mapping(NODES)) == nest_text(nest_lines(NODES))


def test_trips_follow_the_tile_above_and_the_first_tile():
    nodes = (
        Temporal("m", 4, initial_tile_shape=3),
        Temporal("m", 2),
        Temporal("n", 5),
        ComputeNode("Z", "MAC"),
    )
    lines = nest_lines(nodes, {"Z": {"m": 11, "n": 5}})
    assert [line.right for line in lines[:3]] == [
        "3 tiles of 4, first 3",  # 3 + 4 + 4
        "2 tiles of 2",
        "1 tile of 5",
    ]


def test_a_shared_loop_counts_under_the_name_of_each_einsum():
    nodes = (
        Temporal("m", 2, names=(("Z", "p"),)),
        Sequential(
            (
                (Temporal("m", 1), ComputeNode("Y", "MAC")),
                (Temporal("p", 1), ComputeNode("Z", "MAC")),
            )
        ),
    )
    lines = nest_lines(nodes, {"Z": {"p": 6}})
    assert lines[0].left == "for m = p of Z"
    assert lines[0].trips == 3
    assert [line.trips for line in lines if line.name == "p"] == [2]


def test_steps_are_numbered_through():
    inner = Sequential(((ComputeNode("B", "MAC"),), (ComputeNode("C", "MAC"),)))
    nodes = (Sequential(((ComputeNode("A", "MAC"),), (Temporal("m", 1), inner))),)
    steps = [line.left for line in nest_lines(nodes) if line.kind == "step"]
    assert steps == ["step 1: A", "steps 2 to 3: B, C", "step 2: B", "step 3: C"]


def test_many_einsums_of_a_step_are_shortened():
    inner = Sequential(tuple((ComputeNode(f"E{i}", "MAC"),) for i in range(6)))
    lines = nest_lines((Sequential(((inner,),), kind="Pipeline"),))
    assert lines[0].left == "stages 1 to 6: E0, …, E5"


def test_holders_that_differ_stand_apart():
    nodes = (
        Storage(("A",), "L1", buffers=2),
        Storage(("B",), "L1", buffers=2),
        Storage(("Z",), "L1", persistent=True, reduction="chain"),
        ComputeNode("Z", "MAC"),
    )
    lines = nest_text(nest_lines(nodes)).splitlines()
    assert lines[:2] == ["[L1] A, B (2 buffers)", "[L1] Z (persistent, added by chain)"]
