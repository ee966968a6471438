"""Mappings as values, and printed as loop nests."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.mapper.mapping.mapping_file import load_mapping

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


def test_loop_nest_of_a_fused_mapping(golden: Callable[[str], None]) -> None:
    golden(str(load_mapping(FUSED)) + "\n")
