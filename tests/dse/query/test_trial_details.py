"""The inside of a design: read where the run stores it, found again where it does not."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from tilewright.dse import RunSettings, load_study, open_run, start_study
from tilewright.dse.command.shipped import studies_folder
from tilewright.dse.query.comparison import diff_trials
from tilewright.dse.query.trial_details import details_of


@pytest.fixture(scope="module")
def one_best(finished, tmp_path_factory):
    """The directory of a run whose front is one design of four."""
    changes = {"objectives": ["energy"], "search.trials": 4}
    folder = tmp_path_factory.mktemp("details") / "run"
    start_study(load_study(finished.parent / "study.yaml", changes), folder, RunSettings())
    return folder


def split_by_storage(run):
    good = [t.number for t in run.everything if t.metrics and t.same_as is None]
    stored = [number for number in good if run.directory.details(number)]
    return stored, [number for number in good if number not in stored]


def test_stored_insides_are_read_and_others_found_again(one_best):
    run = open_run(one_best)
    stored, others = split_by_storage(run)
    notes: list[str] = []
    first = details_of(run, stored[0], "loop_nest", notes.append)
    assert first == run.directory.details(stored[0])
    assert not notes
    found = details_of(run, others[0], "loop_nest", notes.append)
    assert notes == [
        f"evaluating trial {others[0]} again: the run stores the inside of its front and baselines"
    ]
    energies = [sum(section["traffic"].values()) for section in found["sections"]]
    assert sum(energies) < run.trial(others[0]).metrics["energy"]  # which counts a workload twice
    assert all("compute" in section["loop_nest"] for section in found["sections"])


def test_the_same_design_twice_needs_no_search(one_best):
    notes: list[str] = []
    run = open_run(one_best)
    number = split_by_storage(run)[1][0]
    assert diff_trials(run, number, number, notes.append).traffic == ()
    assert not notes


def test_another_mapping_than_the_recorded_one_is_left_out(one_best):
    run = open_run(one_best)
    stored, others = split_by_storage(run)
    recorded = run.trial(others[0])
    changed = replace(recorded, metrics={**recorded.metrics, "energy": 1.0})
    run = replace(run, everything=(*run.everything[: others[0]], changed))
    notes: list[str] = []
    assert details_of(run, others[0], "loop_nest", notes.append) == {}
    assert notes[-1] == f"trial {others[0]} has another mapping this time: its inside is left out"
    found = diff_trials(run, others[0], stored[0])
    assert not found.traffic
    assert found.parts


def test_a_run_without_its_inputs_says_why_nothing_is_found(one_best, tmp_path):
    shutil.copytree(one_best, tmp_path / "run")
    (tmp_path / "run/inputs").rename(tmp_path / "run/no-inputs")
    run = open_run(tmp_path / "run")
    notes: list[str] = []
    assert details_of(run, split_by_storage(run)[1][0], "loop_nest", notes.append) == {}
    assert "cannot be evaluated now" in notes[-1]


def test_damaged_details_are_made_anew(one_best, tmp_path):
    shutil.copytree(one_best, tmp_path / "run")
    run = open_run(tmp_path / "run")
    number = split_by_storage(run)[0][0]
    (tmp_path / f"run/details/{number:06d}.json").write_text(json.dumps({"sections": [{}]}))
    assert details_of(run, number, "traffic")["sections"][0]["traffic"]


def test_a_trial_that_does_not_exist(one_best):
    from tilewright.dse.store.safe_files import RunError

    with pytest.raises(RunError, match="no trial"):
        details_of(open_run(one_best), 999, "loop_nest")


def test_the_traffic_of_an_executed_design_adds_up_to_its_energy(tmp_path):
    spec = load_study(
        studies_folder() / "wafer_matvec" / "study.yaml",
        {"workload.variables": {"SCALE": 64, "TOKENS": 2}, "search.trials": 3, "search.batch": 3},
    )
    start_study(spec, tmp_path / "run", RunSettings())
    run = open_run(tmp_path / "run")
    good = [trial for trial in run.where("status == 'feasible'") if trial.same_as is None]
    assert len(good) >= 2
    for trial in good:
        sections = details_of(run, trial.number, "traffic")["sections"]
        energies = [sum(section["traffic"].values()) for section in sections]
        assert sum(energies) == pytest.approx(trial.metrics["energy"], rel=1e-9)
    change = good[1].metrics["energy"] - good[0].metrics["energy"]
    found = diff_trials(run, good[0].number, good[1].number)
    assert sum(each.difference for each in found.traffic) == pytest.approx(change, rel=1e-6)
