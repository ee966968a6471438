"""The numbers of an architecture as they are shown."""

from __future__ import annotations

import math

import pytest

from tilewright.arch.flattening.arch_facts import (
    arch_dict,
    arch_facts,
    arch_html,
    arch_text,
    in_one_line,
    total,
)
from tilewright.dse.command.design_options import load_machine
from tilewright.dse.command.files.about import shipped_files
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.searches.api import search
from tilewright.mapper.workload.workload_loading import load_workload


def test_numbers_are_evaluated():
    facts = {each.row.label: each for each in arch_facts(load_machine(("edge_npu",), {}))}
    assert facts["GlobalBuffer"].size == 256 * 1024 * 8
    assert facts["Register"].instances == 256
    assert facts["PEArray"].to_dict()["fanout"] == {"x": 16, "y": 16}
    document = facts["DRAM"].to_dict()
    assert document["unlimited"]
    assert document["size"] is None
    assert document["keep"] == "~Intermediates"
    assert document["actions"][0]["energy"] == 64 * 4e-12


def test_the_total_area_is_that_of_the_model(tmp_path):
    machine = load_machine(("edge_npu",), {})
    (tmp_path / "w.yaml").write_text(
        'workload:\n  rank_sizes: {M: 4}\n  bits_per_value: {All: 8}\n  einsums: ["Z[m] = A[m]"]\n'
    )
    work = load_workload(tmp_path / "w.yaml")
    best = search(machine, work, budget=0.0).best  # any mapping will do
    score = evaluate(machine, work, best.mapping)
    assert math.isclose(total(arch_facts(machine), "area"), score.area, rel_tol=1e-12)
    assert math.isclose(total(arch_facts(machine), "leak_power"), score.leak_power, rel_tol=1e-12)


def test_what_depends_on_the_einsum_says_so():
    machine = load_machine(("tpu_v4i",), {})
    register = next(each for each in arch_facts(machine) if each.row.label == "Register")
    assert "depends on the Einsum" in register.cells()
    assert register.to_dict()["size"] is None
    assert not register.to_dict()["unlimited"]


@pytest.mark.parametrize("name", shipped_files("hardware"))
def test_every_shipped_architecture_has_a_picture(name):
    machine = load_machine((name,), {})
    facts = arch_facts(machine)
    text = arch_text(machine, facts)
    for node in machine.leaves():
        assert node.name in text
    assert "nan" not in text
    assert " > " in in_one_line(facts)
    assert set(arch_dict(machine)["variables"]) == set(machine.variables)
    page = arch_html(machine)
    assert page.startswith("<svg")
    assert page.count("<tr>") == len(machine.leaves()) + 1
