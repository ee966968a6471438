"""The shipped study of two projections as a cascade: what lies between them stays, or goes out."""

from __future__ import annotations

import pytest

from tilewright.dse.command.shipped import shipped_studies
from tilewright.dse.models.evaluators import make_evaluator
from tilewright.dse.study.study_loading import load_study

SMALL = {"SCALE": 128}
POINT = {"arch.variables.GridX": 4, "arch.variables.GridY": 2}
OUTSIDE = {"arch.values": {"Host.tensors.keep": "All"}}


def resident(found):
    """By Einsum, the tensors that are in the elements before or after it."""
    runs = found.execution.einsums
    return {run.name: {t.name for t in run.plan.read.tensors if t.resident} for run in runs}


@pytest.fixture(scope="module")
def found():
    return make_evaluator(load_study(shipped_studies()["wafer_matvec"], SMALL)).run(POINT)


def test_the_second_projection_reads_what_the_first_computes(found):
    up, down = found.execution.einsums
    between = {up.plan.read.output.name} & {tensor.name for tensor in down.plan.read.inputs}
    assert between == {"up"}


def test_the_search_decides_where_the_tensor_between_them_lies(found):
    assert all("up" in tensors for tensors in resident(found).values())
    study = load_study(shipped_studies()["wafer_matvec"], {**SMALL, **OUTSIDE})
    outside = make_evaluator(study).run(POINT)
    assert not any("up" in tensors for tensors in resident(outside).values())
    assert found.value < outside.value


def test_both_projections_obey_their_knobs(found):
    study = load_study(shipped_studies()["wafer_matvec"], SMALL)
    knobs = {"mapping.up.x": "d", "mapping.down.x": "e", "mapping.down.reduction": "chain"}
    other = make_evaluator(study).run({**POINT, **knobs})
    along = {
        run.name: {loop.variable for loop in run.plan.read.space if loop.axis == "X"}
        for run in other.execution.einsums
    }
    assert along == {"up": {"d"}, "down": {"e"}}
    assert found.value <= other.value
