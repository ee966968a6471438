"""Flattening: spatial fields, placements, networks and arrays."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from flat_texts import build, compute, memory, names, nested

from tilewright.arch.components.components import Container, Memory, Network, Scope
from tilewright.arch.errors import SpecError
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch

Change = Callable[[str, str], str]


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
