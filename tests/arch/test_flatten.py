"""Flattening: paths, fanouts, scales, widths, forks, totals, graphs."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from flat_texts import build, compute, memory, names, nested

from tilewright.arch.components.components import Container, Memory, Scope, Toll
from tilewright.arch.errors import SpecError
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.flattening.latency import LinearLatency
from tilewright.arch.spec.load import load_arch

Change = Callable[[str, str], str]


# ---- paths


def test_one_path_per_compute(matmul: Scope) -> None:
    first, second = build(memory("A"), compute("C1"), memory("B"), compute("C2"), scope=matmul)
    assert names(first) == ["A", "C1"]
    assert [c.name for c in first.beside] == ["B", "C2"]
    assert names(second) == ["A", "B", "C2"]
    assert [c.name for c in second.beside] == ["C1"]


def test_forks_branch_off_and_hierarchies_go_on(matmul: Scope) -> None:
    flats = build(
        memory("A"),
        nested("Fork", memory("F"), compute("CF")),
        nested("Hierarchical", memory("H")),
        memory("B"),
        compute("C"),
        scope=matmul,
    )
    assert [names(flat) for flat in flats] == [["A", "F", "CF"], ["A", "H", "B", "C"]]
    assert [c.name for c in flats[1].path_to("B")] == ["A", "H", "B"]
    assert [c.name for c in flats[1].above("CF")] == ["A", "F"]


def test_fork_without_a_compute_is_an_error() -> None:
    with pytest.raises(SpecError, match="leads nowhere"):
        build(nested("Fork", memory("F")), compute("C"))


def test_forks_gate_what_does_not_work(matmul: Scope) -> None:
    forked, main = build(
        memory("A"),
        nested(
            "Fork",
            memory("F"),
            compute("CF"),
            more="    forked_power_gateable: true\n    non_forked_power_gateable: true\n",
        ),
        memory("B"),
        compute("C"),
        scope=matmul,
    )
    assert forked.gated == {"B", "C"}
    assert main.gated == {"F", "CF"}


def test_enabled_is_asked_per_einsum(matmul: Scope, elementwise: Scope) -> None:
    nodes = (
        memory("A", ", enabled: len(All) == 3"),
        compute("V", ", enabled: len(All) == 2"),
        memory("B"),
        compute("M", ", enabled: weight"),
    )
    (three,) = build(*nodes, scope=matmul)
    assert names(three) == ["A", "B", "M"]
    (two,) = build(*nodes, scope=elementwise)
    assert names(two) == ["V"]
    assert two.disabled == {"A", "M"}
    assert [c.name for c in two.beside] == ["A", "B", "M"]
    assert len(build(*nodes)) == 2  # without an Einsum everything may be


# ---- fanouts and totals


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
    assert flat.total_area_accelforge == 1 + 1 + 24 + 24
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
        area, leak = flat.area_by_component_accelforge, flat.leak_power_by_component_accelforge
        for name, value in wanted["per_component_area"].items():
            assert area[name] == pytest.approx(value, rel=1e-6), (vector["id"], name)
        for name, value in wanted["per_component_leak_power"].items():
            assert leak[name] == pytest.approx(value, rel=1e-6), (vector["id"], name)
        assert flat.total_area_accelforge == pytest.approx(wanted["total_area"], rel=1e-6)
        checked += 1
    assert checked > 80


# ---- scales, widths, actions


def test_all_scales_are_applied(change: Change, matmul: Scope) -> None:
    text = change(
        "size: 1024\n    actions:\n    - {name: read, energy: 5, throughput: 256}",
        "size: 1024\n    area: 3\n    area_scale: 2\n    leak_power: 5\n    leak_power_scale: 3\n"
        "    n_parallel_instances: 4\n    energy_scale: 7\n    throughput_scale: 11\n"
        "    actions_scale: 1.5\n    actions:\n"
        "    - {name: read, energy: 5, throughput: 256, energy_scale: 2, throughput_scale: 3}",
    )
    buffer = flatten(load_arch(text), matmul)[0].component("BUF")
    assert buffer.area == 3 * 2 * 4
    assert buffer.leak_power == 5 * 3 * 4
    assert buffer.actions_scale == Fraction(3, 2)
    assert buffer.action("read").energy == 5 * 7 * 2
    assert buffer.action("read").throughput == 256 * 11 * 3 * 4
    assert buffer.action("write").throughput == 128 * 11 * 4
    assert isinstance(buffer.latency, LinearLatency)
    assert buffer.latency({"read": 256 * 132}) == pytest.approx(1)


def test_values_per_action_precedence(change: Change, matmul: Scope) -> None:
    """Action, then component, then bits over width (model.md §3.2)."""
    text = change(
        "size: 1024\n    actions:\n    - {name: read, energy: 5, throughput: 256}",
        "size: 1024\n    bits_per_action: 64\n    bits_per_value: {output: 3 * 8}\n"
        "    values_per_action: {weight: 5}\n    actions:\n"
        "    - {name: read, energy: 5, throughput: 256, bits_per_action: 128,\n"
        "       values_per_action: {input: 7, weight: 0.1}}",
    )
    buffer = flatten(load_arch(text), matmul)[0].component("BUF")
    assert isinstance(buffer, Memory)
    assert buffer.action("read").values_per_action == {
        "A": 7,
        "B": Fraction(1, 10),
        "Z": Fraction(128, 24),
    }
    assert buffer.action("write").values_per_action == {"A": 8, "B": 5, "Z": Fraction(64, 24)}
    assert buffer.bits_per_value == {"A": 8, "B": 4, "Z": 24}
    assert buffer.action("read").bits_per_action == 128


def test_other_and_overlapping_keys(change: Change, matmul: Scope) -> None:
    text = change("size: 1024", "size: 1024\n    bits_per_value: {weight: 1, Other: 2}")
    buffer = flatten(load_arch(text), matmul)[0].component("BUF")
    assert isinstance(buffer, Memory)
    assert buffer.bits_per_value == {"A": 2, "B": 1, "Z": 2}
    text = change("size: 1024", "size: 1024\n    bits_per_value: {weight: 1, Inputs: 2}")
    with pytest.raises(SpecError, match="both weight and Inputs hold the tensor B") as caught:
        flatten(load_arch(text), matmul)
    assert caught.value.where is not None
    assert caught.value.where.line == 13


def test_old_scale_of_widths(change: Change, matmul: Scope) -> None:
    text = change("size: 1024", "size: 1024\n    bits_per_value_scale: 2")
    buffer = flatten(load_arch(text), matmul)[0].component("BUF")
    assert isinstance(buffer, Memory)
    assert buffer.bits_per_value == {"A": 16, "B": 8, "Z": 32}


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("up", {"A": "up", "B": "up", "Z": "up"}),
        ("{output: up, input | weight: down}", {"A": "down", "B": "down", "Z": "up"}),
        ("{output: up_and_down, Other: down}", {"A": "down", "B": "down", "Z": "up_and_down"}),
        ("both", {"A": "up_and_down", "B": "up_and_down", "Z": "up_and_down"}),
    ],
)
def test_directions_of_a_toll(matmul: Scope, written: str, wanted: dict[str, str]) -> None:
    toll = (
        f"  - !Toll {{name: T, direction: {written}, "
        "actions: [{name: read, energy: 1, throughput: 1}]}\n"
    )
    (flat,) = build(memory("A"), toll, compute("C"), scope=matmul)
    component = flat.component("T")
    assert isinstance(component, Toll)
    assert component.direction == wanted


@pytest.mark.parametrize(
    ("written", "words"),
    [("{output: up}", "says nothing about A, B"), ("upp", "must be up, down or up_and_down")],
)
def test_bad_directions(matmul: Scope, written: str, words: str) -> None:
    toll = (
        f"  - !Toll {{name: T, direction: {written}, "
        "actions: [{name: read, energy: 1, throughput: 1}]}\n"
    )
    with pytest.raises(SpecError, match=words):
        build(memory("A"), toll, compute("C"), scope=matmul)


def test_a_toll_keeps_only_what_is_kept_above(matmul: Scope) -> None:
    toll = (
        "  - !Toll {name: T, direction: up, tensors: {keep: All}, "
        "actions: [{name: read, energy: 1, throughput: 1}]}\n"
    )
    (flat,) = build(memory("A"), toll, compute("C"), scope=matmul)
    component = flat.component("T")
    assert isinstance(component, Toll)
    assert component.tensors.resolve({"A": frozenset("AZ")}).keep == frozenset("AZ")
