"""The simulated model: executed, checked, described; defects are not the design's fault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from design_files import WORKLOAD

from tilewright.arch.errors import TilewrightError
from tilewright.dse.command.shipped import studies_folder
from tilewright.dse.models.evaluator import asking_for_bounds
from tilewright.dse.models.evaluators import BOUNDED, METRICS
from tilewright.dse.models.simulated import SimulatedEvaluator
from tilewright.dse.study.study import StudyInput
from tilewright.mapper.workload.errors import InfeasibleMapping

GRID = {
    "arch.variables.GridX": 2,
    "arch.variables.GridY": 2,
    "mapping.*.x": "g",
    "mapping.*.y": "f",
    "mapping.up.buffers": 2,
}


def grid_model(files):
    hardware = studies_folder() / "hardware" / "wafer_grid.yaml"
    return SimulatedEvaluator(StudyInput(str(hardware), {}), files[1], "wse2-sdk-sim")


def test_simulated_model_executes_and_describes(files):
    Path(files[1].file).write_text(WORKLOAD.replace("All: 8", "All: 32"))
    buffers_free = {name: value for name, value in GRID.items() if name != "mapping.up.buffers"}
    outcome = grid_model(files).evaluate(buffers_free)
    assert set(outcome.metrics) == set(METRICS["simulated"])
    assert outcome.metrics["elements"] == 4
    # 4·8·16 multiply-accumulates on 4 engines cannot take less than 128 cycles.
    assert outcome.metrics["cycles"] >= 128
    assert 0 < outcome.metrics["utilization"] <= 1
    assert "executed" in outcome.details["sections"][0]["facts"]["search"]
    assert (outcome.proof, outcome.gap) == ("optimal", 0)
    (section,) = outcome.details["sections"]
    assert section["facts"]["result equals numpy"] == "yes"
    busy = section["maps"]["busy"]["values"]
    assert (len(busy), len(busy[0])) == (2, 2)
    assert section["timeline"]["lanes"]
    assert sum(section["energy_by"].values()) == pytest.approx(outcome.metrics["energy"])
    json.dumps(outcome.details, allow_nan=False)


def test_a_search_with_few_executions_says_how_far_it_may_be_from_the_best(files, monkeypatch):
    monkeypatch.setattr("tilewright.dse.models.simulated.EXECUTIONS", 1)
    Path(files[1].file).write_text(WORKLOAD.replace("All: 8", "All: 32"))
    buffers_free = {name: value for name, value in GRID.items() if name != "mapping.up.buffers"}
    outcome = grid_model(files).evaluate(buffers_free)
    assert outcome.proof == "bounded"
    assert 0 < outcome.gap < 0.2


def test_a_knob_of_the_machine_changes_the_time(files):
    Path(files[1].file).write_text(WORKLOAD.replace("All: 8", "All: 32"))
    model = grid_model(files)
    near = model.evaluate({**GRID, "machine.dispatch_to_link_cycles": 3}).metrics["cycles"]
    far = model.evaluate({**GRID, "machine.dispatch_to_link_cycles": 9}).metrics["cycles"]
    assert far > near


def test_constraints_that_no_mapping_obeys_are_infeasible_with_the_reason(files):
    Path(files[1].file).write_text(WORKLOAD.replace("All: 8", "All: 32"))
    with pytest.raises(TilewrightError, match="no shares of up obey"):
        grid_model(files).evaluate({**GRID, "arch.variables.GridX": 1})


def test_a_machine_that_runs_no_program_is_infeasible_without_a_search(files, monkeypatch):
    name = "tilewright.simulator.search.grid_mapping.map_on_grid"
    monkeypatch.setattr(name, lambda *_: pytest.fail("no mapping is tried"))
    with pytest.raises(InfeasibleMapping, match="must exceed hop_cycles"):
        grid_model(files).evaluate({**GRID, "machine.hop_cycles": 3})


def test_a_program_that_does_not_run_is_our_defect_not_an_infeasible_design(files, monkeypatch):
    from tilewright.dse.models.evaluator import attempt
    from tilewright.simulator.isa.machine_errors import DeadlockError

    def stuck(*_, **__):
        raise DeadlockError("deadlock", cycle=3, waits=("a waits for b",))

    Path(files[1].file).write_text(WORKLOAD.replace("All: 8", "All: 32"))
    monkeypatch.setattr("tilewright.simulator.execution.einsum_execution.Machine.run", stuck)
    outcome = attempt(grid_model(files), GRID).outcome
    assert outcome.status == "error"
    assert outcome.reason.startswith("internal error: LoweringDefect: deadlock")


def test_lower_bounds_of_a_design_lie_below_its_execution(files):
    Path(files[1].file).write_text(WORKLOAD.replace("All: 8", "All: 32"))
    model = grid_model(files)
    for columns, x in ((1, "free"), (2, "g"), (4, "f")):
        point = {"arch.variables.GridX": columns, "arch.variables.GridY": 2, "mapping.*.x": x}
        bounds = model.evaluate(asking_for_bounds(point)).metrics
        metrics = model.evaluate(point).metrics
        assert set(bounds) == set(BOUNDED["simulated"])
        assert bounds["elements"] == metrics["elements"]
        assert all(0 < bounds[name] <= metrics[name] for name in bounds)
        assert bounds["cycles"] > metrics["cycles"] / 4
