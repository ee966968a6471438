"""Two fidelities: lower bounds first, then the machine where a design may still be on the front."""

from __future__ import annotations

import json
import shutil

import pytest

from tilewright.arch.errors import SpecError
from tilewright.dse.models.evaluator import FIDELITY, Outcome
from tilewright.dse.report.report import fidelity_of
from tilewright.dse.run.runner import RunSettings, resume_study, start_study
from tilewright.dse.study.study_loading import load_study


def bounded_study(toy):
    text = toy.STUDY.replace("- {metric: sram_bits, max: 48 * 1024 * 8}\n", "")
    text = text.replace("constraints:\n", "").replace("population: 16", "population: 16, BOUNDS")
    return text.replace("sampler: nsga2", "sampler: random")


def bounded_model(toy, executed):
    class Bounded(toy.ToyModel):
        """Bounds that lie 3 % below the figures."""

        def evaluate(self, point):
            outcome = super().evaluate(point)
            if FIDELITY in point:
                names = ("cycles", "latency", "energy", "edp")
                return Outcome({name: 0.97 * outcome.metrics[name] for name in names})
            executed.append(tuple(point.items()))
            return outcome

    return Bounded()


def run(toy, folder, bounds_first, executed):
    text = bounded_study(toy).replace("BOUNDS", f"bounds_first: {str(bounds_first).lower()}")
    path = toy.write_study(folder, text)
    how = RunSettings(1, None, bounded_model(toy, executed))
    spec = load_study(path)
    return spec, start_study(spec, folder / "run", how, study_file=path)


def test_the_front_is_that_of_executing_every_design(toy, tmp_path):
    executed, all_executed = [], []
    spec, result = run(toy, tmp_path / "a", True, executed)
    _, whole = run(toy, tmp_path / "b", False, all_executed)
    points = [[json.dumps(dict(d["point"])) for d in r.front["front"]] for r in (result, whole)]
    assert sorted(points[0]) == sorted(points[1])
    excluded = [t for t in result.trials if t.status == "excluded" and t.same_as is None]
    assert len(excluded) >= 3
    assert len(executed) == len(set(executed)) < len(all_executed)
    assert {tuple(t.point.items()) for t in excluded}.isdisjoint(executed)
    feasible = [t for t in result.trials if t.status == "feasible"]
    assert all(t.metrics["bound.cycles"] <= t.metrics["cycles"] for t in feasible)
    text = fidelity_of(spec, result.trials)
    assert f"{len(excluded)} by lower bounds alone" in text
    assert "energy by 3.09 to 3.09 %" in text
    report = (tmp_path / "a" / "run" / "report.html").read_text()
    assert text.replace("&", "&amp;") in report
    assert "bounds only" in report


def test_an_interrupted_run_excludes_the_same_designs(toy, tmp_path):
    _, whole = run(toy, tmp_path / "whole", True, [])
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    log = tmp_path / "cut" / "run" / "trials.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    begun = sum(trial.batch < 4 for trial in whole.trials)
    log.write_bytes(b"".join(lines[:begun]) + lines[begun][:40])
    resume_study(tmp_path / "cut" / "run", RunSettings(1, None, bounded_model(toy, [])))
    assert log.read_bytes() == b"".join(lines)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{metric: energy}", "{metric: sram_bits}", "no lower bound of sram_bits"),
        ("{metric: energy}", "{metric: cycles / energy}", "no lower bound of cycles / energy"),
        ("space:", "constraints: [hops <= 4]\nspace:", "no lower bound of hops"),
        ("model: simulated", "model: analytical", "the analytical model executes nothing"),
    ],
)
def test_what_has_no_bounds_is_refused(toy, tmp_path, old, new, message):
    text = bounded_study(toy).replace("BOUNDS", "bounds_first: true").replace(old, new)
    if "analytical" in new:  # neither knobs of mappings nor cycles
        text = text.replace("mapping.up.reduction", "arch.Fabric.area")
        text = text.replace("mapping.up.tile", "arch.SRAM.area").replace("cycles}", "latency}")
    with pytest.raises(SpecError, match=message):
        load_study(toy.write_study(tmp_path, text))
