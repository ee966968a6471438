"""How the conventions differ in networks, worked by hand (docs/conventions.md)."""

from __future__ import annotations

import pytest

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.model.evaluation import evaluate
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
