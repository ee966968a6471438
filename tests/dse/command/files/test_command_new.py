"""tilewright new: files that hold as they stand, and can be mapped."""

from __future__ import annotations

import json
import os
from errno import ENOSPC
from pathlib import Path

import pytest
from design_files import ARCH, run

from tilewright.dse.study.study_loading import load_study


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_files_are_valid_and_fit_each_other():
    for words in (
        ["arch", "chip"],
        ["workload", "layers"],
        ["study", "s", "--arch", "chip.yaml", "--workload", "layers.yaml"],
    ):
        done = run("new", *words)
        assert done.exit_code == 0, done.stderr
        assert f"tilewright validate {words[1]}.yaml" in done.stdout
    done = run("validate", "chip.yaml", "layers.yaml", "s.yaml")
    assert done.exit_code == 0, done.stderr
    assert "s.yaml: study, 3 knobs, 27 designs" in done.stdout
    study = load_study(Path("s.yaml"))
    reference = study.baselines[0]
    assert reference.own == reference.point == {
        "arch.variables.BufferKiB": 256, "arch.variables.Columns": 16, "arch.variables.Rows": 16
    }  # fmt: skip
    done = run("map", "--arch", "chip.yaml", "--workload", "layers.yaml", "--json")
    answer = json.loads(done.stdout)
    assert answer["certificate"]["kind"] == "optimal"
    assert answer["verified"]
    assert answer["notes"] == []


def test_a_study_finds_its_files_from_its_own_folder(here):
    (here / "studies").mkdir()
    run("new", "arch", "chip")
    done = run("new", "study", "studies/s", "--arch", "chip.yaml", "--json")
    assert json.loads(done.stdout) == {"kind": "study", "file": "studies/s.yaml"}
    assert run("validate", "studies/s.yaml").exit_code == 0


@pytest.mark.parametrize("arch", ["tpu_v4i", "simba_like", "wafer_grid"])
def test_a_study_of_a_shipped_architecture_is_valid(arch):
    run("new", "study", "my study", "--arch", arch)
    done = run("validate", "my study.yaml")
    assert done.exit_code == 0, done.stderr


def test_a_file_that_exists_stays(here):
    (here / "chip.yaml").write_text("mine")
    done = run("new", "arch", "chip.yaml")
    assert done.exit_code == 2
    assert "a file of that name exists" in done.stderr
    assert (here / "chip.yaml").read_text() == "mine"


def test_a_full_disk_leaves_no_file(here, monkeypatch):
    def full(_handle):
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    done = run("new", "arch", "chip")
    assert done.exit_code == 4
    assert "No space left on device: chip.yaml" in done.stderr
    assert list(here.iterdir()) == []


def test_an_architecture_without_anything_to_change(here):
    fixed = ARCH.replace("variables: {Lanes: 4}", "variables: {}").replace("Lanes", "4")
    (here / "a.yaml").write_text(fixed.replace("size: 64 * 8", "size: inf"))
    done = run("new", "study", "s", "--arch", "a.yaml")
    assert done.exit_code == 2
    assert "neither a variable nor a memory of a finite size" in done.stderr
    assert not (here / "s.yaml").exists()
