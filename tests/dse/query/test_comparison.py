"""Two designs and two runs: the parts of a difference add up to it."""

from __future__ import annotations

import pytest

from tilewright.dse import open_run
from tilewright.dse.query.comparison import compare_runs, diff_trials


def test_the_parts_add_up_to_the_difference(finished):
    run = open_run(finished)
    best = run.front("energy")[0]
    worst = run.where("status == 'feasible'").sorted_by("energy", descending=True)[0]
    found = diff_trials(run, worst.number, best.number)
    change = best.metrics["energy"] - worst.metrics["energy"]
    assert change < 0
    for parts in (found.parts, found.traffic):
        moved = [part.difference for part in parts if part.metric == "energy"]
        assert sum(moved) == pytest.approx(change)
    assert any(part.part.startswith("Main: read") for part in found.traffic)
    assert "energy by tensor and memory" in found.text()


def test_a_run_equals_itself(finished):
    run = open_run(finished)
    found = compare_runs(run, run)
    assert found.beaten == (0, 0)
    assert found.shares[0] == found.shares[1] > 0
    assert "hypervolume, common reference" in found.text()
