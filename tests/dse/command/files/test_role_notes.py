"""What `map` says where a workload leaves open which tensor is the input."""

from __future__ import annotations

import pytest
from nodes import arch_text, mac, memory

from tilewright.arch.spec.load import load_arch
from tilewright.dse.command.files.role_notes import role_notes
from tilewright.mapper.workload.workload_loading import load_workload


def arch(keep: str):
    return load_arch(
        arch_text(
            memory("DRAM", "inf", "keep: ~Intermediates, may_keep: All", (100, 16), (110, 8)),
            memory("BUF", "512", keep, (50, 256), (60, 128)),
            mac(0.5),
        )
    )


def work(*einsums: str):
    listed = "\n".join(f"  - {einsum}" for einsum in einsums)
    return load_workload(
        "workload:\n  rank_sizes: {M: 4, N: 4, K: 4, P: 4}\n  bits_per_value: {All: 8}\n"
        f"  einsums:\n{listed}\n"
    )


FIRST = '"Y[m, n] = A[m, k] * B[k, n]"'
SECOND = '"Z[m, p] = Y[m, n] * C[n, p]"'


def test_the_first_product_of_a_workload_without_renames():
    (note,) = role_notes(arch("keep: weight"), work(FIRST, SECOND))
    assert note == (
        "note: in Einsum Y the architecture's `weight` stands for A and B, and its `input` for "
        "nothing; `renames: {input: A, weight: B}` beside the Einsum would tell them apart"
    )


def test_others_like_it_are_counted():
    (note,) = role_notes(arch("keep: weight"), work(FIRST, '"X[m, p] = D[m, k] * E[k, p]"'))
    assert "for nothing, likewise in 1 other Einsum;" in note


@pytest.mark.parametrize(
    ("keep", "einsum"),
    [
        ("keep: ~DRAM", FIRST),  # no role is named
        ("keep: weight", "{einsum: " + FIRST + ", renames: {input: A, weight: B}}"),
        ("keep: weight", "{einsum: " + FIRST + ", renames: {input: A}}"),
        ("keep: weight", '"Y[m] = A[m, k]"'),
    ],
)
def test_nothing_is_said_where_all_is_clear(keep, einsum):
    assert role_notes(arch(keep), work(einsum)) == []
