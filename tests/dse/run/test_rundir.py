"""The run directory: cut logs are repaired, damage and foreign folders are refused."""

from __future__ import annotations

import pytest
from design_files import log_of, run_here
from explore import at_night

from tilewright.arch.errors import SpecError
from tilewright.dse.run.rundir import RunError
from tilewright.dse.run.runner import RunSettings, resume_study

SAMPLERS = ["nsga2", "tpe", "random", "grid", "qmc", "nsga3", "bottleneck"]


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("half", [0, *at_night(1)])
def test_resume_after_any_cut_gives_the_same_bytes(toy, tmp_path, sampler, half):
    run_here(toy, tmp_path, {"search.sampler": sampler, "search.trials": 24})
    whole = log_of(tmp_path)
    front = (tmp_path / "run" / "front.json").read_bytes()
    line_ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    cuts = (0, 7, line_ends[7], line_ends[12], line_ends[17] - 1, len(whole) - 1, len(whole))
    for cut in cuts[(SAMPLERS.index(sampler) + half) % 2 :: 2]:
        (tmp_path / "run" / "trials.jsonl").write_bytes(whole[:cut])
        resume_study(tmp_path / "run", RunSettings(evaluator=toy.ToyModel()))
        assert log_of(tmp_path) == whole, cut
        assert (tmp_path / "run" / "front.json").read_bytes() == front


def test_a_run_is_not_overwritten(toy, tmp_path):
    run_here(toy, tmp_path, {"search.trials": 8})
    with pytest.raises(RunError, match="holds a run already"):
        run_here(toy, tmp_path, {"search.trials": 8})


def test_a_folder_with_other_things_is_not_used(toy, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("precious")
    with pytest.raises(RunError, match="not empty"):
        run_here(toy, tmp_path)


def test_a_damaged_line_inside_is_an_error_with_its_line(toy, tmp_path):
    run_here(toy, tmp_path, {"search.trials": 16})
    log = tmp_path / "run" / "trials.jsonl"
    lines = log.read_text().splitlines()
    lines[3] = lines[3][:40]
    log.write_text("\n".join(lines) + "\n")
    with pytest.raises(SpecError, match=r"damaged[\s\S]*trials\.jsonl:4"):
        resume_study(tmp_path / "run", RunSettings(evaluator=toy.ToyModel()))
