"""Tables of a run as files."""

from __future__ import annotations

import csv
import json

from tilewright.dse import open_run
from tilewright.dse.query.export import export_csv, export_json


def test_csv_and_json_hold_every_trial(finished, tmp_path):
    run = open_run(finished)
    export_csv(run, tmp_path / "a.csv")
    export_json(run, tmp_path / "a.json")
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["trial"]) for row in rows] == [trial.number for trial in run]
    assert {row["trial"] for row in rows if row["pareto_optimal"] == "True"} == {
        str(trial.number) for trial in run.front()
    }
    assert json.loads((tmp_path / "a.json").read_text())[0]["energy"] == run[0].metrics["energy"]
