"""A run that goes on otherwise: more trials, another sampler, more values."""

from __future__ import annotations

import json

import pytest
from design_files import log_of, run_here

from tilewright.arch.errors import SpecError
from tilewright.dse.run.runner import RunSettings, resume_study
from tilewright.dse.store.extension import Changes


def test_history_stays_and_is_marked(toy, tmp_path):
    options = {"mutation_prob": 0.1}  # nsga2 takes it, tpe does not
    run_here(toy, tmp_path, {"search.trials": 16, "search.options": options})
    before = log_of(tmp_path)
    changes = Changes(40, {"search.sampler": "tpe", "space.tile.values": [16, 32, 64, 256]})
    execution = RunSettings(evaluator=toy.ToyModel())
    result = resume_study(tmp_path / "run", execution, changes)
    whole = log_of(tmp_path)
    assert whole.startswith(before)
    assert result.front["evaluated"] == 80, "twice 40, as most cannot be built"
    assert 32 in result.spec.space.dimensions[-1].values
    (note,) = json.loads((tmp_path / "run/env.json").read_text())["extensions"]
    assert note["batch"] == result.trials[before.count(b"\n")].batch
    assert note["changed"]["search.sampler"] == "tpe"
    cut = b"".join(whole.splitlines(keepends=True)[: before.count(b"\n") + 8])
    (tmp_path / "run/trials.jsonl").write_bytes(cut)
    resume_study(tmp_path / "run", execution)
    assert log_of(tmp_path) == whole


def test_what_a_run_cannot_change(toy, tmp_path):
    run_here(toy, tmp_path, {"search.trials": 8})
    for settings, words in (({"seed": 3}, "cannot change this"),
                            ({"seed": 3}, "space.<knob>.values, or a new run"),
                            ({"tile": [16]}, r"space.mapping.*tile.values='\[…\]', or .pow2"),
                            ({"space.tile": [16]}, "how the values of the knob are given"),
                            ({"space.tiel.values": [16]}, "did you mean tile"),
                            ({"search.samplr": "tpe"}, "did you mean search.sampler"),
                            ({"space.tile.values": [16]}, "so: .* no such value"),
                            ({"space.tile.values": [16]}, "and the values before")):  # fmt: skip
        with pytest.raises(SpecError, match=words):
            resume_study(
                tmp_path / "run", RunSettings(evaluator=toy.ToyModel()), Changes(20, settings)
            )
