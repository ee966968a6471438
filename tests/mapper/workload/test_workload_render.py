"""Cascades drawn as text and as Mermaid."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.mapper.workload.workload_render import cascade_mermaid, cascade_text

MIXED = """
renames:
  einsums:
  - name: default
    tensor_accesses: {left: Inputs & A, all_out: Outputs}
    rank_variables: {window: r}
workload:
  rank_sizes: {H: 12, M: 4, P: 5, R: 3}
  iteration_space_shape: {m: 2 <= m < 4}
  bits_per_value: {A: 8, B: 4.5, Other: 16}
  persistent_tensors: B
  n_instances: 2
  einsums:
  - "Z[m, p] = A[m, H: 2*p + r - 0] * B[r]"
  - {einsum: "S[m, p] = Z[m, p] + C[m, P: p]", n_instances: 3, name: Add}
  - name: Long
    tensor_accesses:
    - {name: S, projection: {M: m, P: p}}
    - {name: T, projection: [p, m], output: true, bits_per_value: 1}
    - {name: U, projection: {M: m, X: 3}, output: true}
  - {einsum: "V[m, p] = S[m, p]", is_copy_operation: true}
"""


def test_the_cascade_as_text(golden: Callable[[str], None]) -> None:
    golden(cascade_text(load_workload(MIXED)))


def test_the_cascade_as_mermaid(golden: Callable[[str], None]) -> None:
    golden(cascade_mermaid(load_workload(MIXED)))
