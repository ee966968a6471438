"""The analytical model: a design is worth what its best mapping costs."""

from __future__ import annotations

import json

import pytest
from design_files import ARCH

from tilewright.arch.errors import TilewrightError
from tilewright.dse.models.analytical import AnalyticalEvaluator, branches_of
from tilewright.dse.models.evaluator import asking_for_check
from tilewright.dse.models.evaluators import METRICS
from tilewright.dse.run.record import refused_alone
from tilewright.dse.run.runner import RunSettings, start_study
from tilewright.dse.study.study import StudyInput
from tilewright.dse.study.study_loading import load_study
from tilewright.mapper.workload.errors import InfeasibleMapping

TWO = """\
workload:
  rank_sizes: {T: 4, F: 8, G: 16}
  bits_per_value: {B: 32, Other: 8}
  einsums:
  - einsum: "first[t, f] = A[t, g] * WA[g, f]"
    renames: {input: A, weight: WA, output: first}
  - einsum: "second[t, f] = B[t, g] * WB[g, f]"
    renames: {input: B, weight: WB, output: second}
"""
"""Two Einsums, the second of which has an input of 32 bits."""


def test_analytical_model_scores_the_best_mapping(files):
    from tilewright.arch.spec.load import load_arch
    from tilewright.mapper.evaluation.verified_score import evaluate
    from tilewright.mapper.searches.api import search

    model = AnalyticalEvaluator(*files, "energy")
    few = model.evaluate({"arch.variables.Lanes": 1})
    many = model.evaluate({"arch.variables.Lanes": 8})
    assert set(few.metrics) == {*METRICS["analytical"], "usage.Main", "usage.Buffer"}
    assert many.metrics["area"] > few.metrics["area"]
    found = search(load_arch(files[0].file), files[1].file, objective="energy")
    again = evaluate(files[0].file, files[1].file, found.best.mapping)
    assert model.evaluate({}).metrics["energy"] == again.energy
    section = model.evaluate({}).details["sections"][0]
    assert section["einsum"] == "up"
    assert sum(section["energy_by"].values()) == pytest.approx(again.energy)
    assert "compute up" in section["loop_nest"]
    json.dumps(many.details, allow_nan=False)


def test_analytical_model_says_why_nothing_fits(files):
    with pytest.raises(TilewrightError, match="Buffer"):
        AnalyticalEvaluator(*files, "energy").evaluate({"arch.Buffer.size": 1})


def reason_of(evaluate, point):
    try:
        evaluate(point)
    except InfeasibleMapping as error:
        return str(error)
    return None


def test_what_the_check_refuses_the_search_refuses_with_the_same_words(files):
    model = AnalyticalEvaluator(*files, "energy")
    reasons = []
    for size in (1, 8, 16, 24, 32, 64, 4096):
        point = {"arch.Buffer.size": size}
        reasons.append(reason_of(model.evaluate, asking_for_check(point)))
        assert reasons[-1] == reason_of(model.evaluate, point)  # of one Einsum it is exact
    assert reasons[0] is not None
    assert reasons[-1] is None


def test_a_study_tries_no_design_without_a_mapping(files, tmp_path):
    arch, work = files
    (tmp_path / "study.yaml").write_text(
        f"name: sizes\narch: {{file: '{arch.file}'}}\nworkload: {{file: '{work.file}'}}\n"
        "model: analytical\nobjectives: [energy, area]\n"
        "space:\n  arch.Buffer.size: {values: [1, 2, 1024, 4096]}\n"
        "  arch.variables.Lanes: {values: [1, 2, 4]}\n"
        "search: {trials: 5, batch: 2}\n"
    )
    spec = load_study(tmp_path / "study.yaml")
    trials = start_study(spec, tmp_path / "run", RunSettings()).trials
    assert {trial.status for trial in trials} == {"feasible"}
    refused = refused_alone(trials).values()
    assert refused
    assert {each["point"]["arch.Buffer.size"] for each in refused} <= {1, 2}


def test_other_einsums_than_the_one_searched_need_no_mapping(tmp_path):
    (tmp_path / "arch.yaml").write_text(ARCH)
    (tmp_path / "two.yaml").write_text(TWO)
    inputs = [StudyInput(str(tmp_path / name), {}) for name in ("arch.yaml", "two.yaml")]
    point = asking_for_check({"arch.Buffer.size": 16})
    with pytest.raises(InfeasibleMapping, match="second"):
        AnalyticalEvaluator(*inputs, "energy").evaluate(point)
    alone = AnalyticalEvaluator(*inputs, "energy", (("einsum", "first"),))
    assert alone.evaluate(point).reason is None


def test_branches_of_a_sequential_share_what_is_above():
    from tilewright.mapper.mapping.mapping import (
        ComputeNode,
        Mapping,
        Sequential,
        Storage,
        Temporal,
    )

    above, loop = Storage(("A",), "Main"), Temporal("m", 1)
    one, two = ComputeNode("E1", "MAC"), ComputeNode("E2", "MAC")
    nested = Mapping((above, Sequential(((loop, one), (two,)))))
    assert list(branches_of(nested)) == [
        ("E1", Mapping((above, loop, one))),
        ("E2", Mapping((above, two))),
    ]
