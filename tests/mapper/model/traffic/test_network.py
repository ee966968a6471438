"""Hops in closed form, and how the conventions differ in networks (docs/conventions.md §10)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.model.traffic.network import unicast_on_mesh
from tilewright.mapper.workload.workload_loading import load_workload

GRID = """\
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    area: 0
    leak_power: 0
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
  - !Network
    name: NOC
    area: 0
    leak_power: 0
    total_latency: MEASURE
    actions: [{name: hop, energy: 1, throughput: 1, latency: 1}]
  - !Compute
    name: MAC
    area: 0
    leak_power: 0
    spatial: [{name: x, fanout: 4}, {name: y, fanout: 2, may_reuse: SHARED}]
    actions: [{name: compute, energy: 1, throughput: 1}]
"""


@pytest.mark.parametrize(
    ("measure", "default", "theirs"), [("max_link_traffic", 18, 9), ("max_hops", 4, 6)]
)
def test_links_carry_every_round_and_every_dimension(
    measure: str, default: int, theirs: int
) -> None:
    workload = load_workload(
        "workload:\n  rank_sizes: {M: 8, N: 2}\n  bits_per_value: {All: 1}\n"
        '  einsums: ["Z[m, n] = A[m] * B[n]"]\n'
    )
    mapping = load_mapping("""
mapping:
  nodes:
  - !Storage {tensors: [A, B, Z], component: DRAM}
  - !Temporal {rank_variable: m, tile_shape: 4}
  - !Spatial {rank_variable: n, tile_shape: 1, component: MAC, name: y}
  - !Spatial {rank_variable: m, tile_shape: 1, component: MAC, name: x}
  - !Compute {einsum: Z, component: MAC}
""")
    shared = load_arch(GRID.replace("MEASURE", measure).replace("SHARED", "All"))
    ours, other = (evaluate(shared, workload, mapping, c) for c in ("default", "accelforge"))
    assert (ours.latency_by["Z/NOC"], other.latency_by["Z/NOC"]) == (default, theirs)
    assert ours.actions == other.actions
    alone = load_arch(GRID.replace("MEASURE", measure).replace("SHARED", "Nothing"))
    assert evaluate(alone, workload, mapping).actions["Z/NOC/A/hop"] == 2 * (1 * 4 + 2 * 6)


@given(st.integers(1, 12), st.integers(1, 5))
def test_unicast_on_a_mesh_sums_the_distances(turns: int, stride: int) -> None:
    """One source: instance i is i strides away; the first link carries all but the first value."""
    hops, farthest, link = unicast_on_mesh(turns, stride, None)
    assert hops == sum(number * stride for number in range(turns))
    assert (farthest, link) == (turns * stride, turns - 1)


@pytest.mark.parametrize(
    ("turns", "stride", "spread", "hops"),
    [
        (4, 1, 2, 0 + 1 + 0 + 1),  # two places of two instances each
        (6, 1, 3, 0 + 1 + 2 + 0 + 1 + 2),
        (4, 1, 1, 0),  # a place for each instance
        (2, 2, 4, 0 + 2),  # instances 0 and 2 of the first place
    ],
)
def test_unicast_from_places_of_a_distributed_memory(
    turns: int, stride: int, spread: int, hops: int
) -> None:
    assert unicast_on_mesh(turns, stride, spread)[0] == hops
