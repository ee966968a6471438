"""A search that ends early says what ended it, and where most of its work was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest
from fused_cases import chain, two_memories
from fused_example import join_search

from tilewright.arch.spec.load import load_arch
from tilewright.mapper import search
from tilewright.mapper.fusion.unproven import end_before_first_mapping, unproven_notes
from tilewright.mapper.searches.budget import (
    STOP_REQUESTED,
    UNLIMITED,
    Budget,
    EndReason,
    OutOfBudget,
)
from tilewright.mapper.searches.result import Progress
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.studies import path_of

CHAIN = chain(8, (2, 8, 2, 8))


@pytest.fixture(autouse=True)
def no_request_left() -> Iterator[None]:
    yield
    STOP_REQUESTED.clear()


def test_a_request_to_stop_gives_the_best_mapping_so_far() -> None:
    """The first report comes when there is a mapping; the search stops at its next check."""

    def stop(progress: Progress) -> None:
        if progress.value < float("inf"):
            STOP_REQUESTED.set()

    result = search(two_memories(72), CHAIN, progress=stop, budget=1000.0)
    assert result.certificate.kind == "bounded"
    (note,) = result.notes
    assert note.startswith("not proven optimal: the search ended at the request to stop; ")
    assert "of its partial mappings are of" in note
    STOP_REQUESTED.clear()
    best = search(two_memories(72), CHAIN).certificate.value
    assert result.certificate.lower_bound <= best <= result.certificate.value


def test_a_request_before_the_first_mapping_gives_an_unfused_one() -> None:
    STOP_REQUESTED.set()
    result = search(two_memories(72), CHAIN)
    (note,) = result.notes
    assert note.startswith("the fused search ended at the request to stop before its first mapping")
    assert note.endswith(": this one is unfused")
    assert result.certificate.kind == "bounded"
    assert 0 < result.certificate.lower_bound < result.certificate.value


def test_the_limit_of_labels_names_the_largest_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.mapper.searches.request.Budget", partial(Budget, labels=100))
    result = search(two_memories(72), CHAIN)
    assert result.certificate.kind == "bounded"
    (note,) = result.notes
    assert "its limit of partial mappings kept at a time" in note


def test_only_stoppable_budgets_see_the_request() -> None:
    STOP_REQUESTED.set()
    UNLIMITED.check()
    with pytest.raises(OutOfBudget, match="the request to stop"):
        Budget(stops_on_request=True).check()
    assert Budget(stops_on_request=True).seconds_left == 0.0


def test_a_budget_that_ends_says_where_the_work_was() -> None:
    result = join_search(8).solve()
    ended = replace(result, ended=EndReason.SECONDS)
    (note,) = unproven_notes(ended)
    end = "not proven optimal: the search ended at the end of its budget of seconds; "
    assert note.startswith(end)
    assert "of its partial mappings are of" in end_before_first_mapping(ended)
    assert unproven_notes(replace(ended, largest=None)) == ()
    assert unproven_notes(result) == ()


COPIED = load_workload("""
workload:
  rank_sizes: {B: 2, H: 8, G: 2}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "Z[b, g, h] = A[b, g, h]", renames: {input: A}}
  - {einsum: "Zf[b, g, h] = Z[b, g, h]", is_copy_operation: true}
  - "C[b, h] = Z[b, G: 0, h] * Zf[b, G: 1, h]"
""")


def test_copies_that_were_not_searched_whole_are_named() -> None:
    """The search of gpu_like ends without a limit, but a gap is left, which a note explains."""
    result = search(load_arch(path_of("hardware", "gpu_like")), COPIED, objective="energy")
    assert result.certificate.kind == "bounded"
    (note,) = result.notes
    assert note.startswith("not proven optimal: of the mappings of Zf, which only copies, a few")


def test_copies_are_proven_where_components_leak() -> None:
    result = search(load_arch(path_of("hardware", "edge_npu")), COPIED, objective="energy")
    assert result.certificate.kind == "optimal"
    assert result.notes == ()


@pytest.mark.parametrize(
    ("arch", "objective"),
    [("edge_npu", "energy"), ("simba_like", "energy"), ("nvdla_like", "latency")],
)
def test_progress_claims_no_more_than_the_certificate(arch: str, objective: str) -> None:
    bounds: list[float] = []
    result = search(
        load_arch(path_of("hardware", arch)),
        COPIED,
        objective=objective,
        budget=60,
        progress=lambda step: bounds.append(step.lower_bound),
    )
    assert 0 < max(bounds) <= result.certificate.lower_bound * (1 + 1e-9)
