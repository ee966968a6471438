"""Filter, sort, front, knee, neighbours and tables of a run."""

from __future__ import annotations

import re
import shutil

import pytest

from tilewright.arch.errors import SpecError
from tilewright.dse import open_run
from tilewright.dse.store.safe_files import RunError


def test_conditions_over_metrics_knobs_and_status(finished):
    run = open_run(finished)
    assert len(run.everything) == 13  # the grid comes to the reference again
    chosen = run.where("buf <= 64 B and Lanes >= 2 and status == 'feasible'")
    by_hand = [t for t in run if t.point["arch.Buffer.size"] <= 512
               and t.point["arch.variables.Lanes"] >= 2 and t.status == "feasible"]  # fmt: skip
    assert list(chosen) == by_hand
    assert list(run.where("energy > base.energy")) == [
        t for t in run if t.metrics and t.metrics["energy"] > run[0].metrics["energy"]
    ]
    for wrong, words in {
        "enrgy > 1": "did you mean energy",
        "status = 'feasible'": "instead: == between",
        "status == feasible": "instead: 'feasible' in quotes",
        "energy < 1 and feasible": "instead: status == 'feasible'",
        "latency < 1 parsec": "parsec is no unit",
        "verified == true": "instead: `fusion` or `not fusion`",
        "Lanes >= 2 && energy > 1": "instead: and",
        "Lanes >= 2 and (area < 1 J or energy > 1)": "area is not measured in J",
        "usage.Bufer > 3": "there is no Bufer",
    }.items():
        with pytest.raises(SpecError, match=words):
            run.where(wrong)
    with pytest.raises(SpecError, match="no feasible trial has a number"):
        run.front("energy", "status")
    far = "energy > 0 and Lanes >= 2 GB/s"
    assert not run.where(far)
    assert run.spans(far)[-1] == "Lanes is 1 to 8 here, 2 GB/s is 1.6e+10"
    assert run.spans("gap > 0.01") == ["gap is 0 here"]
    assert re.fullmatch(r"energy is [\d.]+ [pn]J to [\d.]+ [pn]J here", *run.spans("energy > 1 J"))
    assert len(run.where("Lanes < 1 KiB")) == len(run)
    assert run.spans("Lanes < 1 KiB", of_knobs=True) == ["Lanes is 1 to 8 here, 1 KiB is 8192"]
    assert not run.spans("Lanes < 100 and energy < 1 J and buf <= 64 B", of_knobs=True)


def test_order_and_fronts(finished):
    run = open_run(finished)
    values = [t.metrics["edp"] for t in run.sorted_by("edp")]
    assert values == sorted(values)
    front = run.front("energy", "area")
    pairs = [(t.metrics["energy"], t.metrics["area"]) for t in run if t.status == "feasible"]
    for trial in front:
        e, a = trial.metrics["energy"], trial.metrics["area"]
        assert not any(x <= e and y <= a and (x, y) != (e, a) for x, y in pairs)
    assert run.knee("energy", "area").number in {t.number for t in front}


def test_neighbours_differ_in_few_steps(finished):
    run = open_run(finished)
    near = run.neighbours(0, 2)
    assert all(
        sum(trial.point[path] != run[0].point[path] for path in trial.point) == 1 for trial in near
    )
    with pytest.raises(RunError, match="no trial 99"):
        run.trial(99)


def test_rows_have_proof_and_seconds(finished):
    run = open_run(finished)
    row = run.rows()[0]
    assert (row["proof"], row["gap"], row["verified"]) == ("optimal", 0.0, True)
    assert row["seconds"] > 0
    assert row["energy"] == 2 * row["big.energy"] + row["small.energy"]
    assert row["energy * latency"] == row["energy"] * row["latency"]
    pandas = pytest.importorskip("pandas")
    assert isinstance(run.to_pandas(), pandas.DataFrame)
    assert "<table" in run._repr_html_()
    assert "small: 13 trials<" in run._repr_html_()
    assert repr(run[0]) == "<Trial 0: feasible; Buffer.size=64 B, Lanes=4>"
    assert ">64 B<" in run[0]._repr_html_()
    assert ">optimal<" in run[0]._repr_html_()


def test_a_run_without_trials_has_no_answers_but_words(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "run/trials.jsonl").write_bytes(b"")
    run = open_run(tmp_path / "run")
    assert len(run.where("energy < 1 and status == 'failed'")) == 0
    assert len(run.sorted_by("energy").front()) == 0
    assert run.rows() == []
    with pytest.raises(RunError, match="no trials yet"):
        run.trial(0)
