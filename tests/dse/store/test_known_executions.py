"""Executions shared by designs: the same answers and bytes with a cold and a warm store."""

from __future__ import annotations

import json
import random

import pytest
from design_files import WORKLOAD
from explore import at_night

from tilewright.dse.command.shipped import studies_folder
from tilewright.dse.models.evaluator import asking_for_bounds, asking_for_details, attempt
from tilewright.dse.models.evaluators import make_evaluator
from tilewright.dse.models.simulated import SimulatedEvaluator
from tilewright.dse.query.estimate import estimate
from tilewright.dse.run.runner import RunSettings, start_study
from tilewright.dse.study.study import StudyInput
from tilewright.dse.study.study_loading import load_study
from tilewright.mapper.searches.budget import STOP_REQUESTED
from tilewright.simulator.known.content_store import FOLDER_VARIABLE, known_answers

GRID = {"arch.variables.GridX": 2, "arch.variables.GridY": 2, "mapping.*.x": "g"}
PRICES = (
    "arch.SRAM.actions.read.energy",
    "arch.SRAM.actions.write.energy",
    "arch.Host.actions.read.energy",
    "arch.Engine.actions.compute.energy",
    "arch.Fabric.actions.hop.energy",
    "arch.Engine.leak_power",
    "arch.SRAM.leak_power",
    "arch.Host.leak_power",
)
OTHERS = {
    "arch.variables.GridX": 4,
    "arch.SRAM.size": 40 * 1024 * 8,
    "mapping.*.x": "f",
    "mapping.up.reduction": "chain",
    "machine.dispatch_to_link_cycles": 9,
    "machine.clock_hz": 1e9,
    "workload.rank_sizes.F": 16,
}


@pytest.fixture
def work(tmp_path, monkeypatch):
    (tmp_path / "work.yaml").write_text(WORKLOAD.replace("All: 8", "All: 32"))
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "known"))
    return tmp_path / "work.yaml"


def model_of(work):
    hardware = studies_folder() / "hardware" / "wafer_grid.yaml"
    return SimulatedEvaluator(
        StudyInput(str(hardware), {}), StudyInput(str(work), {}), "wse2-sdk-sim"
    )


def priced_designs(count):
    draw = random.Random(5)
    for _ in range(count):
        yield {**GRID, **{name: draw.uniform(0, 9e-12) for name in PRICES}}


def ordered(outcome):
    return json.dumps([outcome.metrics, outcome.breakdown, outcome.proof, outcome.gap])


def test_designs_that_differ_in_prices_share_one_execution(work, monkeypatch):
    model = model_of(work)
    with monkeypatch.context() as without:
        without.setenv(FOLDER_VARIABLE, "off")
        alone = [attempt(model, design) for design in priced_designs(4)]
    attempt(model, GRID)
    shared = [attempt(model, design) for design in priced_designs(4)]
    assert [each.sharing.executions for each in (*alone, *shared)] == [1] * 8
    assert [each.sharing.shared_executions for each in (*alone, *shared)] == [0] * 4 + [1] * 4
    assert [ordered(each.outcome) for each in shared] == [ordered(each.outcome) for each in alone]
    assert len({each.outcome.metrics["energy"] for each in shared}) == 4
    detailed = [attempt(model, asking_for_details(model, d)).outcome for d in priced_designs(4)]
    assert detailed == [each.outcome for each in alone]
    assert detailed[0].details["sections"][0]["timeline"]["lanes"]


def test_whatever_may_change_mappings_or_cycles_is_asked_anew(work):
    model = model_of(work)
    designs = [GRID, *({**GRID, name: value} for name, value in OTHERS.items())]
    answers = [attempt(model, design) for design in designs]
    assert [answer.sharing.shared_executions for answer in answers] == [0] * len(designs)
    assert [answer.outcome.reason for answer in answers] == [None] * len(designs)
    again = [attempt(model, design) for design in designs]
    assert [answer.sharing.shared_executions for answer in again] == [1] * len(designs)
    assert [ordered(a.outcome) for a in again] == [ordered(a.outcome) for a in answers]


def test_other_code_asks_anew(work, monkeypatch):
    model = model_of(work)
    attempt(model, GRID)
    monkeypatch.setattr("tilewright.simulator.known.code_hash.code_hash", lambda: "other")
    assert attempt(model, GRID).sharing.shared_executions == 0


