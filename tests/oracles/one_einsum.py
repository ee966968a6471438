"""Scores of mappings of one Einsum on a small design."""

from __future__ import annotations

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.model.evaluation import score_mapping
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = """\
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    area: 0
    leak_power: 0
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
  - !Memory
    name: BUF
    size: 10000
    area: 1
    leak_power: 1
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
  - !Compute
    name: MAC
    area: 1
    leak_power: 1
    spatial: [{name: lane, fanout: 8, power_gateable: true}]
    actions: [{name: compute, energy: 1, throughput: 1}]
"""


def score(einsum: str, sizes: str, mapping: str, conventions: str, copy: bool = False) -> Score:
    workload = (
        f"workload:\n  rank_sizes: {{{sizes}}}\n  bits_per_value: {{All: 1}}\n  einsums:\n"
        f'  - {{einsum: "{einsum}", is_copy_operation: {str(copy).lower()}}}\n'
    )
    nodes = "".join(f"  - {line.strip()}\n" for line in mapping.strip().splitlines())
    return score_mapping(
        load_arch(ARCH),
        load_workload(workload),
        load_mapping(f"mapping:\n  nodes:\n{nodes}"),
        conventions,
    )
