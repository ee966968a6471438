"""The state of a study in a line, for terminals and for logs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilewright.dse.run.progress import ProgressLines, describe_state
from tilewright.dse.run.record import Trial
from tilewright.dse.study.study_loading import load_study


@pytest.fixture
def spec(toy, tmp_path):
    return load_study(toy.write_study(tmp_path))


def trial(number, status="feasible", **metrics):
    return Trial(
        number=number,
        batch=number // 3,
        batch_size=3,
        key=str(number),
        point={},
        status=status,
        metrics=metrics,
    )


TRIALS = [
    trial(0, energy=1e-6, cycles=2000.0),
    trial(1, energy=2e-6, cycles=1000.0),
    trial(2, energy=3e-6, cycles=3000.0),  # worse than both
    trial(3, "infeasible"),
    trial(4, "violates", energy=1e-9, cycles=1.0),
]


def test_the_state_names_the_front_and_what_cannot_be_built(spec):
    state = "front 2, energy 1 µJ, 1,000 cycles, infeasible 1, over a limit 1"
    assert describe_state(spec, TRIALS) == state
    assert describe_state(spec, [*TRIALS, trial(5, "error")]) == f"{state}, INTERNAL ERRORS 1"
    assert describe_state(spec, [trial(0, "infeasible")]) == "front 0, infeasible 1"


def test_lines_count_up_in_one_column(spec, capsys):
    with ProgressLines(spec) as lines:
        lines.evaluated(1, 3)
        lines.batch(TRIALS[:3], 1.5)
        lines.batch(TRIALS, 0.0)
    first, second = capsys.readouterr().err.splitlines()
    assert first == ("batch 1:  3/72 trials (1.5 s) | front 2, energy 1 µJ, 1,000 cycles")
    assert second.startswith("batch 2:  4/72 trials (kept before) | front 2")


def test_a_batch_that_repeats_designs_has_no_line(spec, capsys):
    with ProgressLines(spec) as lines:
        lines.batch(TRIALS, 1.0)
        lines.batch([*TRIALS, replace(trial(6, energy=1e-6, cycles=2000.0), same_as=0)], 1.0)
    assert len(capsys.readouterr().err.splitlines()) == 1
