"""Flattened architectures: instances, area, leakage, graphs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from flat_texts import build, compute, memory, names

from tilewright.arch.components.components import Container, Memory
from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import SpecError
from tilewright.arch.flattening.flat import instances_accelforge
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch


def test_fanouts_multiply_downwards(matmul: Scope) -> None:
    (flat,) = build(
        memory("A"),
        memory("B", ", spatial: [{name: X, fanout: 4}]"),
        "  - !Container {name: P, spatial: [{name: X, fanout: 2}, {name: Y, fanout: 3}]}\n",
        memory("R"),
        compute("C", ", spatial: [{name: L, fanout: 5}]"),
        scope=matmul,
    )
    assert {n: flat.instances(n) for n in "ABPRC"} == {"A": 1, "B": 4, "P": 24, "R": 24, "C": 120}
    assert flat.total_area == 1 + 4 + 24 + 120
    copies = {name: instances_accelforge(flat.component(name)) for name in "ABPRC"}
    assert copies == {"A": 1, "B": 1, "P": 4, "R": 24, "C": 24}
    assert isinstance(flat.component("P"), Container)
    assert flat.component("P").latency is None


def test_graph_has_typed_nodes_and_fanouts(matmul: Scope) -> None:
    first, second = build(
        memory("A"),
        memory("B", ", spatial: [{name: X, fanout: 4}]"),
        compute("V"),
        memory("R", ", spatial: [{name: X, fanout: 2}]"),
        compute("C"),
        scope=matmul,
    )
    edges = {(u, v): data["fanout"] for u, v, data in first.graph.edges(data=True)}
    assert edges == {("A", "B"): 4, ("B", "V"): 1, ("B", "R"): 2, ("R", "C"): 1}
    assert isinstance(first.graph.nodes["A"]["component"], Memory)
    assert sorted(first.usable_graph) == ["A", "B", "V"]
    assert sorted(second.usable_graph.edges) == [("A", "B"), ("B", "R"), ("R", "C")]


def test_usable_graph_bridges_a_disabled_component(matmul: Scope) -> None:
    (flat,) = build(
        memory("A"),
        memory("B", ", spatial: [{name: X, fanout: 4}], enabled: false"),
        compute("C", ", spatial: [{name: X, fanout: 2}]"),
        scope=matmul,
    )
    assert names(flat) == ["A", "C"]
    assert flat.usable_graph.edges["A", "C"]["fanout"] == 8
    assert flat.instances("C") == 8  # the copies are there, in use or not


def test_unknown_component_gets_a_suggestion(matmul: Scope) -> None:
    (flat,) = build(memory("Buffer"), compute("C"), scope=matmul)
    with pytest.raises(SpecError) as caught:
        flat.component("Bufer")
    assert caught.value.instead == "did you mean Buffer?"


def test_area_and_leakage_equal_the_recorded_figures(shared_data: Path) -> None:
    vectors = json.loads((shared_data / "vectors" / "model_vectors.json").read_text())["vectors"]
    checked = 0
    for vector in vectors:
        wanted = (vector.get("expected") or {}).get("area_leak")
        if not wanted:
            continue
        flat = flatten(load_arch(vector["arch"]))[-1]
        for name, value in wanted["per_component_area"].items():
            component = flat.component(name)
            area = component.area * instances_accelforge(component)
            assert area == pytest.approx(value, rel=1e-6), (vector["id"], name)
        for name, value in wanted["per_component_leak_power"].items():
            component = flat.component(name)
            leak = component.leak_power * instances_accelforge(component)
            assert leak == pytest.approx(value, rel=1e-6), (vector["id"], name)
        checked += 1
    assert checked > 80
