"""The analytical model: a design is worth what its best mapping costs."""

from __future__ import annotations

import json

import pytest

from tilewright.arch.errors import TilewrightError
from tilewright.dse.models.analytical import AnalyticalEvaluator, branches_of
from tilewright.dse.models.evaluators import METRICS


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
