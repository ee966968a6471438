"""The two models behind studies, on small designs: they give what their parts give."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tilewright.arch.errors import TilewrightError
from tilewright.dse.command.cli import cli
from tilewright.dse.command.shipped import studies_folder
from tilewright.dse.models.analytical import AnalyticalEvaluator, branches_of
from tilewright.dse.models.evaluators import METRICS
from tilewright.dse.models.simulated import SimulatedEvaluator
from tilewright.dse.study.study import StudyInput
from tilewright.simulator import cost_model

ARCH = """\
arch:
  variables: {Lanes: 4}
  nodes:
  - !Memory
    name: Main
    size: inf
    leak_power: 0
    area: 0
    tensors: {keep: All}
    actions:
    - {name: read, energy: 20e-12, latency: 1e-9}
    - {name: write, energy: 20e-12, latency: 1e-9}
  - !Memory
    name: Buffer
    size: 64 * 8
    leak_power: 0
    area: 1e-6
    tensors: {keep: input}
    actions:
    - {name: read, energy: 1e-12, latency: 0}
    - {name: write, energy: 1e-12, latency: 0}
  - !Container
    name: Array
    spatial:
    - {name: X, fanout: Lanes, may_reuse: input}
  - !Compute
    name: MAC
    leak_power: 0
    area: 1e-8
    actions:
    - {name: compute, energy: 0.1e-12, latency: 1e-9}
"""
WORKLOAD = """\
workload:
  rank_sizes: {T: 4, F: 8, G: 16}
  bits_per_value: {All: 8}
  einsums:
  - einsum: "up[t, f] = tokens[t, g] * WU[g, f]"
    renames: {input: tokens, weight: WU, output: up}
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    (tmp_path / "arch.yaml").write_text(ARCH)
    (tmp_path / "work.yaml").write_text(WORKLOAD)
    monkeypatch.chdir(tmp_path)
    return StudyInput(str(tmp_path / "arch.yaml"), {}), StudyInput(str(tmp_path / "work.yaml"), {})


def run(*arguments):
    return CliRunner().invoke(cli, list(arguments))


def test_analytical_model_scores_the_best_mapping(files):
    from tilewright.arch.spec.load import load_arch
    from tilewright.mapper.model.evaluation import evaluate
    from tilewright.mapper.searches.api import search

    model = AnalyticalEvaluator(*files, "energy")
    few = model.evaluate({"arch.variables.Lanes": 1})
    many = model.evaluate({"arch.variables.Lanes": 8})
    assert set(few.metrics) == set(METRICS["analytical"])
    assert many.metrics["area"] > few.metrics["area"]
    found = search(load_arch(files[0].file), files[1].file, objective="energy")
    again = evaluate(files[0].file, files[1].file, found.best.mapping)
    assert model.evaluate({}).metrics["energy"] == again.energy
    section = model.evaluate({}).details["sections"][0]
    assert section["einsum"] == "up"
    assert sum(section["energy_by"].values()) == pytest.approx(again.energy)
    assert "compute up" in section["loop_nest"]
    json.dumps(many.details, allow_nan=False)


def test_analytical_model_says_why_nothing_fits(files):
    with pytest.raises(TilewrightError, match="Buffer"):
        AnalyticalEvaluator(*files, "energy").evaluate({"arch.Buffer.size": 1})


def test_map_and_evaluate_agree(files):
    done = run(
        "map", "--arch", "arch.yaml", "--workload", "work.yaml", "--objective", "edp", "--json"
    )
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    assert {"value", "energy", "latency", "edp", "certificate", "mapping", "seconds"} <= set(answer)
    assert {"kind", "lower_bound", "gap"} <= set(answer["certificate"])
    assert answer["value"] == answer["edp"]
    Path("best.yaml").write_text(answer["mapping"])
    score = json.loads(
        run("evaluate", "--arch", "arch.yaml", "--workload", "work.yaml", "--mapping", "best.yaml",
            "--json").stdout
    )  # fmt: skip
    assert {name: score[name] for name in ("energy", "latency", "edp")} == {
        name: answer[name] for name in ("energy", "latency", "edp")
    }
    text = run(
        "evaluate", "--arch", "arch.yaml", "--workload", "work.yaml", "--mapping", "best.yaml"
    )
    assert "energy by part:" in text.stdout
    assert "compute up" in run("map", "--arch", "arch.yaml", "--workload", "work.yaml").stdout


