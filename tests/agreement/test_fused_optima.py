"""Fused optima: reference cases, the figures of fusion.md §8, and properties of the search."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fused_cases import chain, two_memories, workload_of

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.mapping.mapping import Mapping, Sequential, Storage
from tilewright.mapper.mapping.mapping_file import dump_mapping, load_mapping
from tilewright.mapper.model.evaluation import score_mapping
from tilewright.mapper.searches.api import search
from tilewright.mapper.workload.workload_loading import load_workload

METRICS = {"ENERGY": "energy", "LATENCY": "latency", "ENERGY_DELAY_PRODUCT": "edp"}


def reference_cases(shared_data: Path) -> list[dict[str, Any]]:
    text = (shared_data / "vectors/optimal_vectors.json").read_text()
    return [case for case in json.loads(text)["vectors"] if case["id"].startswith("cas2")]


def simple(shared_data: Path, outer: int, size: int | str) -> Arch:
    path = shared_data / "accelforge/arches/simple.yaml"
    return load_arch(path, variables={"MainMemoryEnergy": outer, "GlobalBufferSize": size})


def test_reference_cascades(shared_data: Path) -> None:
    checked = 0
    for case in reference_cases(shared_data):
        arch, workload = load_arch(case["arch"]), load_workload(case["workload"])
        for metric in case["metric"].split("|"):
            objective = METRICS[metric]
            result = fused_search(arch, workload, objective=objective, conventions="accelforge")
            listed = float(case["expected"][f"best_{objective}"])
            assert result.certificate.value == pytest.approx(listed, rel=1e-6), case["id"]
            assert result.on_chip == ("Y",)
            checked += 1
    assert checked >= 6


def test_three_matmuls_on_tpu_v4i(shared_data: Path) -> None:
    arch = load_arch(shared_data / "accelforge/arches/tpu_v4i.yaml")
    workload = load_workload(
        shared_data / "accelforge/workloads/basic/three_matmuls_annotated.yaml"
    )
    result = fused_search(arch, workload, conventions="accelforge")
    assert result.certificate.value == pytest.approx(1.0558373985e-5, rel=1e-7)  # their float32
    assert result.on_chip == ("T1", "T2")


def test_three_matmuls_on_simple(shared_data: Path) -> None:
    path = shared_data / "accelforge/workloads/basic/matmuls.yaml"
    workload = load_workload(path, variables={"N_EINSUMS": 3, "M": 128, "KN": 128})
    result = fused_search(simple(shared_data, 1, "inf"), workload, conventions="accelforge")
    assert result.certificate.value == 207224832


@pytest.mark.parametrize(
    ("sizes", "bits", "energy"),
    [
        ((8, 12, 2, 16, 8), 800, 688992),
        pytest.param((2, 8, 4, 4, 6), 300, 323616, marks=pytest.mark.nightly),
    ],
)
def test_reservations_at_every_depth(
    shared_data: Path, sizes: tuple[int, ...], bits: int, energy: float
) -> None:
    """fusion.md §5: with one number for all depths these come out 0.94 % and 6 % worse."""
    arch = simple(shared_data, 100, bits)
    result = fused_search(arch, chain(12, sizes), conventions="accelforge")
    assert result.certificate.value == energy


@pytest.mark.parametrize(
    ("rows", "sizes", "energy"),
    [
        pytest.param(1024, (1024, 1024, 1024, 1024), 1.5113922806e-3, marks=pytest.mark.nightly),
        pytest.param(1024, (2048, 4096, 1024, 2048), 7.3856156959e-3, marks=pytest.mark.nightly),
        (2048, (512, 2048, 1024, 4096), 6.7870885151e-3),
        (1024, (2048, 4096, 1024), 6.346653041e-3),
    ],
)
def test_chains_on_a_small_tpu(
    shared_data: Path, rows: int, sizes: tuple[int, ...], energy: float
) -> None:
    """fusion.md §8: tpu_v4i with 2 MiB and 64 KiB; the capacity binds."""
    text = (shared_data / "accelforge/arches/tpu_v4i.yaml").read_text()
    text = text.replace("1024*1024*128*8", "1024*1024*2*8").replace("1024*1024*4*8", "1024*64*8")
    result = fused_search(load_arch(text), chain(rows, sizes), conventions="accelforge")
    assert result.certificate.value == pytest.approx(energy, rel=1e-9)


@pytest.mark.nightly
def test_decoder_layer_of_gpt3_on_tpu_v4i(shared_data: Path) -> None:
    """Ten Einsums, one of them a copy, two kinds of compute; a token at a time."""
    folder = shared_data / "accelforge"
    variables = {"BATCH_SIZE": 1, "DECODE": True, "N_NEW_TOKENS": 1, "N_CACHED_TOKENS": 2047}
    workload = load_workload(
        folder / "workloads/transformers/gpt/gpt3_6.7B.yaml", variables=variables
    )
    arch = load_arch(folder / "arches/tpu_v4i.yaml")
    result = fused_search(arch, workload, conventions="accelforge")
    unfused = search(arch, workload, conventions="accelforge", fusion=False)
    assert result.certificate.kind == "optimal"
    assert result.certificate.value < unfused.certificate.value
    assert "unexchanged tensors of copies I below shared loops" in result.certificate.scope
    assert result.certificate.value == pytest.approx(0.024589064, rel=1e-7)  # AccelForge 1.0.467


@pytest.mark.nightly
def test_prefill_of_gpt3_at_real_size(shared_data: Path) -> None:
    """fusion.md §8. V, K and Q hold their input above shared loops: it takes room three
    times as AccelForge counts, and once by default (docs/conventions.md §11)."""
    folder = shared_data / "accelforge"
    variables = {"BATCH_SIZE": 1, "DECODE": False, "N_NEW_TOKENS": 2048}
    workload = load_workload(
        folder / "workloads/transformers/gpt/gpt3_6.7B.yaml", variables=variables
    )
    copies = frozenset(e.name for e in workload.einsums if e.is_copy)
    kept = tuple(e for e in workload.einsums if e.name not in copies)
    arch = simple(shared_data, 100, 256 * 1024 * 1024)
    found = {
        conventions: fused_search(arch, replace(workload, einsums=kept), conventions=conventions)
        for conventions in ("accelforge", "default")
    }
    assert all(result.certificate.kind == "optimal" for result in found.values())
    assert found["accelforge"].certificate.value == 29590714056704
    assert found["default"].certificate.value < 29590714056704


@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
def test_answer_can_be_written_and_read(objective: str) -> None:
    arch, workload = two_memories(300), chain(4, (4, 2, 4))
    result = fused_search(arch, workload, objective=objective)
    again = load_mapping(dump_mapping(result.best.mapping))
    score = score_mapping(arch, workload, again)
    assert (score.energy, score.latency) == (result.best.score.energy, result.best.score.latency)


def test_a_larger_buffer_never_hurts() -> None:
    workload = chain(6, (4, 6, 4))
    values = [
        fused_search(two_memories(size), workload).certificate.value for size in (24, 64, "inf")
    ]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[-1]


def test_scaled_energies_scale_the_optimum() -> None:
    workload = chain(6, (4, 6, 4))
    once = fused_search(two_memories(100, 50, 2), workload).certificate.value
    macs = workload.operations
    twice = fused_search(two_memories(100, 100, 4), workload).certificate.value
    assert twice - macs == pytest.approx(2 * (once - macs), rel=1e-12)


def test_never_worse_than_unfused() -> None:
    """What cannot share loops is searched in the same space: nothing stays on chip here."""
    texts = ("Y[m, n] = A[m, k] * B[k, n]", "Z[p] = D[p, q] * E[q]")
    sizes = {"m": 4, "n": 4, "k": 4, "p": 4, "q": 4}
    arch = two_memories(20)
    both = fused_search(arch, workload_of(texts, sizes, 2))
    alone = [fused_search(arch, workload_of((text,), sizes_of(text, sizes), 2)) for text in texts]
    assert both.on_chip == ()
    assert both.certificate.value == sum(one.certificate.value for one in alone)


def sizes_of(text: str, sizes: dict[str, int]) -> dict[str, int]:
    return {name: size for name, size in sizes.items() if name in text.lower()}


def test_equal_einsums_are_solved_once() -> None:
    result = fused_search(two_memories(2000), chain(8, (8,) * 9))
    assert result.statistics.solved == 3  # the first, the last, and one between


def test_shared_loops_stand_above_one_sequential() -> None:
    """A buffer too small for the whole intermediate makes the two Einsums share a loop."""
    result = fused_search(two_memories(72), chain(8, (2, 8, 2)))
    assert result.on_chip == ("T1",)
    storage = Storage(("T1",), "BUF")
    nodes = result.best.mapping.nodes
    assert storage in nodes
    assert isinstance(nodes[-1], Sequential)
    assert depth_of(result.best.mapping, storage) > 0


def depth_of(mapping: Mapping, storage: Storage) -> int:
    above = mapping.nodes[: mapping.nodes.index(storage)]
    return sum(not isinstance(node, Storage) for node in above)


LANES = """
arch:
  nodes:
  - !Memory
    name: DRAM
    size: 1000000
    leak_power: 0
    area: 0
    tensors: {keep: "~Intermediates", may_keep: All}
    actions: [{name: read, energy: 100, throughput: 64}, {name: write, energy: 110, throughput: 32}]
  - !Memory
    name: BUF
    size: SIZE
    leak_power: 0
    area: 0
    tensors: {keep: "~DRAM", may_keep: All}
    actions: [{name: read, energy: 5, throughput: 256}, {name: write, energy: 6, throughput: 128}]
  - !Container
    name: PE
    spatial: [{name: x, RULES}]
  - !Compute
    name: MAC
    leak_power: 0
    area: 0
    actions: [{name: compute, energy: 0.5, throughput: 1}]
"""


@pytest.mark.parametrize(
    ("size", "rules", "energy"),
    [
        (1024, "fanout: 7, min_usage: 1", 321536),
        (400, "fanout: 7, min_usage: 1, reuse: input", 557568),
        (400, "fanout: 6, min_usage: 0.9", 431104),
    ],
)
def test_min_usage_out_of_reach_in_a_workload(size: int, rules: str, energy: int) -> None:
    """Two matmuls of 8; the optima of AccelForge 1.0.467: the most lanes that can be had."""
    texts = ("Y[m, n] = A[m, k] * B[k, n]", "Z[m, p] = Y[m, n] * C[n, p]")
    workload = workload_of(texts, dict.fromkeys("mknp", 8), 8)
    arch = load_arch(LANES.replace("SIZE", str(size)).replace("RULES", rules))
    result = fused_search(arch, workload, conventions="accelforge")
    assert result.certificate.kind == "optimal"
    assert result.certificate.value == energy
