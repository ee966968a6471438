"""The proof as a whole: what computes the workload and what fits."""

from __future__ import annotations

from fused_cases import two_memories
from mapping_inputs import ARCH, GOOD, WORKLOAD, mapping

from tilewright.mapper.verification.verification import all_violations, violations


def test_a_mapping_that_is_right() -> None:
    assert all_violations(ARCH, WORKLOAD, mapping(GOOD)) == ()


def test_both_halves_of_the_proof_speak() -> None:
    """k stops at tiles of 2, and 12 values of A need 12 of the 8 bits."""
    nodes = GOOD.replace("k, tile_shape: 1", "k, tile_shape: 2")
    nodes = "\n".join(line for line in nodes.splitlines() if "Spatial" not in line)
    nodes = nodes.replace(
        "Temporal {rank_variable: k",
        "Temporal {rank_variable: m, tile_shape: 1}\nTemporal {rank_variable: k",
    )
    nodes = nodes.replace(
        "m, tile_shape: 2}\nStorage {tensors: [A], component: BUF}",
        "m, tile_shape: 2}\nStorage {tensors: [B], component: BUF}",
    )
    small = two_memories(4)
    assert [v.rule for v in violations(WORKLOAD, mapping(nodes))] == ["computed once"]
    found = all_violations(small, WORKLOAD, mapping(nodes))
    assert [v.rule for v in found] == ["computed once", "tiles fit"]


def test_lanes_stand_at_the_fanout_of_their_component() -> None:
    """Lanes of PE share the sums in BUF above them, wherever the loop is written."""
    nodes = """
Storage {tensors: [A, B], component: DRAM}
Spatial {rank_variable: k, tile_shape: 3, name: x, component: PE}
Storage {tensors: [Z], component: BUF}
Temporal {rank_variable: m, tile_shape: 1}
Temporal {rank_variable: k, tile_shape: 1}
Compute {einsum: Z, component: MAC}
"""
    assert [v.rule for v in violations(WORKLOAD, mapping(nodes))] == ["sums joined"]
    assert all_violations(ARCH, WORKLOAD, mapping(nodes)) == ()
    in_registers = mapping(nodes.replace("BUF", "REG"))
    assert [v.rule for v in all_violations(ARCH, WORKLOAD, in_registers)] == ["sums joined"]
