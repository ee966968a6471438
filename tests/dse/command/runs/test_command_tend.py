"""Watch, doctor, and the schema of study files that ships."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

from design_files import run, run_here

from tilewright.dse.command.runs.command_tend import schema_text
from tilewright.dse.command.shipped import studies_folder


def test_the_shipped_schema_is_of_this_state():
    path = studies_folder() / "study.schema.json"
    assert path.read_text() == schema_text(), "tilewright study schema > studies/study.schema.json"
    assert json.loads(run("study", "schema").stdout)["properties"]["workloads"]


def test_watch_and_doctor(toy, tmp_path):
    run_here(toy, tmp_path, {"search.trials": 8})
    assert "4/8 trials" in run("study", "watch", tmp_path / "run", "--once").stdout
    done = run("study", "doctor", tmp_path / "run")
    assert done.exit_code == 0, done.stdout
    Path(tmp_path / "run/inputs/arch/arch.yaml").write_text("")
    done = run("study", "doctor", tmp_path / "run")
    assert done.exit_code == 2
    assert "PROBLEM inputs/arch/arch.yaml: missing or changed" in done.stdout


def test_doctor_says_what_a_missing_package_is_for(monkeypatch):
    version = metadata.version

    def found(name):
        if name in ("torch", "numpy"):
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr("tilewright.dse.query.doctor.metadata.version", found)
    done = run("study", "doctor")
    assert "ok      torch: not installed (optional: the sampler gp)" in done.stdout
    assert "PROBLEM numpy: missing" in done.stdout
    assert done.exit_code == 2
