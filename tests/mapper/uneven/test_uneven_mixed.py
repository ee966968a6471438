"""Fused mappings with uneven tiles of Einsums that stand alone, beside the parts searched apart."""

from __future__ import annotations

from functools import cache
from typing import Literal

import pytest
from explore import at_night
from nodes import arch_text, lanes, mac, memory

from tilewright.mapper import evaluate, search
from tilewright.mapper.searches.result import SearchResult

ARCH = arch_text(
    memory("DRAM", "inf", "keep: ~Intermediates, may_keep: All", (100, 4)),
    memory("BUF", "8*400", "keep: ~DRAM.tensors, may_keep: All", (1, "inf")),
    lanes("Row", "x", 4),
    mac(),
)
EVEN = (("Y[m, n] = A[m, k] * B[k, n]", "AB"), ("Z[m, j] = Y[m, n] * C[n, j]", "YC"))
ODD = ("V[p, r] = U[p, q] * W[q, r]", "UW")  # nothing but 7s: uneven tiles fill the lanes


def workload(*einsums: tuple[str, str]) -> str:
    lines = ["workload:", "  bits_per_value: {All: 8}", "  rank_sizes:"]
    lines += [f"    {name}: {4 if name in 'MKNJ' else 7}" for name in "MKNJPQR"]
    lines += ["  einsums:"]
    for text, (first, second) in einsums:
        names = f"{{input: {first}, weight: {second}, output: {text[0]}}}"
        lines += [f'  - einsum: "{text}"', f"    renames: {names}"]
    return "\n".join(lines) + "\n"


@cache
def best(
    einsums: tuple[tuple[str, str], ...],
    objective: Literal["energy", "latency", "edp"],
    uneven: str = "",
    fusion: bool = True,
) -> SearchResult:
    text = workload(*einsums)
    return search(ARCH, text, objective=objective, uneven=[uneven] if uneven else [], fusion=fusion)


@pytest.mark.parametrize("objective", ["energy", *at_night("latency")])
def test_what_stands_alone_is_uneven_beside_what_is_fused(
    objective: Literal["energy", "latency"],
) -> None:
    """Two Einsums that exchange Y on chip, and one that has nothing to do with them."""
    parts = (
        best(EVEN, objective).certificate.value + best((ODD,), objective, "all").certificate.value
    )
    found = best((*EVEN, ODD), objective, "all")
    assert found.certificate.kind == "optimal"
    assert "imperfect factors only in standalone Einsums" in found.certificate.scope
    assert found.certificate.value == pytest.approx(parts, rel=1e-9)
    assert found.on_chip == ("Y",)
    assert found.best is not None
    again = evaluate(ARCH, workload(*EVEN, ODD), found.best.mapping)
    assert again.metric(objective) == pytest.approx(parts, rel=1e-9)
    fused, apart = best((*EVEN, ODD), objective), best((*EVEN, ODD), objective, "all", fusion=False)
    assert parts < min(fused.certificate.value, apart.certificate.value) * (1 - 1e-3)


@pytest.mark.nightly
def test_the_order_of_the_einsums_does_not_matter() -> None:
    values = [
        best(order, "latency", "all").certificate.value for order in ((*EVEN, ODD), (ODD, *EVEN))
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-9)


def test_a_product_is_that_of_one_of_the_two_sets() -> None:
    found = best((*EVEN, ODD), "edp", "all")
    assert "standalone" not in found.certificate.scope
