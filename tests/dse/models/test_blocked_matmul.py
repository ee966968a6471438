"""Blocked products as designs of a study."""

from __future__ import annotations

import json

import pytest
from design_files import run

from tilewright.dse.command.shipped import shipped_studies
from tilewright.dse.models.blocked_matmul import BlockedMatmulEvaluator
from tilewright.dse.models.evaluators import METRICS, make_evaluator
from tilewright.dse.study.study_loading import load_study
from tilewright.mapper.workload.errors import InfeasibleMapping

TUTORIAL = {
    "mapping.product.m_tiles": 16,
    "mapping.product.k_tiles": 8,
    "mapping.product.n_tiles": 2,
    "mapping.product.order": "nkm",
    "mapping.product.partial": "bf16",
}


@pytest.fixture
def model():
    evaluator = make_evaluator(load_study(shipped_studies()["trainium_matmul"]))
    assert isinstance(evaluator, BlockedMatmulEvaluator)
    return evaluator


def test_the_study_reports_the_published_figures_beside_its_best_design(tmp_path):
    small = ("--trials", "40", "--workers", "1", "--out", tmp_path / "run")
    done = run("study", "run", "trainium_matmul", *small)
    assert done.exit_code == 0, done.output
    assert "Published: tutorial, tiled: 51.8 ms; best design" in done.output
    assert "Published: tutorial, fully optimized: 6.97 ms; best design" in done.output


def test_metrics_and_details(model):
    outcome = model.evaluate(TUTORIAL)
    assert set(outcome.metrics) == set(METRICS["blocked_matmul"])
    assert outcome.metrics["latency"] == pytest.approx(7.098e-3, rel=1e-3)
    assert outcome.metrics["sbuf_bits"] == 163_840 * 128 * 8
    assert outcome.metrics["utilization"] == pytest.approx(0.844, abs=1e-3)
    (section,) = outcome.details["sections"]
    assert "for n in 8 blocks of 2 tiles\n  for k in 8 blocks" in section["loop_nest"]
    assert section["facts"]["first operand loaded"] == "8 times"
    json.dumps(outcome.details, allow_nan=False)


def test_the_breakdown_says_what_binds(model):
    outcome = model.evaluate(TUTORIAL)
    parts = outcome.breakdown
    slowest = outcome.details["sections"][0]["facts"]["slowest"]
    assert max(parts["latency"], key=parts["latency"].get) == slowest == "DMA"
    assert max(parts["latency"].values()) == outcome.metrics["latency"]
    assert sum(parts["sbuf_bits"].values()) == 163_840 * 128 * 8
    waits = model.evaluate({**TUTORIAL, "mapping.product.psum_banks": 1}).breakdown["latency"]
    assert {"eviction"} == set(waits) - set(parts["latency"])


def test_the_limit_of_the_best_design_is_the_tensor_engine(model):
    best = {**TUTORIAL, "mapping.product.k_tiles": 4, "mapping.product.n_tiles": 4}
    outcome = model.evaluate({**best, "mapping.product.order": "mnk"})
    assert outcome.metrics["latency"] == pytest.approx(6.366e-3, rel=1e-3)
    assert outcome.details["sections"][0]["facts"]["slowest"] == "tensor engine"


def test_what_does_not_fit_says_why(model):
    with pytest.raises(InfeasibleMapping, match=r"partial sums \(131072 bytes\)"):
        model.evaluate({**TUTORIAL, "mapping.product.partial": "f32"})
    with pytest.raises(InfeasibleMapping, match=r"psum\.bank: banks 0 to 8"):
        model.evaluate({**TUTORIAL, "mapping.product.psum_banks": 9})
