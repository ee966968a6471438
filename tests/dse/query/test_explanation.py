"""One design explained: proof, what dominates, a step of each knob."""

from __future__ import annotations

import shutil

from tilewright.dse import open_run
from tilewright.dse.query.explanation import explain_trial


def test_each_knob_has_its_steps(finished):
    run = open_run(finished)
    notes = []
    found = explain_trial(run, 0, notes.append)
    assert notes == []
    assert {step.knob for step in found.steps} == {"buf", "Lanes"}
    assert all(step.trial is not None for step in found.steps), "the run has all of the grid"
    text = found.text()
    assert "its mapping of each workload, by itself, is proven optimal in" in text
    assert "energy, most: " in text


def test_steps_that_the_run_has_not_tried_are_evaluated_and_noted(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    lines = (tmp_path / "run/trials.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "run/trials.jsonl").write_bytes(b"".join(lines[:4]))  # a batch
    whole, run, notes = open_run(finished), open_run(tmp_path / "run"), []
    found = explain_trial(run, 0, notes.append)
    new = [step for step in found.steps if step.trial is None]
    assert len(new) == len(notes) > 0
    assert notes[0].startswith("evaluating ")
    assert "new" in found.text()
    known = {(s.knob, s.value): s.metrics for s in explain_trial(whole, 0).steps}
    for step in new:
        assert step.metrics == known[step.knob, step.value]
