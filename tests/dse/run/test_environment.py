"""The key of a design: equal where the evaluation gives the same result, else different."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilewright.dse.run.environment import Keys
from tilewright.dse.study.study_loading import load_study
from tilewright.simulator.known.code_hash import code_hash

HASHES = {"inputs/arch/a.yaml": "aa", "inputs/bert/w.yaml": "bb"}
POINT = {"size": 4, "kind": "ü"}


@pytest.fixture
def spec(study):
    return load_study(study)


def key(spec, hashes=HASHES, point=POINT):
    return Keys(spec, hashes)(point)


def test_a_key_is_the_same_for_the_same_question(spec):
    assert key(spec) == key(spec)
    assert len(key(spec)) == 24
    assert key(spec, dict(reversed(HASHES.items()))) == key(spec)
    renamed = {"inputs/arch/other.yaml": "aa", "inputs/bert/w.yaml": "bb"}
    assert key(spec, renamed) == key(spec)


@pytest.mark.parametrize(
    "changes",
    [{"seed": 99}, {"trials": 500}, {"question": "Another question?"}],
    ids=lambda changes: next(iter(changes)),
)
def test_what_changes_no_result_changes_no_key(spec, changes):
    assert key(replace(spec, **changes)) == key(spec)


def test_what_may_change_a_result_changes_the_key(spec):
    weighted = tuple(replace(workload, weight=2.0) for workload in spec.workloads)
    others = [
        key(spec, point={**POINT, "size": 5}),
        key(spec, {**HASHES, "inputs/arch/a.yaml": "cc"}),
        key(replace(spec, model="analytical")),
        key(replace(spec, workloads=weighted)),
        key(replace(spec, arch=replace(spec.arch, variables={"N": 3}))),
    ]
    assert len({key(spec), *others}) == len(others) + 1


def test_options_of_the_mapper_matter_for_the_analytical_model_alone(spec):
    for model, differ in (("analytical", True), ("simulated", False)):
        plain = replace(spec, model=model, mapper={"objective": "energy"})
        other = replace(plain, mapper={"objective": "latency"})
        assert (key(plain) != key(other)) == differ


def test_the_machine_matters_for_the_simulated_model_alone(spec):
    for model, differ in (("simulated", True), ("analytical", False)):
        plain = replace(spec, model=model, machine="wse2-sdk-sim")
        assert (key(plain) != key(replace(plain, machine="wse3-sdk-sim"))) == differ


def test_a_machine_of_the_user_is_known_by_its_contents(spec):
    """Its file is among the hashes, so that its path does not matter."""
    plain = replace(spec, model="simulated", machine="a.yaml")
    assert key(plain) == key(replace(plain, machine="b.yaml"))


def test_the_hash_of_the_code_has_sixteen_digits():
    assert len(code_hash()) == 16
    assert int(code_hash(), 16)
