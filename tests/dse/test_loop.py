"""The loop gives the same bytes for any number of workers, hash seed, and cut of the log."""

from __future__ import annotations

import json

import pytest

from tilewright.arch.errors import SpecError
from tilewright.dse.models.evaluator import Outcome
from tilewright.dse.run.rundir import RunError
from tilewright.dse.run.runner import Execution, resume_study, start_study
from tilewright.dse.study.study_loading import load_study

SAMPLERS = ["nsga2", "tpe", "random", "grid", "qmc"]


def run_here(toy, folder, settings=None, evaluator=None):
    path = toy.write_study(folder)
    spec = load_study(path, settings)
    how = Execution(evaluator=evaluator or toy.ToyModel())
    return start_study(spec, folder / "run", how, study_file=path, settings=settings)


def log_of(folder):
    return (folder / "run" / "trials.jsonl").read_bytes()


@pytest.mark.parametrize("sampler", ["nsga2", "tpe"])
def test_workers_and_hash_seed_do_not_matter(toy_process, tmp_path, sampler):
    logs, fronts = set(), set()
    for name, workers, seed in (("a", 1, "0"), ("b", 2, "1")):
        folder = tmp_path / name
        code = toy_process(folder, "start", workers, sampler, env={"PYTHONHASHSEED": seed})
        assert code == 0
        logs.add(log_of(folder))
        fronts.add((folder / "run" / "front.json").read_bytes())
    assert len(logs) == len(fronts) == 1


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_resume_after_any_cut_gives_the_same_bytes(toy, tmp_path, sampler):
    run_here(toy, tmp_path, {"search.sampler": sampler, "search.trials": 40})
    whole = log_of(tmp_path)
    front = (tmp_path / "run" / "front.json").read_bytes()
    line_ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    for cut in (0, 7, line_ends[7], line_ends[12], line_ends[23] - 1, len(whole) - 1, len(whole)):
        (tmp_path / "run" / "trials.jsonl").write_bytes(whole[:cut])
        resume_study(tmp_path / "run", Execution(evaluator=toy.ToyModel()))
        assert log_of(tmp_path) == whole, cut
        assert (tmp_path / "run" / "front.json").read_bytes() == front


def test_details_that_a_killed_process_lost_are_made_again(toy, tmp_path):
    result = run_here(toy, tmp_path)
    details = tmp_path / "run" / "details"
    stored = {path.name: path.read_bytes() for path in details.iterdir()}
    assert set(stored) >= {f"{design['number']:06d}.json" for design in result.front["front"]}
    for path in details.iterdir():
        path.unlink()
    resume_study(tmp_path / "run", Execution(evaluator=toy.ToyModel()))
    assert {path.name: path.read_bytes() for path in details.iterdir()} == stored


def test_each_design_is_evaluated_once(toy, tmp_path):
    seen = []

    class Counting(toy.ToyModel):
        def evaluate(self, point):
            seen.append(tuple(point.items()))
            return super().evaluate(point)

    result = run_here(toy, tmp_path, {"search.sampler": "tpe"}, Counting())
    assert len(seen) == len(set(seen)) == result.front["evaluated"]
    copies = [trial for trial in result.trials if trial.same_as is not None]
    assert copies, "this seed has duplicates; the test needs some"
    for trial in copies:
        assert result.trials[trial.same_as].point == trial.point
        assert result.trials[trial.same_as].metrics == trial.metrics


def test_baseline_is_tried_first_and_limits_are_recorded(toy, tmp_path):
    result = run_here(toy, tmp_path)
    first = result.trials[0]
    assert (first.baseline, first.status) == ("single element row", "violates")
    assert first.violations == {"sram_bits <= 393216": first.metrics["sram_bits"] - 393216}
    reasons = {trial.reason for trial in result.trials if trial.status == "infeasible"}
    assert all("does not divide over" in reason for reason in reasons)


def test_no_clock_in_the_log(toy, tmp_path):
    run_here(toy, tmp_path)
    for line in log_of(tmp_path).decode().splitlines():
        assert not {"seconds", "time", "started", "ended"} & set(json.loads(line))
    times = (tmp_path / "run" / "times.jsonl").read_text().splitlines()
    assert len(times) == 9
    assert json.loads(times[0])["seconds"] > 0


