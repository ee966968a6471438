"""A study's files and knobs are checked before its first trial."""

from __future__ import annotations

import pytest
from design_files import ARCH, run

from tilewright.dse.command.shipped import studies_folder


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("machine: wse2-sdk-sim", "machine: wse9", "wse9"),
        ("space:", "space:\n  mapping.upp.tile: {values: [1]}", "knob mapping.upp"),
        ("space:", "space:\n  mapping.up.tiles: {values: [1]}", "names no choice of a mapping"),
        ("space:", "space:\n  machine.hop_cicles: {values: [1]}", "hop_cicles"),
        (
            "space:",
            "space:\n  mapper.fusion: {values: [true]}",
            "the simulated model has no mapper",
        ),
        ("space:", "space:\n  mapper.fusions: {values: [true]}", "did you mean fusion?"),
        ("space:", "space:\n  arch.SRAM.sise: {values: [1]}", "SRAM has no field sise"),
        ("space:", "space:\n  workload.TOKENZ: {values: [1]}", "did you mean TOKENS?"),
        ("space:", "space:\n  workload.rank_sizes.Q: {values: [1]}", "no workload here has a rank"),
        (
            "space:",
            "space:\n  workload.variables.TOKENS: {values: [1]}",
            "instead: workload.TOKENS",
        ),
        (
            "{file: llama_feed_forward}",
            "{file: llama_feed_forward, variables: {SCAL: 1}}",
            "SCALE?",
        ),
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
    line = text[: text.index(old)].count("\n") + 1 + (old == "space:")
    assert "space:" not in old or f"study.yaml:{line}:3 (space." in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("{file: wormhole}", "{file: trainium1}", "trainium1 has no memory l1"),
        ("{file: wormhole}", "{file: wormhol}", "no machine 'wormhol'"),
        ("{file: wormhole}", "{file: wormhole, variables: {X: 1}}", "has no variables"),
        ("{file: wormhole}", "{file: wormhole, values: {rates.x: 1}}", "no number rates.x"),
        ("space:", "space:\n  arch.rates.x: {values: [1]}", "no number rates.x"),
        ("space:", "space:\n  mapping.product.row: {values: [1]}", "no choice of a mapping"),
        ("space:", "space:\n  mapping.product.fidelity: {values: [hifi]}", "unknown fidelity"),
        ("metric: core_bits", "metric: sram_bits", "grid_matmul model gives no metric"),
        ("  metric: cycles\n", "  metric: energy\n", "grid_matmul model gives no metric"),
    ],
)
def test_a_layout_study_is_checked_before_its_first_trial(tmp_path, monkeypatch, old, new, words):
    monkeypatch.chdir(tmp_path)
    shipped = studies_folder() / "tenstorrent_matmul"
    (tmp_path / "workload.yaml").write_text((shipped / "workload.yaml").read_text())
    head, _, rest = (shipped / "study.yaml").read_text().partition("baselines:")
    text = f"{head}published:{rest.partition('published:')[2]}"
    assert old in text
    (tmp_path / "study.yaml").write_text(text.replace(old, new, 1))
    done = run("study", "run", "study.yaml", "--workers", "1")
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert not (tmp_path / "runs").exists()


ANALYTICAL = """\
name: options
arch: {file: edge_npu}
workload: {file: mlp4}
model: analytical
objectives: [energy, latency]
space:
  KNOB
search: {sampler: grid, trials: 4}
"""


@pytest.mark.parametrize(
    ("knob", "words"),
    [
        ("machine.hop_cycles: {values: [1]}", "the analytical model has no machine"),
        ("mapping.Z.x: {values: [m]}", "such as arch.MEMORY.tensors.keep"),
        ("mapper.progress: {values: [1]}", "the mapper has no option 'progress'"),
        ("mapper.uneven: {values: [true]}", "uneven takes a text"),
        ("mapper.fusion: {values: ['no']}", "fusion takes true or false"),
        ("mapper.seed: {values: [0.5]}", "seed takes a whole number"),
        ("mapper.budget: {values: [soon]}", "soon"),
        ("mapper.objective: {values: [enrgy]}", "there is no metric enrgy"),
        ("mapper.front: {values: ['energy,usge']}", "there is no metric usge"),
    ],
)
def test_an_option_of_the_mapper_is_checked_before_the_first_trial(
    tmp_path, monkeypatch, knob, words
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").write_text(ANALYTICAL.replace("KNOB", knob))
    done = run("validate", "study.yaml")
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert "study.yaml:7:" in done.stderr


def test_a_knob_without_effect_is_named_before_a_baseline_that_leaves_it_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = ANALYTICAL.replace("KNOB", "mapping.Z.x: {values: [m]}")
    (tmp_path / "study.yaml").write_text(study + "baselines: [{name: as it is, values: {}}]\n")
    done = run("validate", "study.yaml")
    assert "the knob mapping.Z.x has no effect" in done.stderr


def test_a_baseline_is_not_blamed_for_what_is_wrong_in_the_architecture(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chip.yaml").write_text(ARCH.replace("leak_power:", "leak_pwer:", 1))
    study = ANALYTICAL.replace("KNOB", "arch.variables.Lanes: {values: [2, 4]}")
    study = study.replace("file: edge_npu", "file: chip.yaml")
    assert "chip.yaml" in study
    (tmp_path / "study.yaml").write_text(study + "baselines: [{name: as it is, values: {}}]\n")
    done = run("validate", "study.yaml")
    assert "unknown field leak_pwer" in done.stderr
    assert "chip.yaml:" in done.stderr


def test_a_knob_of_the_mapper_is_not_blamed_for_the_workload(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = ANALYTICAL.replace("KNOB", "mapper.fusion: {values: [true, false]}")
    (tmp_path / "study.yaml").write_text(study.replace("mlp4", "w.yaml"))
    (tmp_path / "w.yaml").write_text(
        "workload:\n  rank_sizes: {P: 4, R: 3}\n  bits_per_value: {All: 8}\n"
        '  einsums: ["O[p] = I[P: p + r] * W[r]"]\n'
    )
    done = run("study", "run", "study.yaml", "--workers", "1")
    assert done.exit_code == 2, done.output
    assert "the index of rank P of I runs" in done.stderr
    assert "mapper.fusion" not in done.stderr
