"""Names that stand for others: the same if Einsums differ in names only, in the same order."""

from __future__ import annotations

import pytest

from tilewright.arch.files.source import load_document
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.known.canonical_names import canonical_names, with_plain_ranks
from tilewright.simulator.known.content_key import content_key


def einsum_of(text: str) -> Einsum:
    known = "rank_sizes: {M: 8, N: 8, D: 6, H: 4}, bits_per_value: {All: 16}"
    file = f'{{workload: {{{known}, einsums: ["{text}"]}}}}'
    (einsum,) = load_workload(load_document("w.yaml", text=file)).einsums
    return einsum


def key(text: str) -> str:
    einsum = einsum_of(text)
    return content_key(with_plain_ranks(einsum), names=canonical_names(einsum))


QUERY = "Q[m, h] = X[m, d] * WQ[d, h]"


@pytest.mark.parametrize(
    ("other", "is_equal"),
    [
        ("K[n, h] = X[M: n, d] * WK[d, h]", True),
        ("Q[m, h] = Z[m, d] * Y[d, h]", True),
        ("Q[m, h] = X[m, d] * Y[d, h]", False),  # Y is behind X, WQ before it
        ("X[m, h] = Q[m, d] * WQ[d, h]", False),
        ("Q[M: a, h] = X[M: a, d] * WQ[d, h]", False),  # a is before d
        ("Q[m, h] = X[m, d] + WQ[d, h]", False),
        ("Q[m, d] = X[m, h] * WQ[h, d]", False),
    ],
)
def test_what_stands_for_the_names(other: str, is_equal: bool) -> None:
    assert (key(QUERY) == key(other)) == is_equal


def test_two_names_never_have_one() -> None:
    names = canonical_names(einsum_of("D[m, h] = H[m, d] * M[d, h]"))
    assert len({*names.values()}) == len(names) == len({"D", "H", "M", "m", "h", "d"})
    assert all(name.startswith("\0") for name in names.values())
