"""The front of a run, evaluated again as a run of its own."""

from __future__ import annotations

import shutil

import pytest
import yaml

from tilewright.dse import RunSettings, open_run, start_study
from tilewright.dse.query.rerun import front_study
from tilewright.dse.store.safe_files import RunError


def test_the_front_again_has_the_same_metrics(finished, tmp_path):
    before = open_run(finished)
    result = start_study(front_study(finished), tmp_path / "again", RunSettings())
    found = {tuple(t.point.items()): t.metrics for t in result.trials}
    for trial in before.front():
        assert found[tuple(trial.point.items())] == trial.metrics


def test_a_reference_on_the_front_is_tried_once_however_it_is_written(finished, tmp_path):
    """As `256 B` in a study file and 2048 in a trial: no other design takes a trial's place."""
    shutil.copytree(finished, tmp_path / "run")
    best = next(iter(open_run(finished).front())).point
    spec = tmp_path / "run/spec.resolved.yaml"
    data = yaml.safe_load(spec.read_text())
    values = {**best, "arch.Buffer.size": f"{best['arch.Buffer.size'] // 8} B"}
    data["baselines"] = [{"name": "reference", "values": values}]
    spec.write_text(yaml.safe_dump(data))
    again = front_study(finished, spec)
    points = [tuple(baseline.point.items()) for baseline in again.baselines]
    assert len(set(points)) == len(points) == again.trials == len(open_run(finished).front())


def test_a_run_with_edited_copies_of_inputs_is_refused(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    copy = next((tmp_path / "run/inputs").rglob("arch.yaml"))
    copy.write_text(copy.read_text() + "# edited\n")
    with pytest.raises(RunError, match=r"arch\.yaml: the contents changed"):
        front_study(tmp_path / "run")
    assert front_study(tmp_path / "run", finished / "spec.resolved.yaml").baselines
