"""Samplers by name and by import path, with what is wrong about a name."""

from __future__ import annotations

import pytest
from design_files import log_of, run_here

from tilewright.arch.errors import SpecError
from tilewright.dse.run.runner import Execution, resume_study
from tilewright.dse.sampling.sampler_names import check_sampler


def test_names_are_checked():
    check_sampler("optuna.samplers.QMCSampler", 2)
    for name, words in (("ngsa2", "did you mean nsga2"), ("os.path", "no sampler of Optuna"),
                        ("nowhere.Sampler", "cannot import")):  # fmt: skip
        with pytest.raises(SpecError, match=words):
            check_sampler(name, 2)


def test_cmaes_takes_one_objective():
    pytest.importorskip("cmaes")
    with pytest.raises(SpecError, match="takes one objective"):
        check_sampler("cmaes", 2)


def test_a_sampler_by_import_path_resumes_to_the_same_bytes(toy, tmp_path):
    settings = {"search.sampler": "optuna.samplers.RandomSampler", "search.trials": 24}
    run_here(toy, tmp_path, settings)
    whole = log_of(tmp_path)
    lines = whole.splitlines(keepends=True)
    (tmp_path / "run/trials.jsonl").write_bytes(b"".join(lines[:8]))
    resume_study(tmp_path / "run", Execution(evaluator=toy.ToyModel()))
    assert log_of(tmp_path) == whole
