"""Exact counts of tiles that differ in size, against the closed form and by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from running_example import ARCH, LANES, LOOPS, loops_and_nest, view_of

from tilewright.mapper.model.traffic.reuse import even_traffic
from tilewright.mapper.model.traffic.uneven import exact_traffic


@pytest.mark.parametrize("tensor", ["A", "B", "Z"])
@pytest.mark.parametrize("nodes", [LOOPS, LANES])
def test_even_tiles_give_the_counts_of_the_closed_form(tensor: str, nodes: str) -> None:
    loops, nest = loops_and_nest(tensor, nodes)
    turns = {place: loop.turns for place, loop in loops.items()}
    assert exact_traffic(nest) == even_traffic(nest, turns)


def exact(tensor, nodes, sizes, arch=ARCH, einsum="Z[m] = A[m, k] * B[k]"):
    _, nest = loops_and_nest(tensor, nodes, view_of(einsum, sizes, arch))
    return {t.holder.component.name: t for t in exact_traffic(nest)}


def test_remainders_are_as_large_as_they_are() -> None:
    """k = 7 in tiles of 3, 3, 1: the sum is filled twice (visits 2 and 3), drained three times."""
    nodes = """
Storage {tensors: [A, B, Z], component: DRAM}
Temporal {rank_variable: k, tile_shape: 3}
Storage {tensors: [A, Z], component: BUF}
Temporal {rank_variable: k, tile_shape: 1}
Compute {einsum: Z, component: MAC}
"""
    sums = exact("Z", nodes, "M: 1, K: 7")
    assert (sums["DRAM"].reads, sums["DRAM"].writes) == (2, 3)
    assert (sums["BUF"].reads, sums["BUF"].writes) == (6 + 3, 7 + 2)
    inputs = exact("A", nodes, "M: 1, K: 7")
    assert (inputs["DRAM"].reads, inputs["BUF"].writes) == (7, 3 + 3 + 1)


LANE = """
Storage {tensors: [A, B, Z], component: DRAM}
Spatial {rank_variable: m, tile_shape: 4, name: x, component: BUF}
Storage {tensors: [A, B], component: BUF}
Temporal {rank_variable: m, tile_shape: 1}
Temporal {rank_variable: k, tile_shape: 1}
Compute {einsum: Z, component: MAC}
"""


def test_the_busiest_instance_has_the_largest_tile() -> None:
    """m = 7 over two buffers: rows 4 and 3 of A; B goes once to both (m is irrelevant)."""
    arch = ARCH.replace("    size: 64\n", "    size: 64\n    spatial: [{name: x, fanout: 2}]\n")
    rows = exact("A", LANE, "M: 7, K: 5", arch)
    assert (rows["DRAM"].reads, rows["BUF"].writes, rows["BUF"].unit_writes) == (35, 35, 20)
    shared = exact("B", LANE, "M: 7, K: 5", arch)
    assert (shared["DRAM"].reads, shared["BUF"].writes, shared["BUF"].unit_writes) == (5, 10, 5)
    assert (shared["BUF"].reads, shared["BUF"].unit_reads) == (35, 20)


@settings(max_examples=30)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 12), st.integers(1, 12))
def test_inputs_are_fetched_once_per_tile(m: int, k: int, outer: int, inner: int) -> None:
    """Two temporal loops over each variable: every value of A once, of B once per tile of m."""
    outer, inner = min(outer, m), min(inner, k)
    nodes = f"""
Storage {{tensors: [A, B, Z], component: DRAM}}
Temporal {{rank_variable: m, tile_shape: {outer}}}
Temporal {{rank_variable: k, tile_shape: {inner}}}
Storage {{tensors: [A, B], component: BUF}}
Temporal {{rank_variable: m, tile_shape: 1}}
Temporal {{rank_variable: k, tile_shape: 1}}
Compute {{einsum: Z, component: MAC}}
"""
    sizes = f"M: {m}, K: {k}"
    assert exact("A", nodes, sizes)["DRAM"].reads == m * k
    assert exact("B", nodes, sizes)["DRAM"].reads == k * -(-m // outer)
    assert exact("B", nodes, sizes)["BUF"].reads == m * k
