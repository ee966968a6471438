"""The simulated model: executed, checked, described; defects are not the design's fault."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from design_files import WORKLOAD, run

from tilewright.arch.errors import TilewrightError
from tilewright.dse.command.shipped import studies_folder
from tilewright.dse.models.evaluators import METRICS
from tilewright.dse.models.simulated import SimulatedEvaluator
from tilewright.dse.study.study import StudyInput
from tilewright.simulator import cost_model

GRID = {
    "arch.variables.GridX": 2,
    "arch.variables.GridY": 2,
    "mapping.*.shard_x": "g",
    "mapping.*.shard_y": "f",
    "mapping.up.buffers": 2,
}


def grid_model(files):
    hardware = studies_folder() / "hardware" / "wafer_grid.yaml"
    return SimulatedEvaluator(StudyInput(str(hardware), {}), files[1], "wse2-sdk-sim")


def test_simulated_model_executes_and_describes(files):
    Path(files[1].file).write_text(WORKLOAD.replace("All: 8", "All: 32"))
    outcome = grid_model(files).evaluate(GRID)
    assert set(outcome.metrics) == set(METRICS["simulated"])
    assert outcome.metrics["elements"] == 4
    # 4·8·16 multiply-accumulates on 4 engines cannot take less than 128 cycles.
    assert outcome.metrics["cycles"] >= 128
    assert 0 < outcome.metrics["utilization"] <= 1
    (section,) = outcome.details["sections"]
    assert section["facts"]["result equals numpy.einsum"] == "yes"
    busy = section["maps"]["busy"]["values"]
    assert (len(busy), len(busy[0])) == (2, 2)
    assert section["timeline"]["lanes"]
    assert sum(section["energy_by"].values()) == pytest.approx(outcome.metrics["energy"])
    json.dumps(outcome.details, allow_nan=False)


def test_a_knob_of_the_machine_changes_the_time(files):
    Path(files[1].file).write_text(WORKLOAD.replace("All: 8", "All: 32"))
    model = grid_model(files)
    near = model.evaluate({**GRID, "machine.dispatch_to_link_cycles": 3}).metrics["cycles"]
    far = model.evaluate({**GRID, "machine.dispatch_to_link_cycles": 9}).metrics["cycles"]
    assert far > near


def test_a_grid_that_does_not_divide_is_infeasible_with_its_reason(files):
    with pytest.raises(TilewrightError, match="does not divide"):
        grid_model(files).evaluate({**GRID, "arch.variables.GridX": 3})


ENGINE = re.compile(rb'"engine": "[^"]*"')


def test_a_study_by_either_engine(tmp_path, monkeypatch):
    """Records, front and design details are the same bytes, but for the name of the engine."""
    monkeypatch.chdir(tmp_path)
    small = ["--trials", "6", "--set", "SCALE=64", "--set", "TOKENS=2", "--workers", "1"]
    runners = {"fast": cost_model.execute_by_fast, "reference": cost_model.execute_by_reference}
    for name, runner in runners.items():
        monkeypatch.setitem(cost_model.RUNNERS, "reference", runner)
        done = run("study", "run", "wafer_matvec", *small, "--out", name)
        assert done.exit_code == 0, done.output
    mine, theirs = (files_of(tmp_path / name) for name in ("fast", "reference"))
    engines = [set(ENGINE.findall(b"".join(found.values()))) for found in (mine, theirs)]
    assert b'"engine": "fast, with certificate"' in engines[0]
    assert engines[1] == {b'"engine": "reference (asked for)"'}
    assert {name: ENGINE.sub(b"", text) for name, text in mine.items()} == {
        name: ENGINE.sub(b"", text) for name, text in theirs.items()
    }


def files_of(folder):
    names = [folder / "trials.jsonl", folder / "front.json", *(folder / "details").iterdir()]
    return {path.name: path.read_bytes() for path in names}


def test_a_program_that_does_not_run_is_our_defect_not_an_infeasible_design(files, monkeypatch):
    from tilewright.dse.models.evaluator import attempt
    from tilewright.simulator.isa.machine_errors import DeadlockError

    def stuck(self, candidate):
        raise DeadlockError("deadlock", cycle=3, waits=("a waits for b",))

    Path(files[1].file).write_text(WORKLOAD.replace("All: 8", "All: 32"))
    monkeypatch.setattr("tilewright.simulator.cost_model.SimulatedCostModel.score", stuck)
    outcome = attempt(grid_model(files), GRID).outcome
    assert outcome.status == "error"
    assert outcome.reason.startswith("internal error: LoweringDefect: up: deadlock")
