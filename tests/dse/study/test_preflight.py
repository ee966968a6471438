"""A study's files and knobs are checked before its first trial."""

from __future__ import annotations

import pytest
from design_files import run

from tilewright.dse.command.shipped import studies_folder


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("machine: wse2-sdk-sim", "machine: wse9", "wse9"),
        ("space:", "space:\n  mapping.upp.tile: {values: [1]}", "knob mapping.upp"),
        ("space:", "space:\n  mapping.up.tiles: {values: [1]}", "names no choice of a mapping"),
        ("space:", "space:\n  machine.hop_cicles: {values: [1]}", "hop_cicles"),
        ("space:", "space:\n  arch.SRAM.sise: {values: [1]}", "SRAM has no field sise"),
    ],
)
def test_a_study_is_checked_before_its_first_trial(tmp_path, monkeypatch, old, new, words):
    monkeypatch.chdir(tmp_path)
    text = (studies_folder() / "wafer_matvec" / "study.yaml").read_text().split("baselines:")[0]
    assert old in text
    (tmp_path / "study.yaml").write_text(text.replace(old, new, 1))
    done = run("study", "run", "study.yaml", "--workers", "1")
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert not (tmp_path / "runs").exists()
