"""What Einsums may exchange on chip, and which loops they may share above it."""

from __future__ import annotations

from dataclasses import replace

from fused_cases import chain, two_memories, workload_of

from tilewright.mapper.fusion.boundary.exchanged_tensors import exchanged_tensors_of
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.workload.workload_loading import load_workload


def test_chains_exchange_their_intermediates() -> None:
    found = exchanged_tensors_of(chain(4, (2, 3, 2, 3)))
    assert found.exchangeable == {"T1", "T2"}
    assert found.shareable_loops["T1"] == {"m", "n1"}
    assert [found.live_after(i) for i in range(3)] == [(("T1", ""),), (("T2", ""),), ()]
    assert not found.contested  # nothing else is live where T1 or T2 is exchanged


def test_a_tensor_of_three_einsums_is_contested() -> None:
    texts = ("Y[m] = A[m] * B[m]", "X[m] = Y[m] * B[m]", "Z[m] = X[m] * B[m]")
    found = exchanged_tensors_of(workload_of(texts, {"m": 4}))
    assert found.exchangeable == {"Y", "X"}
    assert found.outermost_only == {"B"}
    assert found.contested == {"B"}


def test_a_rank_read_under_another_name_is_the_same_loop() -> None:
    texts = ("Y[m, n] = A[m] * B[n]", "Z[m] = Y[M: n, N: m] * C[n]")
    found = exchanged_tensors_of(workload_of(texts, {"m": 4, "n": 4}))
    assert found.loop_names[1] == {"m": "n", "n": "m"}
    assert found.shareable_loops["Y"] == {"m", "n"}


def test_ranks_are_told_by_name_not_by_place() -> None:
    texts = ("Y[m, n] = A[m] * B[n]", "Z[m] = Y[n, m] * C[n]")
    found = exchanged_tensors_of(workload_of(texts, {"m": 4, "n": 4}))
    assert found.loop_names[1] == {"m": "m", "n": "n"}
    assert found.shareable_loops["Y"] == {"m", "n"}


def test_sliding_tensors_may_stay_on_chip() -> None:
    workload = load_workload(
        "workload:\n  rank_sizes: {P: 4, R: 2, W: 5, K: 2}\n  bits_per_value: {All: 8}\n"
        '  einsums:\n  - einsum: "I[k, w] = A[w, k] * B[k]"\n'
        "    renames: {input: A, weight: B, output: I}\n"
        '  - einsum: "O[p] = I[k, W: p + r] * F[r]"\n'
        "    renames: {input: I, weight: F, output: O}\n"
    )
    found = exchanged_tensors_of(workload)
    assert found.exchangeable == {"I"}
    assert found.shareable_loops["I"] == {
        "k"
    }  # a window of w would be needed before it is complete
    result = fused_search(two_memories(64), workload)
    assert result.certificate.kind == "optimal"
    assert result.on_chip == ("I",)


def test_windows_of_one_tensor_are_told_apart() -> None:
    texts = ("Y[p] = A[W: p + r] * F[r]", "X[p] = Y[p] * A[W: p]", "Z[p] = X[p] * A[W: p]")
    work = workload_of(texts, {"p": 4, "r": 2, "w": 5})
    assert exchanged_tensors_of(work).varied_windows == {"A"}
    same = workload_of((texts[1], texts[2]), {"p": 4, "w": 5})
    assert not exchanged_tensors_of(same).varied_windows


def test_einsums_that_run_differently_often_exchange_as_in_accelforge() -> None:
    """4 values each of Y and X; which of three runs of Z reads which Y is not said."""
    texts = ("Y[m] = A[m] * B[m]", "X[m] = Y[m] * C[m]", "Z[m] = Y[m] * D[m]")
    work = workload_of(texts, {"m": 4})
    work = replace(work, einsums=(*work.einsums[:2], replace(work.einsums[2], n_instances=3)))
    assert not exchanged_tensors_of(work).exchangeable
    assert exchanged_tensors_of(work, same_instances=False).exchangeable == {"Y"}
    backed = fused_search(two_memories(64), work)
    chip = fused_search(two_memories(64), work, conventions="accelforge")
    assert (backed.on_chip, chip.on_chip) == ((), ("Y",))
    assert backed.certificate.value - chip.certificate.value == (1 + 1 + 3) * 4 * (50 - 1)
