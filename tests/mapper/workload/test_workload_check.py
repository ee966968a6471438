"""What the Einsums of a workload must agree on."""

from __future__ import annotations

import pytest
from fused_cases import two_memories

from tilewright.arch.errors import SpecError
from tilewright.mapper.searches.api import search
from tilewright.mapper.workload.errors import WorkloadError
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload


def load(einsums: str, sizes: str = "M: 4, N: 8, K: 6", more: str = "") -> Workload:
    lines = "".join(f"  - {line.strip()}\n" for line in einsums.strip().splitlines())
    return load_workload(
        f"workload:\n  rank_sizes: {{{sizes}}}\n  bits_per_value: {{All: 8}}\n{more}"
        f"  einsums:\n{lines}"
    )


@pytest.mark.parametrize(
    ("einsums", "what"),
    [
        ('"Y[m] = A[m]"\n"Y[m] = B[m]"', "two Einsums are called Y"),
        ('"Y[m] = A[m]"\n"Z[n] = A[n]"', "tensor A has ranks M in Einsum Y, but N in Einsum Z"),
        ('"Z[m] = Y[m]"\n"Y[m] = A[m]"', "reads tensor Y before Einsum Y writes it"),
        ('"Z[m] = A[m] * Z[M: 2*m]"', "writes tensor Z and touches it once more"),
        ('"Z[q] = A[q]"', "rank variable q has no bound"),
        ('{einsum: "Total[m] = A[m]"}', "reserved"),
        (
            '"Z[m] = Inputs[m] * B[m]"',
            "`keep: Inputs` it is the set of all tensors that an",
        ),
        ('"Y[m] = A[m]"\n"Shared[m] = Y[m]"', "the name Shared is reserved: in expressions"),
        ('{einsum: "Z[m] = A[m] * B[m]", is_copy_operation: true}', "exactly one input"),
        (
            '{name: Y, einsum: "W[m] = A[m]"}\n{name: X, einsum: "W[m] = B[m]"}',
            "Einsums Y and X both write tensor W",
        ),
        (
            '"Y[m] = A[m]"\n{einsum: "Z[m] = Y[m]", rank_sizes: {M: 3}}',
            "rank variable m runs from 0 to 3 in Einsum Y, but from 0 to 2 in Einsum Z",
        ),
        ('{einsum: "Z[m] = A[m]", renames: {weight: C}}', "rename weight"),
        ("{name: Z}", "needs tensors"),
    ],
)
def test_contradictions_are_refused(einsums: str, what: str) -> None:
    with pytest.raises(SpecError, match=what):
        load(einsums)


def test_a_contradiction_names_both_places() -> None:
    with pytest.raises(WorkloadError) as caught:
        load('"Y[m] = A[m]"\n"Z[n] = A[n]"')
    assert "<text>:6:5" in str(caught.value)
    assert "make it agree with <text>:5:5" in str(caught.value)


PADDED = """
workload:
  rank_sizes: {P: 8, R: 3, C: 2}
  PAD
  bits_per_value: {All: 8}
  einsums: ["Z[P: p, c] = A[P: p + r - 1, c] * F[r, c]"]
"""


@pytest.mark.parametrize("pad", ["", "pad: {C: 1}", "pad: {P: 0}"])
def test_an_index_outside_its_rank_shows_its_range(pad: str) -> None:
    work = load_workload(PADDED.replace("PAD", pad))
    with pytest.raises(WorkloadError) as refused:
        work.check_indices()
    text = str(refused.value)
    assert "the index of rank P of A runs from -1 to 8, but the rank has size 8" in text
    assert "pad: {P: 1} if these values are zeros" in text


def test_only_the_default_conventions_refuse_it() -> None:
    work = load_workload(PADDED.replace("PAD", ""))
    with pytest.raises(WorkloadError, match="runs from -1 to 8"):
        search(two_memories(1000), work)
    assert search(two_memories(1000), work, conventions="accelforge").best.score.energy > 0


@pytest.mark.parametrize("pad", ["pad: {P: 1}", "pad: {P: 2 // 2, C: 1}"])
def test_a_padded_rank_may_be_left_by_so_much(pad: str) -> None:
    work = load_workload(PADDED.replace("PAD", pad))
    work.check_indices()
    assert work.einsums[0].bounds == {"p": 8, "c": 2, "r": 3}
    of_einsum = PADDED.replace("PAD", "").replace('["Z', '[{pad: {P: 1}, einsum: "Z')
    alone = load_workload(of_einsum.replace('c]"]', 'c]"}]'))
    alone.check_indices()
    assert alone.einsums == work.einsums


def test_windows_into_the_padding_leave_no_point_out() -> None:
    text = PADDED.replace("PAD", "pad: {P: 1}").replace(
        "Z[P: p, c] = A[P: p + r - 1, c] * F[r, c]", "Z[p] = A[P: p - 1] + A[p] + A[P: p + 1]"
    )
    assert load_workload(text).einsums[0].bounds == {"p": 8}  # was 7: `p + 1` ended at the rank
