"""The model against 94 small designs with the numbers of AccelForge 1.0.467, and its examples.

The reference prints float32, so 1e-6 relative is the tightest comparison it allows; counts here are
exact. Under conventions="accelforge" the suspect designs agree too: each is a named difference.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tilewright.arch.errors import TilewrightError
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.mapping_file import dump_mapping, load_mapping
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.workload.workload_loading import load_workload

VECTORS = json.loads((Path(__file__).parent / "data" / "model_vectors.json").read_text())["vectors"]
GOOD = [vector for vector in VECTORS if "expected" in vector]
REFUSED = [vector for vector in VECTORS if "error" in vector]
BY_ID = {vector["id"]: vector for vector in VECTORS}


def score_of(vector: dict[str, Any], conventions: str) -> Score:
    return evaluate(
        load_arch(vector["arch"]),
        load_workload(vector["workload"]),
        load_mapping(vector["mapping"]),
        conventions,
    )


def close(one: object, other: float) -> bool:
    return math.isclose(float(str(one)), other, rel_tol=1e-6, abs_tol=1e-30)


@pytest.mark.parametrize("vector", GOOD, ids=lambda v: v["id"])
def test_agrees_in_everything_listed(vector: dict[str, Any]) -> None:
    score = score_of(vector, "accelforge")
    expected = vector["expected"]
    whole = expected["area_leak"]
    pairs: list[tuple[dict[str, float], Any]] = [
        (expected["actions"], {key: float(count) for key, count in score.actions.items()}),
        (expected["energy"], score.energy_by),
        (expected["latency"], score.latency_by),
        (expected["memory_usage"], score.memory_usage),
        (expected["memory_bits"], {key: float(bits) for key, bits in score.memory_bits.items()}),
        (expected["spatial_usage"], score.spatial_usage),
        (whole["per_component_area"], score.area_by),
        (whole["per_component_leak_power"], score.leak_power_by),
    ]
    unbounded = {name for name, size in expected["memory_size_bits"].items() if size == "inf"}
    for listed, ours in pairs:  # the reference leaves out what sits in a memory without bounds
        assert {
            key for key in ours.keys() ^ listed.keys() if key.split("/")[1] not in unbounded
        } == (set())
        assert listed.keys() <= ours.keys()
        assert [key for key in listed if not close(ours[key], listed[key])] == []
    totals = expected["totals"]
    for value, listed_value in (
        (score.energy, totals["energy"]),
        (score.latency, totals["latency"]),
        (score.edp, totals["energy_delay_product"]),
        (score.leak_energy, totals["leak_energy"]),
        (score.dynamic_energy, totals["dynamic_energy"]),
        (score.area, whole["total_area"]),
        (score.leak_power, whole["total_leak_power"]),
    ):
        assert close(value, listed_value)


RANDOM = json.loads((Path(__file__).parent / "data" / "random_vectors.json").read_text())["vectors"]


@pytest.mark.parametrize("vector", RANDOM, ids=lambda v: v["id"])
def test_random_designs_that_once_differed_agree(vector: dict[str, Any]) -> None:
    score = score_of(vector, "accelforge")
    expected = vector["expected"]
    counts = {key: float(count) for key, count in score.actions.items()}
    for listed, ours in (
        (expected["actions"], counts),
        (expected["energy"], score.energy_by),
        (expected["latency"], score.latency_by),
        (expected["memory_usage"], score.memory_usage),
        (expected["spatial_usage"], score.spatial_usage),
    ):
        assert {key for key in ours.keys() - listed.keys() if ours[key]} == set()
        assert [key for key in listed if not close(ours[key], listed[key])] == []
    assert expected["actions"].keys() == counts.keys()
    assert expected["latency"].keys() == score.latency_by.keys()
    assert close(score.energy, expected["totals"]["energy"])
    assert close(score.latency, expected["totals"]["latency"])


@pytest.mark.parametrize("vector", GOOD, ids=lambda v: v["id"])
def test_peak_of_live_tiles_agrees(vector: dict[str, Any]) -> None:
    expected = vector["expected"]
    score = score_of(vector, "accelforge")
    for key, part in expected["reservations"].items():
        memory = key.split("/")[0]
        size = expected["memory_size_bits"][memory]
        if size != "inf":
            assert close(float(score.capacity.get(memory, 0)) / float(size), part), memory


@pytest.mark.parametrize("conventions", ["default", "accelforge"])
@pytest.mark.parametrize(
    ("name", "peak"), [("cas_fused_untiled", 0.01248), ("cas_fused_mn", 0.00432)]
)
def test_a_tile_counts_in_the_width_of_the_einsum_that_runs(
    name: str, peak: float, conventions: str
) -> None:
    """Y is an output of 24 bits, then an input of 4; peaks as AccelForge 1.0.467 prints them."""
    vector = dict(BY_ID[name])
    widths = "    name: BUF\n    bits_per_value: {input: 4, output: 24}\n"
    vector["arch"] = vector["arch"].replace("    name: BUF\n", widths)
    score = score_of(vector, conventions)
    lowered = {"cas_fused_untiled": 72, "cas_fused_mn": 24}[name] if conventions == "default" else 0
    assert close(float(score.capacity["BUF"]), peak * 100_000 - lowered)  # conventions.md §4: A


REASONS = {
    "matvec_dot": "has no rank",
    "bad_over_capacity": r"the tiles in BUF need (584|440) bits, but its size is 100 bits",
    "bad_missing_loop": "has to reach tile_shape 1",
    "bad_fanout_exceeded": "uses 8 instances of dimension y of PE, but its fanout is 4",
}


@pytest.mark.parametrize("conventions", ["default", "accelforge"])
@pytest.mark.parametrize("vector", REFUSED, ids=lambda v: v["id"])
def test_what_must_be_refused_is_refused(vector: dict[str, Any], conventions: str) -> None:
    if vector["id"] == "matvec_dot" and conventions == "default":
        assert score_of(vector, conventions).energy > 0  # a scalar output; accelforge refuses it
        return
    with pytest.raises(TilewrightError, match=REASONS[vector["id"]]):
        score_of(vector, conventions)


UNSUSPECTED = [vector for vector in GOOD if "suspect" not in vector]


@pytest.mark.parametrize("vector", UNSUSPECTED, ids=lambda v: v["id"])
def test_default_conventions_move_the_same_data_where_nothing_is_suspect(
    vector: dict[str, Any],
) -> None:
    default, theirs = score_of(vector, "default"), score_of(vector, "accelforge")
    if "uneven" not in vector["tags"]:
        assert default.actions == theirs.actions
        waits = {key: wait for key, wait in default.latency_by.items() if "/NOC" not in key}
        assert waits == {key: theirs.latency_by[key] for key in waits}  # links: conventions §10
    for key, bits in default.memory_bits.items():
        assert bits <= theirs.memory_bits[key]


def test_mapping_files_of_the_vectors_survive_a_round_trip() -> None:
    for vector in VECTORS:
        mapping = load_mapping(vector["mapping"])
        assert load_mapping(dump_mapping(mapping)) == mapping


TEMPLATE = {"N_EINSUMS": 2, "M": 64, "KN": 64}
EXAMPLES = {  # energy by hand: model.md §3.1 (its worked check: 64^3 at 8 bits)
    "unfused_matmuls_to_simple.yaml": "matmuls",
    "fused_matmuls_to_simple.yaml": "matmuls",
    "unfused_matvecs_to_simple.yaml": "matvecs",
    "fused_matvecs_to_simple_untiled.yaml": "matvecs",
    "fused_matvecs_to_simple_tiled.yaml": "matvecs",
    "fused_matvecs_to_simple_tiled_reuse_A.yaml": "matvecs",
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_mappings_evaluate(shared_data: Path, name: str) -> None:
    folder = shared_data / "accelforge"
    arch = load_arch(folder / "arches" / "simple.yaml")
    workload = load_workload(
        folder / "workloads" / "basic" / f"{EXAMPLES[name]}.yaml", variables=TEMPLATE
    )
    mapping = load_mapping(folder / "mappings" / name, variables=TEMPLATE)
    for conventions in ("default", "accelforge"):
        score = evaluate(arch, workload, mapping, conventions)
        assert score.latency == workload.operations  # one MAC, one operation per second


def test_worked_check_of_the_reference(shared_data: Path) -> None:
    """64^3 at 8 bits without reuse (model.md §3.1)."""
    folder = shared_data / "accelforge"
    score = evaluate(
        load_arch(folder / "arches" / "simple.yaml"),
        load_workload(folder / "workloads" / "basic" / "matmuls.yaml", variables=TEMPLATE),
        load_mapping(folder / "mappings" / "unfused_matmuls_to_simple.yaml", variables=TEMPLATE),
    )
    assert score.actions["Matmul0/GlobalBuffer/T0/read"] == 64**3 * 8
    assert score.actions["Matmul0/GlobalBuffer/T1/write"] == 64**3 * 8
    drained = 64 * 64 * 8
    assert score.actions["Matmul0/GlobalBuffer/T1/read"] == (64**3 - 64**2) * 8 + drained
