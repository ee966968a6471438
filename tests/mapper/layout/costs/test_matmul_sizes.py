"""Sizes of products of two matrices, and what is none."""

import pytest

from tilewright.mapper.layout.costs.matmul_sizes import matmul_sizes
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload


def einsum_of(text: str) -> Einsum:
    head = "workload:\n  rank_sizes: {B: 2, M: 3, K: 5, N: 7, P: 11}\n"
    bits = "  bits_per_value: {All: 8}\n"
    return load_workload(f'{head}{bits}  einsums: ["{text}"]\n').einsums[0]


def test_sizes_by_where_a_variable_stands() -> None:
    sizes = matmul_sizes(einsum_of("Z[m, n] = A[m, k] * B[k, n]"))
    assert sizes == (3, 5, 7, "A", "B", "Z")
    assert matmul_sizes(einsum_of("Z[n, m] = A[k, n] * B[m, k]"))[:3] == (7, 5, 3)
    assert matmul_sizes(einsum_of("Z[b, m, n] = A[b, m, k, p] * B[p, k, n]"))[:3] == (6, 55, 7)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Z[b, m, n] = A[b, m, k] * B[b, k, n]", "b is in all three tensors"),
        ("Z[m] = A[m, k] * B[n]", "k is in all three tensors, or in one only"),
        ("Z[m] = A[m]", "does not multiply two tensors"),
    ],
)
def test_other_forms_are_refused(text: str, words: str) -> None:
    with pytest.raises(InfeasibleMapping, match=words):
        matmul_sizes(einsum_of(text))
