"""The tree of a fused mapping."""

from __future__ import annotations

from fused_cases import two_memories, workload_of

from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.mapping.mapping import Sequential, Storage

DIAMOND = (
    "Y[m] = A[m] * B[m]",
    "X[m] = Y[m] * C[m]",
    "V[m] = Y[m] * D[m]",
    "Z[m] = X[m] * V[m]",
)


def test_tree_of_a_tensor_live_across_another_einsum() -> None:
    result = fused_search(two_memories(4), workload_of(DIAMOND, {"m": 4}))
    assert set(result.on_chip) == {"Y", "X", "V"}
    last = result.best.mapping.nodes[-1]
    assert isinstance(last, Sequential)
    assert Storage(("Y",), "BUF") in result.best.mapping.nodes
