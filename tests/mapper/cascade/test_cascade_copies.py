"""What a copy writes stays on chip for its readers, where it fits."""

from __future__ import annotations

import pytest
from fused_cases import two_memories

from tilewright.mapper import evaluate, search
from tilewright.mapper.workload import load_workload

WORK = load_workload("""
workload:
  rank_sizes: {M: 4, N: 6}
  bits_per_value: {All: 1}
  einsums:
  - einsum: "I[m, n] = A[m, n]"
    is_copy_operation: true
    renames: {input: A, output: I, weight: Nothing}
  - {einsum: "Y[m] = I[m, n] * B[n]", renames: {input: I, weight: B, output: Y}}
  - {einsum: "Z[n] = I[m, n] * C[m]", renames: {input: I, weight: C, output: Z}}
""")


@pytest.mark.parametrize("conventions", ["default", "accelforge"])
def test_a_copy_stays_on_chip_where_it_fits(conventions: str) -> None:
    values = []
    for size, kept in ((60, ("I",)), (12, ())):
        arch = two_memories(size)
        result = search(arch, WORK, conventions=conventions)
        alone = search(arch, WORK, conventions=conventions, fusion=False)
        assert result.certificate.kind == "optimal"
        assert result.on_chip == kept
        assert evaluate(arch, WORK, result.best.mapping, conventions) == result.best.score
        assert result.certificate.value <= alone.certificate.value
        values.append(result.certificate.value)
        if conventions == "default" and kept:  # 24 values: never written outside, nor read there
            saved = alone.certificate.value - result.certificate.value
            assert saved > 0
    assert values[0] < values[1]


@pytest.mark.parametrize("objective", ["latency", "edp"])
def test_other_objectives_take_copies_along(objective: str) -> None:
    arch = two_memories(60)
    result = search(arch, WORK, objective=objective)
    alone = search(arch, WORK, objective=objective, fusion=False)
    assert result.certificate.lower_bound <= result.certificate.value <= alone.certificate.value


NARROW = load_workload("""
workload:
  rank_sizes: {M: 4}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "Y[m] = A[m] * B[m]", renames: {input: A, weight: B, output: Y}}
  - einsum: "X[m] = D[m]"
    is_copy_operation: true
    renames: {input: D, weight: Nothing, output: X}
  - {einsum: "Z[m] = Y[m] * X[m]", renames: {input: Y, weight: X, output: Z}}
  - {einsum: "V[m] = C[m] * X[m]", renames: {input: C, weight: X, output: V}}
""")


def test_a_copy_takes_room_in_its_own_widths() -> None:
    """X has 2 bits per value in the buffer, as output and as weight: 8 of its 16 bits."""
    narrow = two_memories(16).with_values({"BUF.bits_per_value": {"output | weight": 2}})
    plain, result = search(two_memories(16), NARROW), search(narrow, NARROW)
    assert (plain.on_chip, result.on_chip) == ((), ("X",))
    assert result.certificate.kind == "optimal"


def test_what_a_copy_does_not_touch_keeps_the_width_of_its_writer() -> None:
    """Y waits in 4 x 2 bits while D, 4 x 8 bits, is copied: 40, as in AccelForge 1.0.467.

    Read by Z, it has 4 x 8 bits beside the 4 x 2 of X: 40, too.
    """
    values = {}
    for size in (39, 40):
        arch = two_memories(size).with_values({"BUF.bits_per_value": {"output | weight": 2}})
        result = search(arch, NARROW, conventions="accelforge")
        assert result.notes == ()
        values[size] = result.certificate.value
        if size == 40:
            assert result.on_chip == ("Y", "X")
            assert result.best.score.capacity["BUF"] == 40
    assert values[40] < values[39]


BETWEEN = load_workload("""
workload:
  rank_sizes: {M: 4, K: 4, N: 4}
  bits_per_value: {All: 4}
  einsums:
  - {einsum: "Y[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: Y}}
  - einsum: "X[m, n] = Y[m, n]"
    is_copy_operation: true
    renames: {input: Y, weight: Nothing, output: X}
  - {einsum: "Z[m, n] = X[m, n] * C[n]", renames: {input: X, weight: C, output: Z}}
""")


@pytest.mark.parametrize("conventions", ["default", "accelforge"])
def test_what_a_copy_reads_and_writes_stays_on_chip(conventions: str) -> None:
    """11712 is the optimum of AccelForge 1.0.467."""
    values = []
    for size in (40, 100, 160, 600):
        arch = two_memories(size)
        result = search(arch, BETWEEN, conventions=conventions)
        assert result.certificate.kind == "optimal"
        assert evaluate(arch, BETWEEN, result.best.mapping, conventions) == result.best.score
        values.append(result.certificate.value)
    assert result.on_chip == ("Y", "X")
    assert values == sorted(values, reverse=True)
    assert values[0] > values[-1]
    if conventions == "accelforge":
        assert values[1:] == [11712] * 3


LATER = load_workload("""
workload:
  rank_sizes: {M: 4, N: 3}
  bits_per_value: {All: 1}
  einsums:
  - {einsum: "A[m, n] = B[m] * C[n]", renames: {input: B, weight: C, output: A}}
  - einsum: "I[m, n] = A[m, n]"
    is_copy_operation: true
    renames: {input: A, output: I, weight: Nothing}
  - {einsum: "Z[m] = I[m, n] * A[m, n]", renames: {input: I, weight: A, output: Z}}
""")


@pytest.mark.parametrize("conventions", ["default", "accelforge"])
def test_a_copy_of_what_is_used_later(conventions: str) -> None:
    """AccelForge counts what the copy reads once more, so that 14 bits do not keep A there."""
    values = []
    for size in (6, 14, 24, 25):
        arch = two_memories(size)
        result = search(arch, LATER, conventions=conventions)
        assert result.certificate.kind == "optimal"
        assert evaluate(arch, LATER, result.best.mapping, conventions) == result.best.score
        values.append(result.certificate.value)
    assert values == sorted(values, reverse=True)
    assert values[0] > values[-1]
