"""Commands on studies: run, resume, report; answers, exit codes, refusals."""

from __future__ import annotations

import json

import yaml
from design_files import run


def test_run_prints_the_answer_and_the_place_of_the_report(study, tmp_path):
    done = run("study", "run", study, "--workers", 1, "--trials", 24)
    assert done.exit_code == 0, done.output
    assert "Lowest energy" in done.stdout
    assert "report: runs/toy/report.html" in done.stdout
    assert ": 24/24 trials" in done.stderr
    assert (tmp_path / "runs/toy/report.html").exists()
    again = run("study", "run", study, "--workers", 1, "--trials", 8)
    assert "runs/toy-2/report.html" in again.stdout


def test_json_is_one_document_and_nothing_else(study):
    done = run("study", "run", study, "--workers", 1, "--trials", 16, "--json")
    document = json.loads(done.stdout)
    assert document["ending"] == "done"
    assert document["trials"] == 16
    assert document["evaluated"] > 16
    assert document["front"][0]["metrics"]["energy"] > 0
    resumed = run("study", "resume", document["directory"], "--workers", 1, "--json")
    assert json.loads(resumed.stdout)["front"] == document["front"]
    report = run("study", "report", document["directory"], "--json")
    assert json.loads(report.stdout)["report"].endswith("report.html")
    assert json.loads(run("study", "list", "--json").stdout)[0]["name"]


def test_an_existing_run_is_refused_with_the_way_on(study):
    assert run("study", "run", study, "--workers", 1, "--trials", 8, "--out", "r").exit_code == 0
    done = run("study", "run", study, "--workers", 1, "--trials", 8, "--out", "r")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "r holds a run already" in done.stderr
    assert "tilewright study resume r" in done.stderr


def test_set_reaches_the_study(study):
    done = run("study", "run", study, "--workers", 1, "--out", "r", "--json",
               "--set", "search={sampler: random, trials: 5, batch: 8}", "--set", "seed=9",
               "--set", "objectives=[cycles, {metric: energy}]")  # fmt: skip
    assert json.loads(done.stdout)["evaluated"] == 10, "half of them and more cannot be built"
    resolved = yaml.safe_load((study.parent / "r/spec.resolved.yaml").read_text())
    assert resolved["seed"] == 9
    assert [each["metric"] for each in resolved["objectives"]] == ["cycles", "energy"]
    done = run("study", "run", study, "--workers", 1, "--set", "objectives=[cycles")
    assert done.exit_code == 2
    assert "at:      --set:" in done.stderr


def test_no_feasible_design_is_exit_code_3(study, toy, monkeypatch):
    from tilewright.arch.errors import SpecError

    class Never:
        def evaluate(self, point):
            raise SpecError("it never fits")

    monkeypatch.setattr("tilewright.dse.run.runner.make_evaluator", lambda spec: Never())
    done = run("study", "run", study, "--workers", 1, "--trials", 8)
    assert done.exit_code == 3
    assert "16 × it never fits" in done.stdout


def test_a_knob_that_names_nothing_is_an_error_before_the_first_trial(study):
    study.write_text(study.read_text().replace("variables.GridX", "variables.GridXY"))
    done = run("study", "run", study, "--workers", 1)
    assert done.exit_code == 2
    assert "the architecture has no variable GridXY" in done.stderr
    assert not (study.parent / "runs" / "toy" / "trials.jsonl").exists()
