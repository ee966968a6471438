"""Samplers by name and by import path, with what is wrong about a name."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from design_files import log_of, run_here
from optuna.samplers import RandomSampler

from tilewright.arch.errors import SpecError
from tilewright.dse.run.runner import RunSettings, resume_study
from tilewright.dse.sampling.sampler_names import check_sampler


def test_names_are_checked():
    check_sampler("optuna.samplers.QMCSampler", 2)
    for name, words in (("ngsa2", "did you mean nsga2"), ("NSGA-III", "did you mean nsga3"),
                        ("quasi-random", "did you mean qmc"), ("TPESampler", "did you mean tpe"),
                        ("CMA-ES", "did you mean cmaes"), ("os.path", "no sampler of Optuna"),
                        ("nowhere.Sampler", "cannot import")):  # fmt: skip
        with pytest.raises(SpecError, match=words):
            check_sampler(name, 2)


@pytest.mark.parametrize("name", ["cmaes", "optuna.samplers.CmaEsSampler"])
def test_cmaes_takes_one_objective_and_a_package(name, monkeypatch):
    names = "tilewright.dse.sampling.sampler_names"
    monkeypatch.setattr(f"{names}.find_spec", lambda package: package)
    check_sampler(name, 1)
    with pytest.raises(SpecError, match="takes one objective"):
        check_sampler(name, 2)
    monkeypatch.setattr(f"{names}.find_spec", lambda package: None)
    with pytest.raises(SpecError, match="needs the package cmaes"):
        check_sampler(name, 1)


@pytest.mark.parametrize("options", [{}, {"search.options": {"with_margin": True}}])
def test_the_state_of_cmaes_has_no_memory_that_nothing_was_written_to(
    toy, tmp_path, monkeypatch, options
):
    """So a run has the same bytes for any number of workers, and after a resume."""
    pytest.importorskip("cmaes", reason="pip install tilewright[samplers]")
    settings = {"objectives": ["energy"], "search.sampler": "cmaes", "search.trials": 32, **options}
    logs = []
    for value in (1.0, 2.0):
        left = SimpleNamespace(**vars(np))
        left.empty = lambda shape, value=value: np.full(shape, value)
        monkeypatch.setattr("cmaes._cma.np", left)
        run_here(toy, tmp_path / str(value), settings)
        logs.append(log_of(tmp_path / str(value)))
    assert logs[0] == logs[1]
    assert b"cma" in logs[0], "its state is recorded"
    torn = logs[0].splitlines(keepends=True)[:16]
    (tmp_path / "1.0/run/trials.jsonl").write_bytes(b"".join(torn))
    resume_study(tmp_path / "1.0/run", RunSettings(evaluator=toy.ToyModel()))
    assert log_of(tmp_path / "1.0") == logs[0]


class BreaksDown(RandomSampler):
    """A sampler of somebody's own, with a defect."""

    def sample_relative(self, study, trial, search_space):
        raise ZeroDivisionError("no such luck")


def test_what_goes_wrong_in_a_sampler_of_ones_own_names_it(toy, tmp_path, monkeypatch):
    module = SimpleNamespace(BreaksDown=BreaksDown)
    monkeypatch.setitem(sys.modules, "breaking_samplers", module)
    words = "sampler breaking_samplers.BreaksDown failed: ZeroDivisionError: no such luck"
    with pytest.raises(SpecError, match=words):
        run_here(toy, tmp_path, {"search.sampler": "breaking_samplers.BreaksDown"})


def test_a_sampler_by_import_path_resumes_to_the_same_bytes(toy, tmp_path):
    settings = {"search.sampler": "optuna.samplers.RandomSampler", "search.trials": 24}
    run_here(toy, tmp_path, settings)
    whole = log_of(tmp_path)
    lines = whole.splitlines(keepends=True)
    (tmp_path / "run/trials.jsonl").write_bytes(b"".join(lines[:8]))
    resume_study(tmp_path / "run", RunSettings(evaluator=toy.ToyModel()))
    assert log_of(tmp_path) == whole
