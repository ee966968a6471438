"""The front of a run, evaluated again as a run of its own."""

from __future__ import annotations

from tilewright.dse import Execution, open_run, start_study
from tilewright.dse.query.rerun import front_study


def test_the_front_again_has_the_same_metrics(finished, tmp_path):
    before = open_run(finished)
    result = start_study(front_study(finished), tmp_path / "again", Execution())
    found = {tuple(t.point.items()): t.metrics for t in result.trials}
    for trial in before.front():
        assert found[tuple(trial.point.items())] == trial.metrics
