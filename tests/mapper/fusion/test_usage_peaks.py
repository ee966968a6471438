"""The usage of memories over fused mappings: copies, instances, persistent tensors, budgets."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from copied_cases import READ_TWICE
from fused_cases import chain, two_memories

from tilewright.arch.spec.architecture import Arch
from tilewright.mapper import evaluate, search
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.result import SearchResult
from tilewright.mapper.workload.errors import UnsupportedFeature
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

FRONT = ("energy", "usage", "usage.DRAM")
KEEP = """
workload:
  rank_sizes: {M: 4, K: 4}
  bits_per_value: {All: 4}
  persistent_tensors: B
  einsums:
  - {einsum: "T[m] = A[m, k] * B[k]", n_instances: 3}
  - {einsum: "Z[m] = T[m] * D[m]", n_instances: 3}
"""


def front_of(arch: Arch, work: Workload, **more: object) -> SearchResult:
    """Search the front; every point is what the model says."""
    result = search(arch, work, front=FRONT, **more)  # type: ignore[arg-type]
    assert result.front_proof is not None
    for point in result.front:
        conventions = point.score.conventions
        assert evaluate(arch, work, point.mapping, conventions) == point.score
    return result


def values_of(result: SearchResult) -> np.ndarray:
    assert result.front_proof is not None
    names = result.front_proof.metrics
    return np.array([[p.score.metric(name) for name in names] for p in result.front])


@pytest.mark.parametrize(
    ("conventions", "size"),
    [("default", 60), pytest.param("accelforge", 6, marks=pytest.mark.nightly)],
)
def test_copies_take_part(conventions: str, size: int) -> None:
    arch = two_memories(size)
    fused = front_of(arch, READ_TWICE, conventions=conventions)
    alone = front_of(arch, READ_TWICE, conventions=conventions, fusion=False)
    assert fused.notes == ()
    assert fused.front_proof is not None
    assert fused.front_proof.whole
    mine = values_of(fused)
    assert all((mine <= row * (1 + 1e-9)).all(axis=1).any() for row in values_of(alone))
    assert (len(mine) > len(alone.front)) == (size == 60)


def test_persistent_tensors_stay_once_per_instance() -> None:
    work = load_workload(KEEP)
    result = front_of(two_memories(16), work)
    assert result.notes == ()
    best = min(result.front, key=lambda point: point.score.capacity["DRAM"]).score
    # 3 x B and A beside T, which stays on chip
    assert best.capacity["DRAM"] == 3 * 16 + 64


def test_a_memory_without_limit_has_a_usage() -> None:
    result = search(two_memories("inf"), chain(4, (2, 4, 2)), objective="energy * usage.BUF")
    assert result.notes == ()
    assert result.certificate.kind == "optimal"
    small = search(two_memories("inf"), chain(4, (2, 4, 2)), front=("usage.BUF", "energy"))
    assert small.front_proof is not None
    assert small.front_proof.whole
    least = min(p.score.energy * float(p.score.capacity.get("BUF", 0)) for p in small.front)
    assert result.certificate.value == pytest.approx(least)


def test_a_budget_leaves_an_honest_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    arch, work = two_memories(600), chain(8, (8, 16, 8))
    whole = front_of(arch, work)
    none = front_of(arch, work, budget=0.0)
    assert none.front_proof is not None
    assert not none.front_proof.whole
    assert none.front
    monkeypatch.setattr("tilewright.mapper.searches.request.Budget", partial(Budget, labels=1000))
    partly = front_of(arch, work)
    assert partly.front_proof is not None
    limit = partly.front_proof.energy
    assert 0 < limit < float("inf")
    below = [row for row in values_of(whole) if row[0] <= limit]
    mine = values_of(partly)
    assert below
    assert all((mine <= row * (1 + 1e-9)).all(axis=1).any() for row in below)


def test_what_is_not_counted_goes_unfused_with_a_note() -> None:
    text = (
        "workload:\n  rank_sizes: {M: 4}\n  bits_per_value: {All: 1}\n  einsums:\n"
        '  - {einsum: "I[m] = A[m]", is_copy_operation: true}\n'
        '  - {einsum: "Y[m] = B[m]"}\n'
        '  - {einsum: "Z[m] = I[m] * Y[m]"}\n'
    )
    work = load_workload(text)
    plain = search(two_memories(8), work, front=("energy", "usage"))
    assert plain.notes == ()
    apart = search(two_memories(8), work, front=("energy", "usage"), conventions="accelforge")
    assert "does not stand right beside the other Einsums that use I" in apart.notes[0]
    with pytest.raises(UnsupportedFeature, match="the usage of DRAM is not counted"):
        search(two_memories(8), work, front=("energy", "usage.DRAM"))


def test_windows_none_of_which_is_the_larger_one_are_not_counted() -> None:
    text = (
        "workload:\n  rank_sizes: {P: 4, N: 2, W: 4}\n  bits_per_value: {All: 1}\n  einsums:\n"
        '  - {einsum: "Y[p, n] = A[W: p] * B[n]"}\n'
        '  - {einsum: "Z[p, n] = Y[p, n] * A[W: n]"}\n'
    )
    result = search(two_memories(12), load_workload(text), front=("energy", "usage"))
    assert "see A through different windows, none of which" in result.notes[0]


def test_tiles_of_their_own_in_more_than_two_widths_are_bounded() -> None:
    widths = {"BUF.bits_per_value": {"output": 2, "input": 1, "weight": 4}}
    text = (
        "workload:\n  rank_sizes: {M: 4}\n  bits_per_value: {All: 1}\n  einsums:\n"
        '  - {einsum: "Y[m] = A[m] * B[m]", renames: {input: A, weight: B, output: Y}}\n'
        '  - {einsum: "X[m] = Y[m] * A[m]", renames: {input: Y, weight: A, output: X}}\n'
        '  - {einsum: "Z[m] = X[m] * A[m]", renames: {input: A, weight: X, output: Z}}\n'
    )
    arch, work = two_memories(6).with_values(widths), load_workload(text)
    assert search(arch, work, front=("energy", "usage")).notes == ()
    found = search(arch, work, conventions="accelforge")
    assert found.notes == ()
    assert "A reserved at their greatest bit width" in found.certificate.scope
    apart = search(arch, work, front=("energy", "usage"), conventions="accelforge")
    assert "may share loops use A, in values of 1 and 4 bits there" in apart.notes[0]
