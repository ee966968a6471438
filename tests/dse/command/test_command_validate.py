"""The command validate: the kind of each file, and what is wrong with it."""

from __future__ import annotations

import json

import pytest
from design_files import run

from tilewright.studies import path_of


def test_validate_knows_each_kind(study):
    done = run("validate", "arch.yaml", "workload.yaml", "study.yaml", "--json")
    assert done.exit_code == 0, done.stderr
    verdicts = json.loads(done.stdout)
    assert [v["kind"] for v in verdicts] == ["architecture", "workload", "study"]
    assert all(v["valid"] for v in verdicts)
    (study.parent / "arch.yaml").write_text("arch: {nodes: []}\n")
    broken = run("validate", "arch.yaml", "workload.yaml", "--json")
    assert broken.exit_code == 2
    assert [v["valid"] for v in json.loads(broken.stdout)] == [False, True]
    assert "no Compute" in broken.stderr


@pytest.mark.parametrize("command", ["validate", "evaluate", "map"])
def test_files_that_disagree_are_named_both(split, command):
    more = ("--mapping", "nest.yaml") if command == "evaluate" else ()
    done = run(command, *split, "--arch", "other.yaml", *more)
    assert done.exit_code == 2
    assert "two files disagree about E" in done.stderr
    assert "core.yaml:1" in done.stderr
    assert "other.yaml:3:6 (variables.E)" in done.stderr
    missing = run(command, *split, "--arch", "chop.yaml", *more)
    assert "no such file" in missing.stderr


def test_validate_wants_a_file(tmp_path):
    done = run("validate")
    assert done.exit_code == 2
    assert "at least one file" in done.stderr


def test_validate_knows_machines_for_layouts(tmp_path):
    from tilewright.mapper.layout.machines.layout_machine import machine_file

    good = run("validate", machine_file("wormhole"))
    assert good.exit_code == 0, good.stderr
    assert "machine for layouts, 64 units" in good.stdout
    text = machine_file("wormhole").read_text().replace('source: "tt-mlir', 'origin: "tt-mlir', 1)
    (tmp_path / "mine.yaml").write_text(text)
    broken = run("validate", tmp_path / "mine.yaml")
    assert broken.exit_code == 2
    assert "units has no source" in broken.stderr


@pytest.mark.parametrize(
    ("written", "wrong", "said"),
    [("fanout: PEX}", "fanout: PEX, min_usage: 1.5}", "share of the lanes"),
     ("GlbKiB * 1024 * 8", "3 GHz", "no unit of frequency")],
)  # fmt: skip
def test_validate_evaluates_what_no_einsum_decides(tmp_path, written, wrong, said):
    text = path_of("hardware", "edge_npu").read_text(encoding="utf-8")
    assert written in text
    (tmp_path / "mine.yaml").write_text(text.replace(written, wrong), encoding="utf-8")
    done = run("validate", tmp_path / "mine.yaml")
    assert done.exit_code == 2
    assert said in done.stderr
