"""Runs that start, resume and finish: what may change in between, and what is written."""

from __future__ import annotations

import pytest
from design_files import log_of, run, run_here

from tilewright.dse.run.rundir import RunDirectory, RunError
from tilewright.dse.run.runner import RunSettings, changed_inputs, resume_study, start_study
from tilewright.dse.store.extension import Changes
from tilewright.dse.study.study_loading import load_study


def test_details_that_a_killed_process_lost_are_made_again(toy, tmp_path):
    result = run_here(toy, tmp_path)
    details = tmp_path / "run" / "details"
    stored = {path.name: path.read_bytes() for path in details.iterdir()}
    assert set(stored) >= {f"{design['number']:06d}.json" for design in result.front["front"]}
    for path in details.iterdir():
        path.unlink()
    resume_study(tmp_path / "run", RunSettings(evaluator=toy.ToyModel()))
    assert {path.name: path.read_bytes() for path in details.iterdir()} == stored


@pytest.mark.parametrize("file", ["study.yaml", "run/spec.resolved.yaml"])
def test_resume_of_a_changed_study_names_the_keys(toy, tmp_path, file):
    run_here(toy, tmp_path, {"search.trials": 8})
    path = tmp_path / file
    path.write_text(
        path.read_text().replace("seed: 11", "seed: 12").replace("population: 16", "population: 4")
    )
    with pytest.raises(RunError) as caught:
        resume_study(tmp_path / "run", RunSettings(evaluator=toy.ToyModel()))
    assert "search.population: 16 -> 4" in str(caught.value)
    assert "seed: 11 -> 12" in str(caught.value)
    assert "search.trials" not in str(caught.value)


def test_a_changed_input_file_changes_no_run(toy, tmp_path):
    run_here(toy, tmp_path)
    whole = log_of(tmp_path)
    (tmp_path / "run" / "trials.jsonl").write_bytes(b"".join(whole.splitlines(True)[:8]))
    (tmp_path / "arch.yaml").write_text("arch: {nodes: [], other: 1}\n")
    assert changed_inputs(RunDirectory.open(tmp_path / "run")) == [str(tmp_path / "arch.yaml")]
    resume_study(tmp_path / "run", RunSettings(evaluator=toy.ToyModel()))
    assert log_of(tmp_path) == whole


def test_a_changed_copy_is_refused(toy, tmp_path):
    run_here(toy, tmp_path, {"search.trials": 8})
    (tmp_path / "run/inputs/arch/arch.yaml").write_text("arch: {nodes: [], other: 1}\n")
    with pytest.raises(RunError, match=r"inputs/arch/arch\.yaml: the contents changed"):
        resume_study(tmp_path / "run", RunSettings(evaluator=toy.ToyModel()))


def test_a_run_that_was_moved_goes_on(toy, tmp_path):
    run_here(toy, tmp_path)
    whole = log_of(tmp_path)
    (tmp_path / "run" / "trials.jsonl").write_bytes(b"".join(whole.splitlines(True)[:8]))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").rename(tmp_path / "elsewhere/run")
    for name in ("arch.yaml", "workload.yaml", "study.yaml"):
        (tmp_path / name).unlink()
    resume_study(tmp_path / "elsewhere/run", RunSettings(evaluator=toy.ToyModel()))
    assert log_of(tmp_path / "elsewhere") == whole


def test_the_resolved_study_is_a_study_with_the_same_result(toy, tmp_path):
    run_here(toy, tmp_path)
    spec = load_study(tmp_path / "run" / "spec.resolved.yaml")
    start_study(spec, tmp_path / "again", RunSettings(evaluator=toy.ToyModel()))
    assert (tmp_path / "again" / "trials.jsonl").read_bytes() == log_of(tmp_path)


def test_a_run_of_the_model_of_a_study_does_not_go_on_with_one_of_the_user(
    toy, tmp_path, monkeypatch
):
    monkeypatch.setattr("tilewright.dse.run.runner.make_evaluator", lambda spec: toy.ToyModel())
    monkeypatch.setattr("tilewright.dse.run.runner.preflight", lambda spec: None)
    spec = load_study(toy.write_study(tmp_path), {"search.trials": 8})
    start_study(spec, tmp_path / "run", RunSettings())
    before = log_of(tmp_path)
    with pytest.raises(RunError, match=r"by the model of its study, not by .*ToyModel"):
        resume_study(tmp_path / "run", RunSettings(evaluator=toy.ToyModel()), Changes(20))
    assert log_of(tmp_path) == before
    assert load_study(tmp_path / "run" / "spec.resolved.yaml").trials == 8


def test_a_run_with_a_model_of_the_user_is_not_mixed_with_the_model_of_its_study(toy, tmp_path):
    """Nor do its figures go into other runs."""
    result = run_here(toy, tmp_path, {"search.trials": 16})
    assert repr(result).startswith("<StudyResult done: 35 trials, "), "16 designs that can be built"
    directory = tmp_path / "run"
    before = log_of(tmp_path)
    words = r"were evaluated by .*ToyModel, not by the model of its study"
    with pytest.raises(RunError, match=words):
        resume_study(directory, RunSettings())
    study, out = str(tmp_path / "study.yaml"), str(tmp_path / "other")
    for command in (
        ("study", "resume", str(directory), "--trials", "20"),
        ("study", "rerun", "--pareto-from", str(directory), "--out", out),
        ("study", "run", study, "--reuse", str(directory), "--out", out),
        ("simulate", str(directory)),
    ):
        done = run(*command)
        assert done.exit_code == 2, (command, done.output)
        assert "not by the model of its study" in done.stderr
    explained = run("study", "explain", str(directory), "0")
    assert explained.exit_code == 0, explained.output
    assert "steps that the run has not tried are left out" in explained.stderr
    assert " new " not in explained.stdout
    assert log_of(tmp_path) == before
    resumed = resume_study(directory, RunSettings(evaluator=toy.ToyModel()), Changes(trials=20))
    assert len(resumed.trials) > 16