def test_a_defect_of_the_model_is_recorded_as_one(toy, tmp_path):
    class Broken(toy.ToyModel):
        def evaluate(self, point):
            if point["mapping.up.reduction"] == "tree":
                return 1 / 0
            return super().evaluate(point)

    result = run_here(toy, tmp_path, None, Broken())
    wrong = [trial for trial in result.trials if trial.status == "error"]
    assert wrong
    assert wrong[0].reason.startswith("internal error: ZeroDivisionError")
    assert result.ending == "done"


def test_nothing_feasible(toy, tmp_path):
    class Never(toy.ToyModel):
        def evaluate(self, point):
            raise SpecError("it never fits")

    result = run_here(toy, tmp_path, {"search.trials": 10}, Never())
    assert result.ending == "nothing feasible"
    assert result.front["status"] == {"infeasible": 10}
    assert "it never fits" in (tmp_path / "run" / "report.html").read_text()


def test_metrics_that_are_not_numbers_are_no_result(toy, tmp_path):
    class Infinite(toy.ToyModel):
        def evaluate(self, point):
            found = super().evaluate(point)
            return Outcome({**found.metrics, "energy": float("inf")})

    result = run_here(toy, tmp_path, {"search.trials": 8}, Infinite())
    assert {t.status for t in result.trials} == {"infeasible"}


def test_an_objective_that_the_model_does_not_give(toy, tmp_path):
    class Silent(toy.ToyModel):
        def evaluate(self, point):
            return Outcome({"cycles": 1.0})

    with pytest.raises(SpecError, match="gives no metric `energy`"):
        run_here(toy, tmp_path, None, Silent())


def test_a_run_is_not_overwritten(toy, tmp_path):
    run_here(toy, tmp_path, {"search.trials": 8})
    with pytest.raises(RunError, match="holds a run already"):
        run_here(toy, tmp_path, {"search.trials": 8})


def test_a_folder_with_other_things_is_not_used(toy, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("precious")
    with pytest.raises(RunError, match="not empty"):
        run_here(toy, tmp_path)


@pytest.mark.parametrize("file", ["study.yaml", "run/spec.resolved.yaml"])
def test_resume_of_a_changed_study_names_the_keys(toy, tmp_path, file):
    run_here(toy, tmp_path, {"search.trials": 8})
    path = tmp_path / file
    path.write_text(
        path.read_text().replace("seed: 11", "seed: 12").replace("population: 16", "population: 4")
    )
    with pytest.raises(RunError) as caught:
        resume_study(tmp_path / "run", Execution(evaluator=toy.ToyModel()))
    assert "search.population: 16 -> 4" in str(caught.value)
    assert "seed: 11 -> 12" in str(caught.value)
    assert "search.trials" not in str(caught.value)


def test_resume_with_a_changed_input_file_names_it(toy, tmp_path):
    run_here(toy, tmp_path, {"search.trials": 8})
    (tmp_path / "arch.yaml").write_text("arch: {nodes: [], other: 1}\n")
    with pytest.raises(RunError, match=r"arch\.yaml: the contents changed"):
        resume_study(tmp_path / "run", Execution(evaluator=toy.ToyModel()))


def test_a_damaged_line_inside_is_an_error_with_its_line(toy, tmp_path):
    run_here(toy, tmp_path, {"search.trials": 16})
    log = tmp_path / "run" / "trials.jsonl"
    lines = log.read_text().splitlines()
    lines[3] = lines[3][:40]
    log.write_text("\n".join(lines) + "\n")
    with pytest.raises(SpecError, match=r"damaged[\s\S]*trials\.jsonl:4"):
        resume_study(tmp_path / "run", Execution(evaluator=toy.ToyModel()))


def test_the_resolved_study_is_a_study_with_the_same_result(toy, tmp_path):
    run_here(toy, tmp_path)
    spec = load_study(tmp_path / "run" / "spec.resolved.yaml")
    start_study(spec, tmp_path / "again", Execution(evaluator=toy.ToyModel()))
    assert (tmp_path / "again" / "trials.jsonl").read_bytes() == log_of(tmp_path)
