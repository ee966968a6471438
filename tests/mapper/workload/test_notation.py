"""The concise notation of Einsums and index forms."""

from __future__ import annotations

import pytest

from tilewright.mapper.workload.einsum import Affine
from tilewright.mapper.workload.errors import WorkloadError
from tilewright.mapper.workload.notation import parse_affine, parse_einsum
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload


def load(einsums: str, sizes: str = "M: 4, N: 8, K: 6", more: str = "") -> Workload:
    lines = "".join(f"  - {line.strip()}\n" for line in einsums.strip().splitlines())
    return load_workload(
        f"workload:\n  rank_sizes: {{{sizes}}}\n  bits_per_value: {{All: 8}}\n{more}"
        f"  einsums:\n{lines}"
    )


def test_concise_and_long_form_mean_the_same() -> None:
    concise = load('"Z[m, n] = A[m, k] * B[k, n]"').einsum("Z")
    long = load_workload(
        """
workload:
  rank_sizes: {M: 4, N: 8, K: 6}
  bits_per_value: {All: 8}
  einsums:
  - name: Z
    tensor_accesses:
    - {name: Z, projection: [m, n], output: true}
    - {name: A, projection: {M: m, K: k}}
    - {name: B, projection: [k, n]}
"""
    ).einsum("Z")
    assert long == concise
    assert concise.bounds == {"m": 4, "n": 8, "k": 6}
    assert concise.operations == 4 * 8 * 6


@pytest.mark.parametrize(
    ("text", "terms", "constant"),
    [
        ("p", (("p", 1),), 0),
        ("2*p + r", (("p", 2), ("r", 1)), 0),
        ("p * 2 + 3*r - 1", (("p", 2), ("r", 3)), -1),
        ("p + p", (("p", 2),), 0),
        ("-(p - q)", (("p", -1), ("q", 1)), 0),
    ],
)
def test_affine_forms(text: str, terms: tuple[tuple[str, int], ...], constant: int) -> None:
    assert parse_affine(text) == Affine(terms, constant)


@pytest.mark.parametrize(
    "text", ["p * q", "p / 2", "f(p)", "p[0]", "__import__('os')", "", "1.5*p"]
)
def test_what_is_not_affine_is_refused(text: str) -> None:
    with pytest.raises(WorkloadError, match="sum of rank variables"):
        parse_affine(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Z[m]", "is `output = product of inputs`"),
        ("Z[m] = A[m] % B[m]", "has tensors, numbers"),
        ("Z[m] = A[m, k] * B[k] + C[m]", "does not say how it is joined over k"),
        ("Z[m] * Y[m] = A[m]", "one tensor with its indices on the left"),
        ("Z[m] = A[m] * ", "no formula of tensors"),
        ("Z[m] = A[m] + _0", "a name of a tensor needs its indices"),
        ("Z[m] = A[m] + x", "x is no tensor with its indices"),
        ("Z[m] = exq(A[m])", "did you mean exp"),
        ("Z[m] = A[m] + sum(B[m, k])", "stands around the whole formula"),
        ("Z[m] = exp(A[m], B[m])", "there is no function|has tensors"),
        ("Z[m] = (lambda: 1)() * A[m]", "has tensors, numbers"),
        ("Z[m] = A", "no tensor with its indices"),
        ("Z[M] = A[m]", "a rank variable"),
        ("Z[m] = A[p + r]", "a rank variable"),
        ("Z[m] = A[m, 0]", "instead: H: 0, where H is the rank"),
        ("Z[m] = A[h: m]", "begins with a capital letter"),
        ("Z[m, m] = A[m]", "stands twice"),
        ("Z[m] = A[m, m, m]", "M2: m the second time"),
        ("Z[m] = A[m, M2: m, m]", "M3: m the second time"),
    ],
)
def test_what_is_no_einsum_is_refused(text: str, what: str) -> None:
    with pytest.raises(WorkloadError, match=what):
        parse_einsum(text)


def test_sums_keep_their_sign() -> None:
    assert load('"Z[m] = A[m] + B[m]"').einsum("Z").combine == "+"
