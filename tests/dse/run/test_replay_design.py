"""A design of a finished run, executed again."""

from __future__ import annotations

import json

from design_files import run, small_wafer_study


def test_the_shipped_grid_study_in_small(tmp_path, monkeypatch):
    """`simulate` gives the metrics of a trial again."""
    monkeypatch.chdir(tmp_path)
    small = ["--trials", "4", "--set", "SCALE=64", "--set", "TOKENS=2", "--set", "search.batch=2"]
    done = run("study", "run", small_wafer_study(tmp_path), *small, "--workers", "1", "--out", "1")
    assert done.exit_code == 0, done.output
    assert b'"status": "error"' not in (tmp_path / "1" / "trials.jsonl").read_bytes()
    best = json.loads((tmp_path / "1" / "front.json").read_text())["front"][0]
    again = json.loads(run("simulate", "1", "--json", "--out", "timeline.json").stdout)
    assert (again["trial"], again["metrics"]) == (best["number"], best["metrics"])
    assert all(e["equal_to_reference"] and e["counts_equal"] for e in again["einsums"])
    events = json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X"}
    assert run("simulate", "1", "--trial", "99").exit_code == 2
    _check_changed_knobs(best)


def _check_changed_knobs(best):
    """`simulate --set` executes the design with other knobs, and only with knobs that it has."""
    point = best["point"]
    other = 4 if point["arch.variables.GridX"] == 2 else 2
    key = "arch.variables.GridX"
    done = run("simulate", "1", "--json", "--set", f"{key}={other}")
    changed = json.loads(done.stdout)
    assert changed["point"] == {**point, key: other}
    assert changed["metrics"]["elements"] == other * point["arch.variables.GridY"]
    assert all(e["equal_to_reference"] for e in changed["einsums"])
    same = json.loads(run("simulate", "1", "--json", "--set", f"{key}={point[key]}").stdout)
    assert same["metrics"] == best["metrics"]
    wrong = run("simulate", "1", "--set", "mapping.up.tlie=4")
    assert wrong.exit_code == 2
    assert "did you mean mapping.up.tile?" in wrong.stderr
    assert run("simulate", "1", "--set", "mapping.up.tile=abc").exit_code == 2
