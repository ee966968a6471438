"""The shipped study of attention: six Einsums as one, what is exchanged stays in the elements."""

from __future__ import annotations

import pytest

from tilewright.dse.command.shipped import shipped_studies
from tilewright.dse.models.evaluators import make_evaluator
from tilewright.dse.study.study_loading import load_study

SMALL = {"SCALE": 128}
POINT = {"arch.variables.GridX": 2, "arch.variables.GridY": 4}


@pytest.mark.nightly
def test_a_small_head_of_attention() -> None:
    study = load_study(shipped_studies()["wafer_attention"], SMALL)
    found = make_evaluator(study).run(POINT)
    assert [run.name for run in found.execution.einsums] == ["S", "Top", "E", "Sum", "P", "O"]
    stays = {
        tensor.name
        for run in found.execution.einsums
        for tensor in run.plan.read.tensors
        if tensor.resident
    }
    assert len(stays & {"S", "Top", "E", "Sum", "P"}) >= 3
    shared = {run.name for run in found.execution.einsums if run.plan.sums.shared}
    assert shared <= {"Top", "Sum"}
