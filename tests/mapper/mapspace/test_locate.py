"""Mappings are found in the mapspace again, or refused with a reason."""

from __future__ import annotations

import pytest
from buffer_spaces import space

from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Spatial, Storage, Temporal


def test_every_member_is_found_again() -> None:
    room = space("keep: Nothing, may_keep: All", size=200)
    for mapping in room:
        assert room.contains(mapping) is None


def nodes(*more: object) -> Mapping:
    return Mapping((Storage(("A", "B", "Z"), "DRAM"), *more, ComputeNode("Z", "MAC")))  # type: ignore[arg-type]


LOOPS = (Temporal("m", 1), Temporal("n", 1), Temporal("k", 1))


@pytest.mark.parametrize(
    ("mapping", "reason"),
    [
        (nodes(*LOOPS), "keep and may_keep do not allow this placement: A in DRAM"),
        (nodes(Temporal("k", 1), Temporal("n", 1), Storage(("B",), "BUF")), "do not reach tile"),
        (nodes(Temporal("k", 4), Storage(("B",), "BUF"), *LOOPS), "tiles of 4 do not divide 6"),
        (nodes(*LOOPS[1:], Storage(("B",), "BUF"), Spatial("m", 1, "x", "PE")), "PE.x: fanout"),
        (nodes(Temporal("m", 1), Storage(("B",), "BUF"), *LOOPS[1:]), "same counts"),
        (Mapping((*nodes(*LOOPS).nodes[:-1], ComputeNode("Y", "MAC"))), "does not compute Z"),
    ],
)  # fmt: skip
def test_reasons(mapping: Mapping, reason: str) -> None:
    found = space("keep: weight", size=64).contains(mapping)
    assert found is not None
    assert reason in found


def test_overflow_is_a_reason_with_numbers() -> None:
    mapping = nodes(
        Storage(("B",), "BUF"), LOOPS[0], Storage(("A",), "BUF"), LOOPS[1], Storage(("Z",), "BUF"),
        LOOPS[2],
    )  # fmt: skip
    assert space(size=200).contains(mapping) is None
    found = space(size=64).contains(mapping)
    assert found == "BUF needs 152 bits (B 96, A 48, Z 8), its size is 64"
