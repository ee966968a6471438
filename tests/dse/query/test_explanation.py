"""One design explained: proof, what dominates, a step of each knob."""

from __future__ import annotations

import shutil

import pytest

from tilewright.dse import open_run
from tilewright.dse.query.explanation import _bar, explain_trial
from tilewright.dse.store.safe_files import RunError


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


def test_the_bars_of_the_tornado_go_to_the_side_of_the_change(finished):
    run = open_run(finished)
    best = run.sorted_by("energy")[0].number
    worst = run.sorted_by("energy", descending=True)[0].number
    up, down = (explain_trial(run, n).text().partition("(bars: energy)")[2] for n in (best, worst))
    assert "│████████" in up
    assert "█│" not in up
    assert "████████│" in down
    assert "│█" not in down


def test_a_bar_is_as_long_as_its_change():
    assert [_bar(change, 4.0) for change in (4.0, -2.0, 0.1, 0.0)] == [
        "        │████████", "    ████│", "        │▏", "        │",
    ]  # fmt: skip
    assert _bar(0.0, 0.0) == "        │"


def test_steps_are_not_evaluated_with_edited_copies_of_inputs(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    lines = (tmp_path / "run/trials.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "run/trials.jsonl").write_bytes(b"".join(lines[:4]))
    copy = next((tmp_path / "run/inputs").rglob("arch.yaml"))
    copy.write_text(copy.read_text() + "# edited\n")
    with pytest.raises(RunError, match=r"arch\.yaml: the contents changed"):
        explain_trial(open_run(tmp_path / "run"), 0)
