"""Every kind of search, interrupted before it has anything: a proven bound and a right mapping."""

from __future__ import annotations

from typing import Any

import pytest
from explore import at_night

from tilewright.mapper import evaluate, search
from tilewright.mapper.evaluation import verified_answer as verified_answer_module
from tilewright.mapper.evaluation.verified_answer import verified_answer
from tilewright.mapper.fusion.join.join_deepening import JoinSearch
from tilewright.mapper.searches.api import answer
from tilewright.mapper.searches.budget import EndReason
from tilewright.mapper.searches.limits import interrupted, watch
from tilewright.mapper.searches.limits.interrupted import answer_in_time, first_at_once
from tilewright.mapper.searches.request import Request, request_of
from tilewright.mapper.searches.result import SearchResult
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.studies import path_of

SMALL = """
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: 36, K: 24, N: 60}
  einsums:
  - {einsum: "Y[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: Y}}
  - {einsum: "Z[m, k] = Y[m, n] * C[n, k]", renames: {input: Y, weight: C, output: Z}}
"""
SMALLER = SMALL.replace("M: 36, K: 24, N: 60", "M: 8, K: 4, N: 6")
RARE = ("fused, edp", "a formula of usage")
KINDS: dict[str, dict[str, Any]] = {
    "one Einsum": {"einsum": "Y"},
    "fused": {},
    "fused, edp": {"objective": "edp"},
    "a formula": {"objective": "energy * latency**2"},
    "a formula of usage": {"objective": "energy + 1e-12 * usage.OUTER", "einsum": "Y"},
    "uneven": {"uneven": ("all",)},
    "unfused": {"fusion": False},
    "a front": {"front": ("energy", "latency", "usage.OUTER")},
    "a front of one Einsum": {"front": ("energy", "latency"), "einsum": "Z"},
    "accelforge": {"conventions": "accelforge"},
    "annealing": {"method": "annealing"},
}


def _renamed(value: Any, outer: str) -> Any:
    if isinstance(value, tuple):
        return tuple(_renamed(each, outer) for each in value)
    return value.replace("OUTER", outer) if isinstance(value, str) else value


def without_end(request: Request) -> SearchResult:
    del request
    while True:
        sum(range(100))


@pytest.mark.parametrize("kind", [*(each for each in KINDS if each not in RARE), *at_night(*RARE)])
@pytest.mark.parametrize("arch", ["edge_npu", *at_night("gpu_like")])
def test_the_answer_is_right_and_the_bound_holds(
    kind: str, arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "AT_LEAST", 0.05)
    outer = {"edge_npu": "GlobalBuffer", "gpu_like": "L2"}[arch]
    options = {name: _renamed(value, outer) for name, value in KINDS[kind].items()}
    files = path_of("hardware", arch), SMALLER
    request = request_of(*files, {**options, "budget": 0.01})
    result = verified_answer(request, answer_in_time(request, without_end))
    proof = result.certificate
    assert result.best.score.verified
    assert "interrupted at the end of its budget of seconds, before" in result.notes[0]
    assert 0 < proof.lower_bound <= proof.value
    if "einsum" not in options:
        scored = evaluate(*files, result.best.mapping, request.options.conventions)
        assert scored.energy == result.best.score.energy
    exact = {name: value for name, value in options.items() if name not in ("front", "method")}
    fewer = {**exact, "fusion": False} if "method" in options else exact
    best = search(*files, **fewer, budget=3).certificate
    assert proof.lower_bound <= best.value * (1 + 1e-9)
    assert proof.value >= best.lower_bound * (1 - 1e-9)
    if "front" in options:
        assert result.front_proof is not None
        assert not result.front_proof.whole
        assert len(result.front) == 1


