"""The live view of a study on a terminal."""

from __future__ import annotations

import threading
from dataclasses import replace

from design_files import run_here

from tilewright.dse.query.open_run import open_run
from tilewright.dse.run.live_view import LiveView, state_lines, watcher_for


def test_a_terminal_shows_front_growth_rate_and_reasons(toy, tmp_path, monkeypatch, capsys):
    result = run_here(toy, tmp_path, {"search.trials": 24})
    run = open_run(tmp_path / "run")
    assert "Lowest energy" in result._repr_html_()
    assert "trial 0" in run[0]._repr_html_()
    capsys.readouterr()
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    view = watcher_for(run.spec)
    assert isinstance(view, LiveView)
    with view:
        view.batch(run.trials[:22], 1.0)
        view.evaluated(1, 2)
    shown = capsys.readouterr().err
    assert "toy" in shown
    assert "front " in shown
    assert "hypervolume " in shown
    state, growth, rate, *reasons = state_lines(run.spec, run.trials, 0.5)
    assert state.startswith("front ")
    assert growth.startswith("hypervolume ")
    first = [trial for trial in run.trials if trial.batch == 0]
    assert state_lines(run.spec, first)[1].endswith("% of the box, still growing")
    same = [replace(first[0], number=8 + n, batch=1, same_as=0) for n in range(5)]
    assert state_lines(run.spec, [*first, *same])[1].endswith("box, unchanged for 5 trials")
    assert rate.startswith("2 s a design; ")
    assert rate.endswith("known already")
    assert any("does not divide" in reason for reason in reasons)
    bad = [replace(trial, status="infeasible", metrics={}) for trial in run.trials[:1]]
    assert state_lines(run.spec, bad)[0] == "front 0, infeasible 1"


def test_no_line_is_longer_than_the_terminal(toy, tmp_path, monkeypatch, capsys):
    run_here(toy, tmp_path, {"search.trials": 8})
    run = open_run(tmp_path / "run")
    reason = "no mapping fits the grid: " + "SRAM of an element is too small " * 9
    bad = [replace(trial, status="infeasible", metrics={}, reason=reason) for trial in run.trials]
    assert state_lines(run.spec, bad)[-1].endswith(" SRAM of …"), "cut between words"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    with watcher_for(run.spec) as view:
        view.batch(bad, 1.0)
    shown = capsys.readouterr().err
    (line,) = {line for line in shown.splitlines() if "no mapping fits" in line}
    assert line.rstrip().endswith("…")
    assert len(line) <= 60


def test_after_ctrl_c_the_view_says_what_happens(toy, tmp_path, monkeypatch, capsys):
    run_here(toy, tmp_path, {"search.trials": 8})
    run = open_run(tmp_path / "run")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    stop = threading.Event()
    with watcher_for(replace(run.spec, trials=24), stop) as view:
        view.batch(run.trials, 1.0)
        before = capsys.readouterr().err
        stop.set()
    assert "finishing the batch" not in before
    assert "finishing the batch; once more stops at once" in capsys.readouterr().err
