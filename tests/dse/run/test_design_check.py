"""Studies of a model that knows some designs that cannot be built before it evaluates them."""

from __future__ import annotations

import json

import pytest
from design_files import log_of

from tilewright.arch.errors import TilewrightError
from tilewright.dse.command.shipped import shipped_studies
from tilewright.dse.models.evaluator import Outcome, is_check
from tilewright.dse.report.conclusion import conclusion
from tilewright.dse.report.reasons import group_reasons
from tilewright.dse.run.record import refused_alone
from tilewright.dse.run.runner import RunSettings, resume_study, start_study
from tilewright.dse.study.study_loading import load_study

SAMPLERS = ["nsga2", "tpe", "bottleneck", "random", "qmc", "grid", "optuna.samplers.RandomSampler"]
SMALL = {
    "SCALE": 128,
    "arch.values": {"SRAM.size": 8 * 6 * 1024},
    "search.trials": 6,
    "search.batch": 3,
    "baselines": [],
    "space": {
        "arch.variables.GridX": {"values": [2, 4, 8]},
        "arch.variables.GridY": {"values": [2, 4, 8]},
        "mapping.*.tile": {"values": ["none", "free"]},
    },
}
ROWS = "arch.variables.GridY"


def checked_model(toy, log=None):
    """Return the toy model with a check: rows over which its sum does not divide cannot be built.

    Of fewer than three rows the check is broken, which refuses nothing. `log`: gets the designs
    that are evaluated.
    """

    class Checked(toy.ToyModel):
        has_check = True

        def evaluate(self, point):
            if is_check(point):
                if point[ROWS] < 3:
                    raise RuntimeError("a broken check")
                if 4096 % point[ROWS]:
                    raise TilewrightError(f"k = 4096 does not divide over {point[ROWS]} rows")
                return Outcome()
            if log is not None:
                log.append(point)
            return super().evaluate(point)

    return Checked()


def run(toy, folder, settings, log=None):
    path = toy.write_study(folder)
    how = RunSettings(1, None, checked_model(toy, log))
    return start_study(load_study(path, {"search.trials": 24, **settings}), folder / "run", how)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_resumed_run_draws_the_same_designs(toy, tmp_path, sampler):
    log = []
    result = run(toy, tmp_path, {"search.sampler": sampler}, log=log)
    assert len(result.trials) >= 24
    assert all(trial.status != "infeasible" for trial in result.trials)
    assert not any(4096 % point[ROWS] for point in log)
    assert refused_alone(result.trials)
    whole = log_of(tmp_path)
    for kept in (1, 2):
        lines = whole.splitlines(keepends=True)[: 8 * kept]
        (tmp_path / "run/trials.jsonl").write_bytes(b"".join(lines))
        resume_study(tmp_path / "run", RunSettings(evaluator=checked_model(toy)))
        assert log_of(tmp_path) == whole


def test_the_number_of_workers_changes_nothing(tmp_path):
    """Of the model that executes designs, whose grids of few elements have too little memory."""
    spec = load_study(shipped_studies()["wafer_matvec"], SMALL)
    runs = [start_study(spec, tmp_path / str(n) / "run", RunSettings(workers=n)) for n in (1, 2)]
    assert log_of(tmp_path / "1") == log_of(tmp_path / "2")
    assert refused_alone(runs[0].trials)
    assert all(trial.status == "feasible" for trial in runs[0].trials)


def test_the_report_says_what_was_drawn_again(toy, tmp_path):
    result = run(toy, tmp_path, {})
    proposals = sum(len(trial.refused) for trial in result.trials)
    words = " ".join(conclusion(result.spec, result.trials).split())
    assert f"{proposals} further proposals cannot be built and were drawn again" in words
    groups = [g for g in group_reasons(result.trials) if g.status == "refused"]
    assert sum(group.count for group in groups) == len(refused_alone(result.trials))
    page = (tmp_path / "run/report.html").read_text(encoding="utf-8")
    assert "further proposals cannot be built" in page
    assert "not tried: others were drawn" in page


def test_a_baseline_that_cannot_be_built_is_tried_and_counts_once(toy, tmp_path):
    path = toy.write_study(tmp_path, toy.STUDY.replace("GridY: 1\n", "GridY: 3\n"))
    settings = {"search.sampler": "grid", "search.trials": 900, "search.batch": 50}
    spec = load_study(path, settings)
    result = start_study(spec, tmp_path / "run", RunSettings(1, None, checked_model(toy)))
    first, *others = result.trials
    assert (first.status, first.baseline) == ("infeasible", "single element row")
    assert all(trial.status != "infeasible" for trial in others)
    tried = {json.dumps(dict(trial.point)) for trial in result.trials}
    assert len(tried) + len(refused_alone(result.trials)) == spec.space.size
    assert result.front["complete"]


def test_islands_agree_on_what_is_drawn_again(toy, tmp_path):
    result = run(toy, tmp_path, {"search.islands": 2})
    assert refused_alone(result.trials)
    assert all(trial.status != "infeasible" for trial in result.trials)
