"""One design explained: proof, what dominates, a step of each knob."""

from __future__ import annotations

from tilewright.dse import open_run
from tilewright.dse.query.explanation import explain_trial


def test_each_knob_has_its_steps(finished):
    run = open_run(finished)
    found = explain_trial(run, 0)
    assert {step.knob for step in found.steps} == {"buf", "Lanes"}
    assert all(step.trial is not None for step in found.steps), "the run has all of the grid"
    text = found.text()
    assert "its mapping of each workload, by itself, is proven optimal in" in text
    assert "energy, most: " in text
