"""A front found on the machine: its three forms say the same, any point can be shown."""

from __future__ import annotations

import re

import pytest
from cascades import cascade_workload
from grid_mappings import HARDWARE, einsum_workload

from tilewright.arch.errors import TilewrightError
from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.dse.command.machine.grid_front_answer import GridFrontAnswer, find_front_on_machine
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.workload.workload import Workload


def answer_of(workload: Workload, **options: object) -> GridFrontAnswer:
    arch = load_arch(HARDWARE).with_values({"variables.GridX": 2, "variables.GridY": 2})
    chosen = {"front": ("latency", "usage"), "budget": None, "limit": 2, **options}
    return find_front_on_machine(arch, workload, "wse3-sdk-sim", chosen)


def test_text_document_and_file_are_of_one_point() -> None:
    answer = answer_of(einsum_workload("matrix times vector"), point=1)
    document, text = answer.document(), answer.text()
    points = document["front"]
    assert len(points) > 2
    assert "point 1 of the front:" in text
    assert re.search(r"parfor \w +2 tiles of \d+ over Grid", text)
    assert f"{len(points) - 2} more with --limit {len(points)}" in text
    assert document["search"]["complete"]
    assert document["cycles"] == points[1]["cycles"]
    assert document["mapping"] == points[1]["mapping"]
    assert [point["latency"] for point in points] == sorted(p["latency"] for p in points)
    usages = [point["usage"] for point in points]
    assert usages == sorted(usages, reverse=True)
    saved = load_mapping(load_document("m.yaml", text=answer.mapping_file()))
    assert saved == answer.shown.mapping


def test_a_front_of_several_einsums_is_over_latency_and_energy() -> None:
    workload = cascade_workload("product, row sums")
    answer = answer_of(workload, front=("latency", "energy"), limit=20)
    assert [run.name for run in answer.shown.execution.einsums] == ["S", "Z"]
    assert answer.document()["search"]["complete"]
    assert answer.document()["search"]["gap"] == 0
    saved = load_mapping(load_document("m.yaml", text=answer.mapping_file()))
    assert saved == answer.shown.mapping


def test_a_front_of_several_einsums_may_be_over_memory() -> None:
    answer = answer_of(cascade_workload("product, row sums"), limit=20)
    assert answer.document()["search"]["complete"]
    assert "sizes with room for alignment" in answer.text()
    usages = [point["usage"] for point in answer.document()["front"]]
    assert usages == sorted(usages, reverse=True)
    assert len(usages) > 2


def test_an_einsum_of_several_is_named() -> None:
    workload = cascade_workload("product, row sums")
    assert [run.name for run in answer_of(workload, einsum="Z").shown.execution.einsums] == ["Z"]
    with pytest.raises(TilewrightError, match="no such point"):
        answer_of(workload, einsum="Z", point=99)
