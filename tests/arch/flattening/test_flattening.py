"""Paths to each Compute: forks, hierarchies, arrays, disabled components."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flat_texts import build, compute, memory, names, nested

from tilewright.arch.components.components import Container
from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import SpecError
from tilewright.arch.flattening import flattening
from tilewright.arch.flattening.flat import instances_accelforge
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch


@pytest.mark.row("001.22")
@pytest.mark.row("001.18")
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


@pytest.mark.row("001.43")
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


@pytest.mark.parametrize("value", [".inf", ".nan", "-.inf", "inf", "1 - inf"])
def test_enabled_is_no_infinity(value: str, matmul: Scope) -> None:
    with pytest.raises(SpecError, match=r"enabled (must|is not)"):
        build(memory("A", f", enabled: {value}"), compute("M"), scope=matmul)


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
    # accelforge 1.0.467 counts 24 for both
    assert [instances_accelforge(flat.component(name)) for name in ("BUF", "REG")] == [24, 24]


def test_answers_of_all_einsums_of_the_present_architecture_are_kept(
    matmul: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flattening, "_MOST_LATEST", 4)
    monkeypatch.setattr(flattening, "_MOST_OF_ONE", 12)
    monkeypatch.setattr(flattening, "_LATEST", type(flattening._LATEST)())
    former, arch = (load_arch("arch:\n  nodes:\n" + memory("A") + compute("M")) for _ in range(2))
    scopes = [replace(matmul, einsum=f"Z{number}") for number in range(20)]
    flatten(former, scopes[0])
    first = [flatten(arch, scope) for scope in scopes[:10]]
    again = [flatten(arch, scope) for scope in scopes[:10]]
    assert all(new is old for new, old in zip(again, first, strict=True))
    for scope in scopes:
        flatten(arch, scope)
    assert len(flattening._LATEST) == 12
    flatten(former, scopes[0])
    assert len(flattening._LATEST) == 4
