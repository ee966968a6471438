"""Document 001: trees of components, fanouts, fields of components, placement of tensors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.arch.components.components import Memory
from tilewright.arch.errors import SpecError
from tilewright.arch.flattening.cost_log import cost_log
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.workload.workload_loading import load_workload

FILE = Path(__file__).with_name("architecture.yaml")
TWO = """\
workload:
  rank_sizes: {M: 32, K: 16, N: 8}
  bits_per_value: {All: 8}
  einsums:
  - Y[m, n] = A[m, k] * W[k, n]
  - Z[m, n] = Y[m, n]
renames:
  einsums:
  - name: Y
    tensor_accesses:
    - {name: input, source: A}
    - {name: weight, source: W}
    - {name: output, source: Y}
  - name: Z
    tensor_accesses:
    - {name: input, source: Y}
    - {name: weight, source: Nothing}
    - {name: output, source: Z}
"""


def paths(text: str | Path = FILE) -> dict[str, FlatArch]:
    """Return the flattened architecture of each Einsum, as far as its Compute is enabled."""
    workload = load_workload(TWO)
    found = {}
    for einsum in workload.einsums:
        (flat,) = flatten(load_arch(text), workload.scope(einsum))
        found[einsum.name] = flat
    return found


def names(flat: FlatArch) -> list[str]:
    return [component.name for component in flat.components]


@pytest.mark.row("001.01", "001.03", "001.04", "001.14", "001.17", "001.18", "001.20", "001.43")
def test_each_einsum_has_the_path_to_its_compute() -> None:
    flats = paths()
    assert names(flats["Y"]) == ["DRAM", "Shared", "Local", "Lanes", "Weights", "Multiplier"]
    assert names(flats["Z"]) == ["DRAM", "Shared", "Local", "Vector"]
    assert len(flatten(load_arch(FILE))) == 2


@pytest.mark.row("001.02", "001.05", "001.06", "001.07", "001.16", "001.52")
def test_numbers_are_arithmetic_and_may_depend_on_the_einsum() -> None:
    flats = paths()
    sizes = {c.name: c.size for c in flats["Y"].components if isinstance(c, Memory)}
    assert sizes == {"DRAM": float("inf"), "Shared": 2**27, "Local": 2**23, "Weights": 8}
    free = FILE.read_text("utf-8").replace("enabled: len(All) == 3", "enabled: True")
    free = free.replace("enabled: len(All) == 2", "enabled: False")
    assert {c.name: getattr(c, "size", None) for c in paths(free)["Z"].components}["Weights"] == 0


@pytest.mark.row("001.08", "001.09", "001.10")
def test_sets_name_tensors_renames_and_memories() -> None:
    flats = paths()
    held: dict[str, frozenset[str]] = {}
    for component in flats["Y"].components:
        if isinstance(component, Memory):
            held[component.name] = component.tensors.resolve(held).keep
    assert held["DRAM"] == {"A", "W"}
    assert held["Shared"] == {"Y"}
    assert held["Local"] == {"A", "Y"}
    assert held["Weights"] == {"W"}


@pytest.mark.row("001.13", "001.15", "001.23", "001.24", "001.27")
def test_a_fanout_duplicates_all_below() -> None:
    flat = paths()["Y"]
    instances = {name: flat.instances(name) for name in names(flat)}
    assert instances == {
        "DRAM": 1, "Shared": 1, "Local": 4, "Lanes": 512, "Weights": 512, "Multiplier": 512
    }  # fmt: skip
    rows, columns = flat.component("Lanes").spatial
    assert (rows.name, rows.fanout, rows.reuse, rows.min_usage) == ("rows", 16, {"A"}, 1)
    assert (columns.name, columns.fanout, columns.reuse) == ("columns", 8, {"Y"})


FORK = """\
arch:
  nodes:
  - !Memory {name: M, size: inf, area: 0, leak_power: 0, actions: [
      {name: read, energy: 1, latency: 0}, {name: write, energy: 1, latency: 0}]}
  - !Fork
    nodes:
    - !Memory {name: Cache, size: 64, area: 0, leak_power: 0, actions: [
        {name: read, energy: 1, latency: 0}, {name: write, energy: 1, latency: 0}]}
    - !Compute {name: Side, area: 0, leak_power: 0, actions: [
        {name: compute, energy: 1, latency: 1}]}
  - !Memory {name: Main, size: 64, area: 0, leak_power: 0, actions: [
      {name: read, energy: 1, latency: 0}, {name: write, energy: 1, latency: 0}]}
  - !Compute {name: C, area: 0, leak_power: 0, actions: [{name: compute, energy: 1, latency: 1}]}
