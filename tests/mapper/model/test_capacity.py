"""What the model does not count of a tile that slides, worked by hand (docs/conventions.md)."""

from __future__ import annotations

import pytest
from fused_cases import two_memories

from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.model.evaluation import evaluate
from tilewright.mapper.workload.workload_loading import load_workload

WORK = """
workload:
  rank_sizes: {P: 4, R: 3, W: 6, N: 8}
  bits_per_value: {All: 1}
  einsums:
  - "Y[p] = A[W: p + r] * F[r]"
  - "Z[p, n] = Y[p] * C[n]"
"""
ABOVE = "  - !Storage {tensors: [A], component: BUF}\n"
LOOP = "  - !Temporal {rank_variable: p, tile_shape: 1}\n"
MAPPING = """
mapping:
  nodes:
  - !Storage {tensors: [A, F, Z], component: DRAM}
HOLDERS  - !Storage {tensors: [Y], component: BUF}
  - !Sequential
    nodes:
    - !Nested
      nodes:
      - !Temporal {rank_variable: r, tile_shape: 1}
      - !Compute {einsum: Y, component: MAC}
    - !Nested
      nodes:
      - !Storage {tensors: [C], component: BUF}
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Compute {einsum: Z, component: MAC}
"""


@pytest.mark.parametrize("conventions", ["default", "accelforge"])
@pytest.mark.parametrize(("holders", "reads"), [(ABOVE + LOOP, 6), (LOOP + ABOVE, 4 * 3)])
def test_what_waits_of_a_window_is_not_counted_while_another_einsum_runs(
    holders: str, reads: int, conventions: str
) -> None:
    """A above the loop comes once, so 2 of its 3 values wait while Z runs; below it none does."""
    mapping = load_mapping(MAPPING.replace("HOLDERS", holders))
    score = evaluate(two_memories("inf"), load_workload(WORK), mapping, conventions)
    assert score.actions["Y/DRAM/A/read"] == reads
    assert score.capacity["BUF"] == max(3 + 1, 1 + 8)