def test_what_was_found_before_the_front_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best mapping keeps its certificate."""
    monkeypatch.setattr(watch, "LATE", 0.1)  # interrupted long before it looks at its budget

    def front_without_end(*_: object) -> object:
        return without_end(request)

    name = "tilewright.mapper.fronts.front_search.front_of_einsums"
    monkeypatch.setattr(name, front_without_end)
    options = {"einsum": "Y", "front": ("energy", "latency"), "budget": 60.0}
    request = request_of(path_of("hardware", "edge_npu"), SMALL, options)
    result = answer_in_time(request, answer)
    assert result.certificate.kind == "optimal"
    assert "before its front came from it" in result.notes[0]


@pytest.mark.parametrize("objective", ["energy", *at_night("edp", "energy * latency**2")])
def test_a_fused_mapping_found_before_the_proof_stays(
    objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search is interrupted in the step that follows its first fused mapping."""
    in_step: list[bool] = []

    def endless_step(*_: object) -> None:
        in_step.append(True)
        without_end(request)

    def reached(*_: object) -> EndReason | None:
        return EndReason.SECONDS if in_step else None

    monkeypatch.setattr(JoinSearch, "_raise_all", endless_step)
    monkeypatch.setattr(interrupted, "limits_reached", lambda *_: reached)
    files = path_of("hardware", "edge_npu"), SMALLER
    request = request_of(*files, {"budget": 600.0, "objective": objective})
    result = verified_answer(request, answer_in_time(request, answer))
    assert result.on_chip == ("Y",)
    assert result.best.score.verified
    assert "before a proof came from it" in result.notes[0]
    proof, alone = result.certificate, search(*files, objective=objective, fusion=False)
    assert 0 < proof.lower_bound <= proof.value < alone.certificate.value
    assert evaluate(*files, result.best.mapping).energy == result.best.score.energy


def test_nothing_is_known_of_what_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "AT_LEAST", 0.05)
    monkeypatch.setattr(interrupted, "first_at_once", lambda _: None)
    request = request_of(path_of("hardware", "edge_npu"), SMALL, {"budget": 0.01})
    with pytest.raises(InfeasibleMapping, match="within the budget"):
        answer_in_time(request, without_end)


@pytest.mark.parametrize(
    "arch", ["edge_npu", "eyeriss_like", "gpu_like", "nvdla_like", "simba_like", "tpu_v4i"]
)
def test_a_first_mapping_needs_no_table_of_tiles(arch: str) -> None:
    """Of a matrix product with 373,248 shapes of tiles, and one of 10^12."""
    for size in ("10080", "963761198400"):
        text = SMALL
        for name in ("M: 36", "K: 24", "N: 60"):
            text = text.replace(name, f"{name[:2]} {size}")
        request = request_of(path_of("hardware", arch), text, {"einsum": "Y"})
        first_at_once(request)
        assert request.known.result is not None
        assert verified_answer(request, request.known.result).best.score.verified


def test_the_first_mapping_is_proven_before_there_is_no_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch, "AT_LEAST", 0.05)
    request = request_of(path_of("hardware", "edge_npu"), SMALL, {"budget": 0.01})
    result = answer_in_time(request, without_end)
    assert result.best.score.verified
    monkeypatch.setattr(verified_answer_module, "all_violations", None)  # not asked once more
    assert verified_answer(request, result).best.score.verified


def test_a_search_without_limits_is_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    def watched(*_: object) -> SearchResult:
        raise AssertionError

    monkeypatch.setattr(interrupted, "interrupted_when", watched)
    assert search(path_of("hardware", "edge_npu"), SMALL).certificate.kind == "optimal"
    with pytest.raises(AssertionError):
        search(path_of("hardware", "edge_npu"), SMALL, budget=1)


def test_the_note_says_what_makes_the_search_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "AT_LEAST", 0.05)
    inputs = " * ".join(f"A{i}[m, k]" for i in range(12))
    many = (
        "workload:\n  bits_per_value: {All: 8}\n  rank_sizes: {M: 36, K: 8}\n"
        f'  einsums: ["Z[m] = {inputs}"]\n'
    )
    for text, words in (
        (many, "Z has 13 tensors to place"),
        (SMALL, "Y has 864 shapes of tiles, its rank variable n alone 12 sizes"),
    ):
        request = request_of(path_of("hardware", "edge_npu"), text, {"budget": 0.01})
        assert words in answer_in_time(request, without_end).notes[0]