@pytest.mark.parametrize("damage", [b"", b"{}", b'{"runs": 3}'])
def test_a_damaged_answer_is_computed_again(work, damage):
    model = model_of(work)
    first = attempt(model, GRID).outcome
    for path in (work.parent / "known").rglob("*.json"):
        path.write_bytes(damage)
        if damage.startswith(b"{"):  # whole, but another's
            known_answers().put(path.parent.name + path.stem, json.loads(damage))
    answer = attempt(model, GRID)
    assert answer.outcome == first
    assert answer.sharing.shared_executions == 0
    assert attempt(model, GRID).sharing.shared_executions == 1


def test_bounds_and_infeasible_designs_are_known_too(work):
    model = model_of(work)
    impossible = {**GRID, "arch.variables.GridX": 1, "mapping.*.x": "g+f"}
    tiny = {**GRID, "arch.SRAM.size": 64}
    for design in (impossible, tiny):
        first, second = attempt(model, design), attempt(model, design)
        assert first.outcome.status == second.outcome.status == "infeasible"
        assert first.outcome == second.outcome
        assert second.sharing.shared_executions == 1
    bounds = [attempt(model, asking_for_bounds(design)).outcome for design in priced_designs(3)]
    again = [attempt(model, asking_for_bounds(design)).outcome for design in priced_designs(3)]
    assert bounds == again
    assert len({bound.metrics["energy"] for bound in bounds}) == 3


def test_a_search_that_is_asked_to_stop_leaves_no_answer(work):
    model = model_of(work)
    STOP_REQUESTED.set()
    try:
        attempt(model, GRID)
    finally:
        STOP_REQUESTED.clear()
    assert attempt(model, GRID).sharing.shared_executions == 0
    assert attempt(model, GRID).sharing.shared_executions == 1


def test_an_estimate_measures_a_new_design(work):
    (work.parent / "study.yaml").write_text(STUDY)
    spec = load_study(work.parent / "study.yaml")
    attempt(make_evaluator(spec), spec.baselines[0].point)
    found = estimate(spec, 1)
    assert found.sample.outcome.status == "feasible"
    assert found.sample.sharing.shared_executions == found.sample.sharing.einsums == 0
    again = attempt(make_evaluator(spec), spec.baselines[0].point)
    assert again.sharing.shared_executions == 1


STUDY = """\
name: prices
question: Which memory is the best?
arch: {file: wafer_grid}
workload: {file: work.yaml}
model: simulated
machine: wse2-sdk-sim
objectives: [{metric: energy}, {metric: cycles}]
space:
  arch.variables.GridX: {values: [1, 2]}
  arch.SRAM.actions.read.energy: {values: [1e-12, 2e-12, 5e-12]}
search: {sampler: random, trials: 6, batch: 2, bounds_first: true}
baselines:
- name: small
  values: {arch.variables.GridX: 1, arch.SRAM.actions.read.energy: 5e-12}
"""


@pytest.mark.parametrize("workers", [1, *at_night(2)])
def test_a_study_gives_the_same_bytes_with_a_cold_and_a_warm_store(work, monkeypatch, workers):
    folder = work.parent
    (folder / "study.yaml").write_text(STUDY)
    runs = {"off": ("off", 1), "cold": ("a", workers), "warm": ("a", workers)}
    rates = {}
    for name, (store, workers) in runs.items():
        monkeypatch.setenv(FOLDER_VARIABLE, store if store == "off" else str(folder / store))
        spec = load_study(folder / "study.yaml")
        run = start_study(spec, folder / name, RunSettings(workers)).run
        lines = (run.path / "times.jsonl").read_text().splitlines()
        shared = [json.loads(line)["shared"] for line in lines]
        rates[name] = [
            sum(counts[key] for counts in shared) for key in ("executions", "shared_executions")
        ]
    parts = ("trials.jsonl", "front.json", "details")
    contents = [
        [
            (path.relative_to(folder / name), path.read_bytes())
            for part in parts
            for path in sorted([folder / name / part, *(folder / name / part).rglob("*")])
            if path.is_file()
        ]
        for name in runs
    ]
    assert all(content == contents[0] for content in contents)
    assert len(contents[0]) > 2
    executed = rates["off"][0]
    assert rates["off"] == [executed, 0]
    assert rates["cold"][0] == executed
    if workers > 1:
        return  # both may execute what neither knows yet
    assert rates["cold"] == [executed, executed - 2]
    assert rates["warm"] == [executed, executed]
    report = (folder / "warm" / "report.html").read_text()
    assert f"100 % of {executed} executions known from other designs" in report
