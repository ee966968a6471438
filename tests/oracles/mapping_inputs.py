"""A mapping of two Einsums as a file; an architecture, a workload and a mapping of one Einsum."""

from __future__ import annotations

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.workload.workload_loading import load_workload

FUSED = """
mapping:
  nodes:
  - !Storage {tensors: [A, B, D, Z], component: DRAM, persistent: true}
  - !Temporal {rank_variable: m, tile_shape: 2, initial_tile_shape: 3}
  - !Storage {tensors: [Y], component: BUF}
  - !Sequential
    nodes:
    - !Nested
      nodes:
      - !Spatial {rank_variable: m, tile_shape: 1, name: x, component: PE}
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Compute {einsum: Y, component: MAC}
    - !Nested
      nodes:
      - !Compute {einsum: Z, component: MAC}
"""

BOTH = (
    "actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]"
)


ONE = "actions: [{name: read, energy: 1, throughput: 1}]"


FREE = "area: 0, leak_power: 0"


ARCH = load_arch(
    f"""
arch:
  nodes:
  - !Memory {{name: DRAM, size: inf, {FREE}, {BOTH}}}
  - !Toll {{name: LINK, direction: down, {FREE}, {ONE}}}
  - !Memory {{name: BUF, size: 40, {FREE}, {BOTH}}}
  - !Container {{name: PE, spatial: [{{name: x, fanout: 2}}]}}
  - !Memory {{name: REG, size: inf, {FREE}, {BOTH}}}
  - !Compute {{name: MAC, {FREE}, actions: [{{name: compute, energy: 1, throughput: 1}}]}}
"""
)


WORKLOAD = load_workload(
    "workload:\n  rank_sizes: {M: 4, K: 6}\n  bits_per_value: {All: 1}\n"
    '  einsums: ["Z[m] = A[m, k] * B[k]"]\n'
)


GOOD = """
Storage {tensors: [A, B, Z], component: DRAM}
Temporal {rank_variable: m, tile_shape: 2}
Storage {tensors: [A], component: BUF}
Spatial {rank_variable: m, tile_shape: 1, name: x, component: PE}
Temporal {rank_variable: k, tile_shape: 1}
Compute {einsum: Z, component: MAC}
"""


def mapping(text: str) -> Mapping:
    """Return the mapping with these nodes, one on a line and without tags."""
    lines = "".join(f"  - !{line}\n" for line in text.strip().splitlines())
    return load_mapping("mapping:\n  nodes:\n" + lines)
