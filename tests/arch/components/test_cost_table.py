"""Tables of component costs: YAML, JSON and CSV, and what is refused in them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from flat_texts import OPEN

from tilewright.arch.components.cost_table import load_cost_table
from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import SpecError
from tilewright.arch.flattening.flat import instances_accelforge
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.arch.spec.printing import dump_arch

TABLE = """\
M:
  area: 2
  leak_power: 3
  actions: {read: {energy: 1, throughput: 4}, write: {energy: 5, throughput: 8}}
Mult: {area: 1, leak_power: 0, actions: {compute: {energy: 9, throughput: 16}}}
"""


def test_a_yaml_table_by_name_and_by_class(tmp_path: Path) -> None:
    (tmp_path / "costs.yaml").write_text(TABLE)
    arch = load_arch(OPEN).with_estimators(load_cost_table(tmp_path / "costs.yaml"))
    flat = flatten(arch)[0]
    memory, compute = flat.components
    assert (memory.area, memory.leak_power) == (2, 3)
    assert memory.action("read").energy == 2  # the estimate, times energy_scale
    assert memory.action("write").throughput == 8
    assert (compute.action("compute").energy, compute.action("compute").throughput) == (7, 16)


def test_csv_says_the_same_as_yaml(tmp_path: Path) -> None:
    (tmp_path / "costs.yaml").write_text(TABLE)
    with (tmp_path / "costs.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["component", "action", "area", "leak_power", "energy", "throughput"])
        writer.writerow(["M", "", 2, 3, "", ""])
        writer.writerow(["M", "read", "", "", 1, 4])
        writer.writerow(["M", "write", "", "", 5, 8])
        writer.writerow(["Mult", "", 1, 0, "", ""])
        writer.writerow(["Mult", "compute", "", "", 9, 16])
    tables = [load_cost_table(tmp_path / name) for name in ("costs.yaml", "costs.csv")]
    assert tables[0].rows == tables[1].rows


def test_a_table_named_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "costs.json").write_text(json.dumps({"chip": {"M": {"area": 2.5}}}))
    text = (
        "arch:\n  cost_tables: [{file: costs.json, section: chip}]\n  nodes:\n"
        "  - !Memory {name: M, size: 8, actions: [{name: read, energy: 1, throughput: 1}, "
        "{name: write, energy: 1, throughput: 1}]}\n"
        "  - !Compute {name: C, area: 0, leak_power: 0, actions: "
        "[{name: compute, energy: 1, throughput: 1}]}\n"
    )
    (tmp_path / "arch.yaml").write_text(text)
    arch = load_arch(tmp_path / "arch.yaml")
    assert flatten(arch)[0].component("M").area == 2.5
    assert flatten(load_arch(dump_arch(arch)))[0].component("M").area == 2.5
    (tmp_path / "arch.yaml").write_text(text.replace("costs.json", "cost.json"))
    with pytest.raises(SpecError, match="no such file") as caught:
        load_arch(tmp_path / "arch.yaml")
    assert caught.value.where is not None
    assert caught.value.where.line == 2


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.yaml", "M: {area: -1}", "at least 0"),
        ("a.yaml", "M: {area: x}", "at least 0"),
        ("a.yaml", "M: 3", "must be a mapping"),
        ("a.yaml", "3", "a mapping of components"),
        ("a.json", "{", "not JSON"),
        ("a.csv", "component,energy\nM,1\n", "columns of the cost table are wrong: action"),
        ("a.csv", "component,action,cost\n", "columns of the cost table are wrong: cost"),
    ],
)
def test_bad_tables(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SpecError, match=words) as caught:
        load_cost_table(tmp_path / name)
    assert caught.value.where is not None
    assert caught.value.where.file.endswith(name)


def test_unknown_section(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("eyeriss: {}\n")
    with pytest.raises(SpecError, match="no section eyeris") as caught:
        load_cost_table(tmp_path / "a.yaml", "eyeris")
    assert caught.value.instead == "did you mean eyeriss?"


@pytest.mark.parametrize(
    ("name", "table"),
    [
        *[(n, "hwcomponents_expected.json") for n in ("eyeriss", "simba", "tpu_v4i", "simple")],
        *[(n, "resolved_example_component_costs.json") for n in ("eyeriss", "simba", "tpu_v4i")],
    ],
)
def test_public_designs_get_their_recorded_costs(
    shared_data: Path, matmul: Scope, name: str, table: str
) -> None:
    folder = shared_data / "accelforge"
    recorded = json.loads((folder / table).read_text())[name]
    arch = load_arch(folder / "arches" / f"{name}.yaml")
    arch = arch.with_estimators(load_cost_table(folder / table, name))
    flat = flatten(arch, matmul)[-1]
    for component, costs in recorded.items():
        found = flat.component(component)
        assert found.area == pytest.approx(costs["area"], rel=1e-6)
        assert found.leak_power == pytest.approx(costs["leak_power"], rel=1e-6)
        if "total_area" in costs:
            area = found.area * instances_accelforge(found)
            assert area == pytest.approx(costs["total_area"], rel=1e-6)
        for action, figures in costs["actions"].items():
            assert found.action(action).energy == pytest.approx(figures["energy"], rel=1e-6)
            assert found.action(action).throughput == pytest.approx(
                float(figures["throughput"]), rel=1e-6
            )
