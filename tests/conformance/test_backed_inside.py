"""Tensors that only a buffer keeps: optima of AccelForge 1.0.467, whose mapper puts loops above it.

Its outermost memory is that of the architecture, also where that keeps nothing of an Einsum.
"""

from __future__ import annotations

import pytest
from nodes import arch_text, lanes, mac, memory

from tilewright.arch.spec.load import load_arch
from tilewright.mapper import search
from tilewright.mapper.workload.errors import NoFeasibleMapping, UnsupportedFeature
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = arch_text(
    memory("DRAM", "inf", "KEPT", (100, 64), (101, 32)),
    memory("BUF", "SIZE", "keep: ~DRAM, may_keep: All, back: BACK", (5, 256), (6, 256)),
    mac(0.5),
)
MATMUL = """
workload:
  rank_sizes: {M: 4, K: 6, N: 4}
  bits_per_value: {All: 8}
  einsums: ["Z[m, n] = A[m, k] * B[k, n]"]
"""
CHAIN = """
workload:
  rank_sizes: {M: 4, N: 4, K: 4, P: 4}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "Y[m, n] = A[m, k] * B[k, n]", renames: {weight: B}}
  - {einsum: "X[m, p] = Y[m, n] * C[n, p]", renames: {weight: C}}
  - {einsum: "Z[m, n] = X[m, p] * D[p, n]", renames: {weight: D}}
"""
L2 = memory("L2", 256, "keep: Nothing, may_keep: All", (20, 128), (25, 64)) + lanes("CORE", "q", 4)
SCALED = """
workload:
  rank_sizes: {K: 2, M: 2, N: 4}
  bits_per_value: {All: 4}
  einsums:
  - {einsum: "Y[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: Y}}
  - {einsum: "Z[m, n] = Y[m, n] * C[n]", renames: {input: Y, weight: C, output: Z}}
"""


def arch_of(size: int, kept: str, back: str) -> str:
    return ARCH.replace("SIZE", str(size)).replace("KEPT", kept).replace("BACK", back)


@pytest.mark.parametrize("size", [200, 600])
def test_nothing_is_kept_in_the_outermost_memory(size: int) -> None:
    """By default the whole tensors would have to fit into the buffer: 64 values of 8 bits."""
    arch = load_arch(arch_of(size, "keep: Nothing, may_keep: Nothing", "Nothing"))
    workload = load_workload(MATMUL)
    found = search(arch, workload, conventions="accelforge")
    assert found.certificate.value == 15536
    assert found.certificate.kind == "optimal"
    if size < 64 * 8:
        with pytest.raises(NoFeasibleMapping):
            search(arch, workload)


@pytest.mark.parametrize(
    ("size", "joule"),
    [
        (64, 217056),
        (192, 84704),
        *(pytest.param(*one, marks=pytest.mark.nightly) for one in ((96, 138976), (256, 71136))),
    ],
)
def test_weights_are_backed_below_shared_loops(size: int, joule: float) -> None:
    """X has nothing in DRAM where Y and X stay on chip; it shares loops as others do."""
    kept = "keep: ~(Intermediates | weight), may_keep: All"
    arch = load_arch(arch_of(size, kept, "weight"))
    found = search(arch, load_workload(CHAIN), conventions="accelforge")
    assert found.certificate.value == joule
    assert found.certificate.kind == "optimal"
    assert found.notes == ()


def test_a_buffer_below_lanes_backs_what_einsums_exchange() -> None:
    """`back` says that L2, above the lanes, may not keep it. By default no fused search models Z,
    which the buffer backs and no Einsum reads: that is said, not that nothing fits."""
    arch = load_arch(
        arch_of(10**6, "keep: ~(Intermediates | output), may_keep: All", "output").replace(
            "  - !Memory\n    name: BUF", L2 + "  - !Memory\n    name: BUF"
        )
    )
    workload = load_workload(SCALED)
    found = search(arch, workload, objective="latency", conventions="accelforge")
    assert found.certificate.value == 6
    assert found.certificate.kind == "optimal"
    with pytest.raises(UnsupportedFeature, match="Z may be backed in BUF") as refusal:
        search(arch, workload, objective="latency")
    assert "Without it, no mapping of Y fits" in str(refusal.value)