def test_a_saved_mapping_costs_what_was_found(files):
    place = ("--arch", "arch.yaml", "--workload", "work.yaml")
    done = run("map", *place, "--save", "saved.yaml", "--json")
    answer = json.loads(done.stdout)
    assert Path("saved.yaml").read_text() == answer["mapping"]
    score = json.loads(run("evaluate", *place, "--mapping", "saved.yaml", "--json").stdout)
    assert score["energy"] == answer["energy"] == answer["value"]
    assert json.loads(run("validate", "saved.yaml", "--json").stdout)[0]["kind"] == "mapping"
    help_text = " ".join(run("map", "--help").stdout.split())
    assert "--save writes it as a mapping file" in help_text
    assert "--json prints one JSON document" in help_text


CHAIN = """\
workload:
  rank_sizes: {M: 4, N0: 4, N1: 4}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "T1[m, n1] = T0[m, n0] * W0[n0, n1]", renames: {input: T0, weight: W0, output: T1}}
  - {einsum: "T2[m, n0] = T1[m, n1] * W1[n1, n0]", renames: {input: T1, weight: W1, output: T2}}
"""


def test_evaluate_prints_the_notes_of_the_score(files):
    place = ("--arch", "arch.yaml", "--workload", "work.yaml")
    assert run("map", *place, "--save", "one.yaml").exit_code == 0
    assert "note:" not in run("evaluate", *place, "--mapping", "one.yaml").stdout
    Path("work.yaml").write_text(CHAIN)
    done = run("map", *place, "--save", "two.yaml")
    assert done.exit_code == 0, done.stderr
    text = Path("two.yaml").read_text()
    assert "!Sequential" in text
    Path("two.yaml").write_text(text.replace("!Sequential", "!Pipeline"))
    given = ("evaluate", *place, "--mapping", "two.yaml")
    notes = json.loads(run(*given, "--json").stdout)["notes"]
    assert notes
    lines = run(*given).stdout.splitlines()
    assert [line for line in lines if line.startswith("note: ")] == [f"note: {n}" for n in notes]


def test_set_reaches_architecture_and_workload(files):
    def area(lanes):
        done = run("map", "--arch", "arch.yaml", "--workload", "work.yaml", "--json",
                   "--set", f"Lanes={lanes}")  # fmt: skip
        return json.loads(done.stdout)["area"]

    assert area(8) > area(1)


def test_branches_of_a_sequential_share_what_is_above():
    from tilewright.mapper.mapping.mapping import Compute, Mapping, Sequential, Storage, Temporal

    above, loop = Storage(("A",), "Main"), Temporal("m", 1)
    one, two = Compute("E1", "MAC"), Compute("E2", "MAC")
    nested = Mapping((above, Sequential(((loop, one), (two,)))))
    assert list(branches_of(nested)) == [
        ("E1", Mapping((above, loop, one))),
        ("E2", Mapping((above, two))),
    ]


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


def test_the_shipped_grid_study_in_small(tmp_path, monkeypatch):
    """Any number of workers, the same bytes; `simulate` gives the metrics of the trial again."""
    monkeypatch.chdir(tmp_path)
    small = ["--trials", "10", "--set", "SCALE=64", "--set", "TOKENS=2", "--set", "search.batch=5"]
    for workers in ("1", "2"):
        done = run("study", "run", "wafer_matvec", *small, "--workers", workers, "--out", workers)
        assert done.exit_code == 0, done.output
    logs = [(tmp_path / workers / "trials.jsonl").read_bytes() for workers in ("1", "2")]
    assert logs[0] == logs[1]
    assert b'"status": "error"' not in logs[0]
    best = json.loads((tmp_path / "1" / "front.json").read_text())["front"][0]
    again = json.loads(run("simulate", "1", "--json", "--out", "timeline.json").stdout)
    assert (again["trial"], again["metrics"]) == (best["number"], best["metrics"])
    assert all(einsum["checked"] for einsum in again["einsums"])
    events = json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X"}
    assert run("simulate", "1", "--trial", "99").exit_code == 2
    _check_changed_knobs(best)


