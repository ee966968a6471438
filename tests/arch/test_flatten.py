"""Flattening: paths, fanouts, scales, widths, forks, arrays, totals, graphs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from tilewright.arch.components import Container, Memory, Network, Scope, Toll
from tilewright.arch.errors import SpecError
from tilewright.arch.flat import FlatArch
from tilewright.arch.flattening import flatten
from tilewright.arch.latency import LinearLatency
from tilewright.arch.load import load_arch

Change = Callable[[str, str], str]
RW = "[{name: read, energy: 1, throughput: 1}, {name: write, energy: 1, throughput: 1}]"
OP = "[{name: compute, energy: 1, throughput: 1}]"


def memory(name: str, more: str = "") -> str:
    return f"  - !Memory {{name: {name}, size: 8, area: 1, actions: {RW}{more}}}\n"


def compute(name: str, more: str = "") -> str:
    return f"  - !Compute {{name: {name}, area: 1, actions: {OP}{more}}}\n"


def nested(kind: str, *nodes: str, more: str = "") -> str:
    inner = "".join("  " + node for node in nodes)
    return f"  - !{kind}\n{more}    nodes:\n{inner}"


def build(*nodes: str, scope: Scope | None = None) -> tuple[FlatArch, ...]:
    return flatten(load_arch("arch:\n  nodes:\n" + "".join(nodes)), scope)


def names(flat: FlatArch) -> list[str]:
    return [component.name for component in flat.components]


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
    """Action, then component, then bits over width (accelforge.md §2.2)."""
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


# ---- spatial fields


def test_spatial_fields(matmul: Scope) -> None:
    (flat,) = build(
        memory("A"),
        "  - !Container\n    name: P\n    spatial:\n"
        "    - {name: X, fanout: 4, reuse: input, min_usage: 0.5, usage_scale: 2,\n"
        "       power_gateable: true}\n"
        "    - {name: Y, fanout: 2, may_reuse: ~weight, loop_bounds: [\n"
        "       {expression: ~m, operator: ==, value: 1},\n"
        "       {expression: weight, operator: product<=, value: 2 * 8}]}\n"
        "    - {name: Z, fanout: 2}\n",
        compute("C"),
        scope=matmul,
    )
    x, y, z = flat.component("P").spatial
    assert (x.may_reuse, x.reuse) == (frozenset("A"), frozenset("A"))
    assert (x.min_usage, x.usage_scale, x.power_gateable) == (0.5, 2, True)
    assert (y.may_reuse, y.reuse) == (frozenset("AZ"), frozenset())
    assert [(b.rank_variables, b.operator, b.value, b.of_tensors) for b in y.loop_bounds] == [
        (frozenset("kn"), "==", 1, False),
        (frozenset("kn"), "product<=", 16, True),
    ]
    assert z.may_reuse == frozenset("ABZ")


def test_placement_rules(matmul: Scope) -> None:
    tensors = (
        ", tensors: {keep: ~M1 & input, back: weight, may_keep: output, "
        "no_refetch_from_above: weight, no_resend_to_below: input, "
        "tensor_order_options: [[input | output, weight]], force_memory_hierarchy_order: false, "
        "tile_shape: [{expression: weight.rank_variables, operator: '>=', value: 2}]}"
    )
    (flat,) = build(memory("M1"), memory("M2", tensors), compute("C"), scope=matmul)
    component = flat.component("M2")
    assert isinstance(component, Memory)
    rules = component.tensors.resolve({"M1": frozenset("Z")})
    assert rules.keep == frozenset("AB")
    assert rules.may_keep == frozenset("ABZ")
    assert rules.back == frozenset("B")
    assert rules.no_refetch_from_above == frozenset("B")
    assert rules.no_resend_to_below == frozenset("A")
    assert rules.tensor_order_options == ((frozenset("AZ"), frozenset("B")),)
    assert rules.force_memory_hierarchy_order is False
    assert rules.tile_shape[0].rank_variables == frozenset("kn")


def test_placement_defaults(matmul: Scope) -> None:
    (flat,) = build(
        memory("M1"), memory("M2", ", tensors: {keep: input}"), compute("C"), scope=matmul
    )
    first, second = flat.component("M1"), flat.component("M2")
    assert isinstance(first, Memory)
    assert isinstance(second, Memory)
    assert first.tensors.resolve({}).keep == frozenset()
    assert first.tensors.resolve({}).may_keep == frozenset("ABZ")
    assert second.tensors.resolve({}).keep == second.tensors.resolve({}).may_keep == {"A"}
    assert first.tensors.resolve({}).force_memory_hierarchy_order is None


def test_a_memory_below_cannot_be_named(matmul: Scope) -> None:
    with pytest.raises(SpecError, match="nothing is called Below"):
        build(
            memory("M1", ", tensors: {keep: ~Below}"), memory("Below"), compute("C"), scope=matmul
        )


# ---- networks and arrays


def test_network(matmul: Scope) -> None:
    network = (
        "  - !Network {name: N, topology: all_to_all, "
        "actions: [{name: hop, energy: 2, throughput: 8, latency: 3}]}\n"
    )
    (flat,) = build(memory("A"), network, compute("C"), scope=matmul)
    component = flat.component("N")
    assert isinstance(component, Network)
    assert component.topology == "all_to_all"
    assert component.latency is not None
    assert component.latency({"max_hops": 10, "max_link_traffic": 80}) == 30
    assert component.latency({"max_hops": 1, "max_link_traffic": 80}) == 10


def test_network_needs_the_latency_of_a_hop() -> None:
    network = "  - !Network {name: N, actions: [{name: hop, energy: 2, throughput: 8}]}\n"
    with pytest.raises(SpecError, match="has no latency"):
        build(memory("A"), network, compute("C"))


def test_array_memories_are_spread_over_the_grid(matmul: Scope) -> None:
    (flat,) = build(
        memory("A"),
        nested(
            "Array",
            memory("Row", ", spatial: [{name: X, fanout: 4}]"),
            memory("Shared"),
            more="    name: Grid\n    spatial: [{name: X, fanout: 4}, {name: Y, fanout: 2}]\n",
        ),
        memory("R"),
        compute("C"),
        scope=matmul,
    )
    assert names(flat) == ["A", "Row", "Shared", "Grid", "R", "C"]
    row, grid = flat.component("Row"), flat.component("Grid")
    assert (row.own_fanout, row.physical_fanout, row.parent_fanout) == (1, 4, 1)
    assert isinstance(grid, Container)
    assert {n: flat.instances(n) for n in names(flat)} == {
        "A": 1,
        "Row": 4,
        "Shared": 1,
        "Grid": 8,
        "R": 8,
        "C": 8,
    }


@pytest.mark.parametrize(
    ("spatial", "words"),
    [("{name: X, fanout: 3}", "does not fit the grid"), ("{name: W, fanout: 2}", "dimension W")],
)
def test_array_grid_must_fit(spatial: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        build(
            nested(
                "Array",
                memory("Row", f", spatial: [{spatial}]"),
                more="    name: Grid\n    spatial: [{name: X, fanout: 4}]\n",
            ),
            compute("C"),
        )


def test_array_holds_no_branches() -> None:
    with pytest.raises(SpecError, match="components only"):
        build(
            nested("Array", "  - !Hierarchical {nodes: []}\n", more="    name: G\n"), compute("C")
        )


# ---- without an Einsum


def test_without_an_einsum_what_needs_one_stays_open(small: str, matmul: Scope) -> None:
    text = small.replace("size: 1024", "size: weight.bits_per_value\n    area: len(All)").replace(
        "name: MAC", "name: MAC\n    total_latency: len(All) * compute_actions"
    )
    flat = flatten(load_arch(text))[0]
    buffer = flat.component("BUF")
    assert isinstance(buffer, Memory)
    assert math.isnan(buffer.size)
    assert set(flat.unresolved) >= {"BUF.size", "BUF.area", "MAC.total_latency"}
    with pytest.raises(SpecError, match="the area of BUF depends on the Einsum"):
        _ = flat.total_area
    with pytest.raises(SpecError, match="depends on the Einsum"):
        buffer.tensors.resolve({})
    assert flat.compute.latency is not None
    with pytest.raises(SpecError, match="depends on the Einsum"):
        flat.compute.latency({"compute": 1})
    solid = flatten(load_arch(text), matmul)[0]
    assert (solid.unresolved, solid.total_area) == ((), 3)


def test_kept_names_outside_of_tensors(change: Change, matmul: Scope) -> None:
    text = change("size: 1024", "size: 8 * len(DRAM.tensors) + len(Above)")
    flat = flatten(load_arch(text), matmul, {"DRAM": frozenset("AB")})[0]
    buffer = flat.component("BUF")
    assert isinstance(buffer, Memory)
    assert buffer.size == 18


def test_members_of_an_array_know_its_grid(matmul: Scope) -> None:
    text = """
arch:
  nodes:
  - !Memory {name: DRAM, size: inf, component_class: Dummy, spatial: [{name: s, fanout: 3}]}
  - !Array
    name: GRID
    spatial: [{name: x, fanout: 2 * 2}, {name: y, fanout: 2}]
    nodes:
    - !Memory {name: BUF, size: 8, area: 1, component_class: Dummy, spatial: [{name: x, fanout: 2}]}
  - !Memory {name: REG, size: 8, area: 1, component_class: Dummy}
  - !Compute {name: MAC, component_class: Dummy}
"""
    (flat,) = flatten(load_arch(text), matmul)
    assert flat.grids == {"BUF": "GRID"}
    assert (flat.component("BUF").grid_fanout, flat.component("REG").grid_fanout) == (8, 1)
    assert (flat.area_by_component["BUF"], flat.area_by_component["REG"]) == (6, 24)
    theirs = flat.area_by_component_accelforge  # accelforge 1.0.467 says 24 for both
    assert (theirs["BUF"], theirs["REG"]) == (24, 24)