"""


@pytest.mark.row("001.21", "001.22")
def test_a_fork_ends_with_its_list() -> None:
    flats = sorted(names(flat) for flat in flatten(load_arch(FORK)))
    assert flats == [["M", "Cache", "Side"], ["M", "Main", "C"]]


DESIGN = """\
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    area: 0
    leak_power: 0
    actions: [{{name: read, energy: 10, latency: 0}}, {{name: write, energy: 10, latency: 0}}]
  {above}
  - !Memory
    name: BUF
    size: 4096
    area: 3
    leak_power: 0.5
    {buffer}
    actions: [{{name: read, energy: 2, latency: 4}}, {{name: write, energy: 2, latency: 8}}]
  - !Compute
    name: MAC
    area: 1
    leak_power: 0.25
    spatial: [{{name: X, fanout: 8{fanout}}}]
    actions: [{{name: compute, energy: 1, latency: 1}}]
"""
MATMUL = """\
workload:
  rank_sizes: {M: 4, K: 4, N: 2}
  bits_per_value: {All: 1}
  einsums: ["Z[m, n] = A[m, k] * B[k, n]"]
"""
NODES = [
    "!Storage {tensors: [A, B, Z], component: DRAM}",
    "!Storage {tensors: [A], component: BUF}",
    "!Spatial {rank_variable: m, tile_shape: 1, name: X, component: MAC}",
    "!Temporal {rank_variable: n, tile_shape: 1}",
    "!Temporal {rank_variable: k, tile_shape: 1}",
    "!Compute {einsum: Z, component: MAC}",
]


def score(
    *, above: str = "", buffer: str = "", fanout: str = "", nodes: list[str] | None = None
) -> Score:
    """Score a mapping that holds A in BUF and spreads m over four of the eight lanes."""
    text = DESIGN.format(above=above, buffer=buffer, fanout=fanout)
    lines = "".join(f"  - {node}\n" for node in nodes or NODES)
    return evaluate(text, MATMUL, f"mapping:\n  nodes:\n{lines}")


A_READS = 4 * 4 * 2
"""Each of the 32 multiplications reads its value of A from BUF."""


@pytest.mark.row("001.11", "001.37", "001.49", "001.50", "001.51")
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("read_latency", 4 * A_READS),
        ("max(read_latency, write_latency)", max(4 * A_READS, 8 * 16)),
        ("min(read_latency, write_latency)", min(4 * A_READS, 8 * 16)),
        ("sum(read_latency, write_latency)", 4 * A_READS + 8 * 16),
        ("1e-9 * (read_actions + write_actions)", 1e-9 * (A_READS + 16)),
        ("action2latency['read'] + size + area", 4 * A_READS + 4096 + 3),
    ],
)
def test_rules_of_the_total_latency(rule: str, expected: float) -> None:
    found = score(buffer=f'total_latency: "{rule}"').latency_by["Z/BUF"]
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.row("001.12")
def test_an_action_of_latency_zero_limits_nothing() -> None:
    assert score().latency_by["Z/DRAM"] == 0


@pytest.mark.row("001.25", "001.29")
def test_what_lanes_may_share() -> None:
    """B has no m: four lanes over m read it once, or four times if they may not share it."""
    shared = score(fanout=", may_reuse: All").actions["Z/DRAM/B/read"]
    alone = score(fanout=", may_reuse: Nothing").actions["Z/DRAM/B/read"]
    assert (shared, alone) == (8, 32)


@pytest.mark.row("001.32")
def test_lanes_that_are_not_used_leak_unless_they_are_gated() -> None:
    plain, gated = score(), score(fanout=", power_gateable: True")
    saved = plain.leak_energy - gated.leak_energy
    assert saved == pytest.approx(4 * 0.25 * plain.latency, rel=1e-12)


@pytest.mark.row("001.34")
def test_usage_is_scaled() -> None:
    assert score().spatial_usage["Z/MAC/X"] == 0.5
    assert score(fanout=", usage_scale: 2").spatial_usage["Z/MAC/X"] == 1


TOLL = """- !Toll
    name: LINK
    area: 0
    leak_power: 0
    {direction}
    actions: [{{name: read, energy: 5, latency: 0}}]"""
TOLLED = [NODES[0], "!Toll {tensors: [A, B, Z], component: LINK}", *NODES[1:]]


@pytest.mark.row("001.35", "001.36", "001.53")
def test_a_toll_charges_each_passage_as_a_read_in_its_direction() -> None:
    counts = {}
    for direction in ("up_and_down", "up", "down"):
        found = score(above=TOLL.format(direction=f"direction: {direction}"), nodes=TOLLED).actions
        assert {found.get(f"Z/LINK/{t}/write", 0) for t in "ABZ"} == {0}
        counts[direction] = {t: found.get(f"Z/LINK/{t}/read", 0) for t in "AZ"}
        assert found["Z/DRAM/A/read"] == 16
    assert counts["up_and_down"]["A"] == counts["down"]["A"] == 16
    assert counts["up"]["A"] == 0
    assert counts["up"]["Z"] > 0


@pytest.mark.row("001.38", "001.46", "001.47")
def test_scales_of_area_leakage_and_parallel_instances() -> None:
    plain = score()
    scaled = score(buffer="area_scale: 2\n    leak_power_scale: 3\n    n_parallel_instances: 4")
    assert scaled.area_by["BUF"] == plain.area_by["BUF"] * 8 == 24
    assert scaled.leak_power_by["BUF"] == plain.leak_power_by["BUF"] * 12 == 6
    assert scaled.latency_by["Z/BUF"] == plain.latency_by["Z/BUF"] / 4
    rule = "total_latency: read_latency"
    fixed = score(buffer=f"{rule}\n    n_parallel_instances: 4")
    assert fixed.latency_by["Z/BUF"] * 4 == score(buffer=rule).latency_by["Z/BUF"]


@pytest.mark.row("001.39", "001.40", "001.44")
def test_bits_and_scales_of_actions() -> None:
    plain = score()
    wide = score(buffer="bits_per_action: 4")
    assert wide.actions["Z/BUF/A/read"] * 4 == plain.actions["Z/BUF/A/read"]
    fat = score(buffer="bits_per_value_scale: {A: 2}")
    assert fat.memory_bits["Z/BUF/A"] == 2 * plain.memory_bits["Z/BUF/A"]
    dear = score(buffer="energy_scale: 3\n    latency_scale: 2")
    assert dear.energy_by["Z/BUF/A/read"] == pytest.approx(
        3 * plain.energy_by["Z/BUF/A/read"], rel=1e-12
    )
    assert dear.latency_by["Z/BUF"] == 2 * plain.latency_by["Z/BUF"]


@pytest.mark.row("001.48")
@pytest.mark.parametrize("field", ["total_area", "total_leak_power"])
def test_totals_are_computed_and_not_given(field: str) -> None:
    with pytest.raises(SpecError, match="is computed") as caught:
        score(buffer=f"{field}: 3")
    assert "leave it out" in str(caught.value)


@pytest.mark.row("001.42")
def test_the_log_names_the_source_of_every_cost() -> None:
    text = DESIGN.format(above="", buffer="component_class: Dummy", fanout="")
    text = text.replace("    area: 3\n", "").replace("{name: read, energy: 2", "{name: read", 1)
    found = {(s.component, s.quantity): s for s in cost_log(load_arch(text))}
    assert str(found["BUF", "leak_power"]) == "BUF: leak_power 0.5 (written)"
    assert (found["BUF", "area"].source, found["BUF", "area"].value) == ("Dummy", 0)
    assert found["BUF", "energy of read"].source == "Dummy"
    assert found["BUF", "energy of write"].source == "written"
    assert {s.source for s in found.values() if s.component == "MAC"} == {"written"}
    where = found["MAC", "area"].where
    assert where is not None
    assert where.line is not None


@pytest.mark.row("001.30")
@pytest.mark.parametrize("share", ["2", "1.01"])
def test_a_share_of_instances_is_at_most_one(share: str) -> None:
    with pytest.raises(SpecError, match="min_usage is a share"):
        score(fanout=f", min_usage: {share}")
    assert score(fanout=", min_usage: 0.5").energy > 0
