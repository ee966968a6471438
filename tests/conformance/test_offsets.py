"""Indices with constants: optima of AccelForge 1.0.467, whose tiles begin at 0 (point 12)."""

from __future__ import annotations

import pytest
from nodes import arch_text, mac, memory

from tilewright.arch.spec.load import load_arch
from tilewright.mapper import search
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = arch_text(
    memory("DRAM", 1000000, "keep: ~Intermediates, may_keep: All", (100, 64), (101, 32)),
    memory("BUF", "SIZE", "keep: ~DRAM, may_keep: All", (5, 256), (6, 128)),
    mac(0.5),
)
WORKLOAD = """
workload:
  rank_sizes: {SIZES}
  bits_per_value: {All: 8}
  einsums: [EINSUMS]
"""
PRODUCT = '"Z[m, n] = A[X: m + 2] * B[n]"'
OUTPUT = '"Z[Q: p + 1, n] = A[p, k] * B[n, k]"'
SLICE = '"Z[m, n] = A[X: 3, M: m, k] * B[n, k]"'
CHAIN = '"Y[m, n] = A[X: m + 1, k] * B[k, n]", "Z[p, n] = Y[M: p, N: n] * C[n]"'
ODD = '"Y[m, n] = A[m, k] * B[k, n]", "Z[p, n] = Y[M: 2 * p + 1, N: n] * C[n]"'
CASES = [
    (PRODUCT, "M: 4, N: 4", 64, 22696),
    ('"Z[m, n] = A[X: m + n + 1] * B[n]"', "M: 4, N: 4", 64, 24392),
    (OUTPUT, "P: 4, N: 4, K: 4", 64, 89792),
    (OUTPUT, "P: 4, N: 4, K: 4", 256, 54720),
    (SLICE, "M: 4, N: 4, K: 4", 256, 85920),
    (CHAIN, "M: 8, N: 4, K: 4", 64, 162960),
    (CHAIN, "M: 8, N: 4, K: 4", 256, 96208),
    (ODD, "M: 8, N: 4, K: 4", 64, 185736),
    (ODD, "M: 8, N: 4, K: 4", 256, 105736),
]


LANES = """  - !Container
    name: PE
    spatial: [{name: x, fanout: 4}]
  - !Memory
    name: REG
    size: 8
    area: 0
    leak_power: 0
    tensors: {keep: weight}
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 2, throughput: inf}]
  - !Compute
"""
WINDOW = """
workload:
  rank_sizes: {C: 3, M: 2, P: 4, R: 2}
  bits_per_value: {All: 4}
  einsums:
  - einsum: "Z[m, p] = A[c, W: 2 * p + r + 1] * B[c, m, r]"
    renames: {input: A, weight: B, output: Z}
"""


def answer(case: tuple[str, str, int], conventions: str, method: str | None = None) -> float:
    einsums, sizes, size = case
    arch = load_arch(ARCH.replace("SIZE", str(size)))
    workload = load_workload(WORKLOAD.replace("SIZES", sizes).replace("EINSUMS", einsums))
    found = search(arch, workload, conventions=conventions, method=method)
    assert found.certificate.kind == "optimal"
    return found.certificate.value


@pytest.mark.parametrize(("einsums", "sizes", "size", "joule"), CASES)
def test_the_optimum_is_that_of_the_reference(
    einsums: str, sizes: str, size: int, joule: float
) -> None:
    assert answer((einsums, sizes, size), "accelforge") == joule


@pytest.mark.parametrize("case", [case[:3] for case in CASES if '", "' not in case[0]])
@pytest.mark.parametrize("conventions", ["default", "accelforge"])
def test_the_optimum_is_that_of_an_enumeration(
    case: tuple[str, str, int], conventions: str
) -> None:
    value = answer(case, conventions)
    assert value == pytest.approx(answer(case, conventions, "exhaustive"), rel=1e-9)


def test_where_the_iteration_space_begins_makes_no_tile_larger() -> None:
    """1 <= m < 5 are four rows of A; its optimum is that of 0 <= m < 4."""
    text = WORKLOAD.replace("EINSUMS", '"Z[m, n] = A[m] * B[n]"')
    begun = text.replace("{SIZES}", "{N: 4}\n  iteration_space_shape: {m: 1 <= m < 5}")
    for given in (text.replace("SIZES", "M: 4, N: 4"), begun):
        arch = load_arch(ARCH.replace("SIZE", "64"))
        found = search(arch, load_workload(given), conventions="accelforge")
        assert found.certificate.value == 21000


def test_lanes_that_are_open_share_what_counts_twice() -> None:
    """An operation takes one value, whichever lanes over m share it."""
    arch = ARCH.replace("SIZE", "1024").replace("keep: ~DRAM", "keep: All")
    lanes = load_arch(arch.replace("  - !Compute\n", LANES))
    found = search(lanes, load_workload(WINDOW), conventions="accelforge")
    assert found.certificate.kind == "optimal"
    assert found.certificate.value == 21856