ENGINE = re.compile(rb'"engine": "[^"]*"')


def test_a_study_by_either_engine(tmp_path, monkeypatch):
    """Records, front and design details are the same bytes, but for the name of the engine."""
    monkeypatch.chdir(tmp_path)
    small = ["--trials", "6", "--set", "SCALE=64", "--set", "TOKENS=2", "--workers", "1"]
    runners = {"fast": cost_model.execute, "reference": cost_model.execute_by_reference}
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


def _check_changed_knobs(best):
    """`simulate --set` executes the design with other knobs, and only with knobs that it has."""
    point = best["point"]
    other = 4 if point["arch.variables.GridX"] == 2 else 2
    key = "arch.variables.GridX"
    done = run("simulate", "1", "--json", "--set", f"{key}={other}")
    changed = json.loads(done.stdout)
    assert changed["point"] == {**point, key: other}
    assert changed["metrics"]["elements"] == other * point["arch.variables.GridY"]
    assert all(einsum["checked"] for einsum in changed["einsums"])
    same = json.loads(run("simulate", "1", "--json", "--set", f"{key}={point[key]}").stdout)
    assert same["metrics"] == best["metrics"]
    wrong = run("simulate", "1", "--set", "mapping.key.tlie=4")
    assert wrong.exit_code == 2
    assert "did you mean mapping.key.tile?" in wrong.stderr
    assert run("simulate", "1", "--set", "mapping.key.tile=abc").exit_code == 2


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("machine: wse2-sdk-sim", "machine: wse9", "wse9"),
        ("space:", "space:\n  mapping.upp.tile: {values: [1]}", "knob mapping.upp"),
        ("space:", "space:\n  mapping.up.tiles: {values: [1]}", "names no choice of a mapping"),
        ("space:", "space:\n  machine.hop_cicles: {values: [1]}", "hop_cicles"),
        ("space:", "space:\n  arch.SRAM.sise: {values: [1]}", "SRAM has no field sise"),
    ],
)
def test_a_study_is_checked_before_its_first_trial(tmp_path, monkeypatch, old, new, words):
    monkeypatch.chdir(tmp_path)
    text = (studies_folder() / "wafer_matvec" / "study.yaml").read_text().split("baselines:")[0]
    assert old in text
    (tmp_path / "study.yaml").write_text(text.replace(old, new, 1))
    done = run("study", "run", "study.yaml", "--workers", "1")
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert not (tmp_path / "runs").exists()


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


def test_map_fuses_and_a_fused_mapping_costs_what_was_found(files):
    Path("work.yaml").write_text(CHAIN)
    text = ARCH.replace("keep: All", "keep: ~Intermediates, may_keep: All")
    Path("arch.yaml").write_text(text.replace("keep: input", "keep: ~Main, may_keep: All"))
    place = ("--arch", "arch.yaml", "--workload", "work.yaml")
    answer = json.loads(run("map", *place, "--save", "fused.yaml", "--json").stdout)
    assert answer["on_chip"] == ["T1"]
    assert answer["notes"] == []
    assert [one["mapping"] for one in answer["front"]] == [answer["mapping"]]
    score = json.loads(run("evaluate", *place, "--mapping", "fused.yaml", "--json").stdout)
    assert [score[name] for name in ("energy", "latency")] == [
        answer[name] for name in ("energy", "latency")
    ]
    assert "kept on chip between Einsums: T1" in run("map", *place).stdout
    alone = json.loads(run("map", *place, "--no-fusion", "--json").stdout)
    assert alone["value"] > answer["value"]
    assert alone["certificate"]["scope"].startswith("unfused mappings")
    refused = run("map", *place, "--front", "energy,speed")
    assert refused.exit_code == 2
    assert "no such metric" in refused.stderr
