"""Numbers of the machine descriptions beside those of the reference folder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tilewright.mapper.layout.machines.layout_machine import load_machine, machine_names

# What a source must name: a document, a repository, a paper, or a page of this project.
DOCUMENTS = re.compile(
    r"tt-mlir|tt-npe|tt-isa-documentation|tt-low-level|tt-llk|vendor \w+ report|NKI guide|DMA guide"
    r"|CSL language guide|Cerebras SDK|published|arXiv|WSE-\d: \d+ GB|psum_min_align|sbuf_min_align"
    r"|docs/[\w/.-]+"
)


def reference(shared_data: Path, name: str) -> dict[str, Any]:
    text = (shared_data / "layouts" / f"{name}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@pytest.mark.parametrize("name", machine_names())
def test_every_number_names_its_document_or_is_marked_as_assumed(name: str) -> None:
    for field, source in load_machine(name).sources.items():
        assert source.startswith("assumed: ") or DOCUMENTS.search(source), (field, source)


@pytest.mark.row("003.16")
@pytest.mark.parametrize(("name", "key"), [("trainium1", "trn1_inf2"), ("trainium2", "trn2")])
def test_trainium_is_that_of_the_guides(shared_data: Path, name: str, key: str) -> None:
    machine, guide = load_machine(name), reference(shared_data, "nki_perf")["arch"][key]
    rates = machine.rates
    assert rates["bf16_flops"] == guide["tensor_tflops_bf16"] * 1e12
    assert rates["f32_flops"] == guide["tensor_tflops_fp32"] * 1e12
    assert rates["dma_bytes_per_second"] == guide["dma_gbs_per_engine"] * 1e9
    for engine, rate in (("tensor", "clock_hz"), ("vector", "vector_clock_hz")):
        assert rates[rate] == pytest.approx(guide["clocks_ghz"][engine] * 1e9)
    assert rates["scalar_clock_hz"] == pytest.approx(guide["clocks_ghz"]["scalar"] * 1e9)
    sbuf = machine.memories["sbuf"].partitioned()
    assert sbuf is not None
    assert sbuf.bank_bytes == (guide["sbuf_part_kib"] - 16) * 1024  # 16 KiB are reserved
    assert sbuf.partitions * guide["sbuf_part_kib"] == guide["sbuf_mib"] * 1024


def test_costs_of_instructions_are_those_of_the_guide(shared_data: Path) -> None:
    costs = reference(shared_data, "nki_perf")["instruction_cost"]
    rates = load_machine("trainium1").rates
    assert rates["vector_access_cycles"] == costs["sbuf_psum_access_overhead_cycles"]
    assert f"~ 128/4={rates['stationary_load_cycles']:.0f}" in costs["fast_LoadStationary"]


def test_tile_rates_and_grids_are_those_of_the_measured_rows(shared_data: Path) -> None:
    for row in reference(shared_data, "tt_gemm_perf")["rows"]:
        machine = load_machine({"N150": "wormhole", "P150": "blackhole"}[row["card"]])
        assert machine.units[1:] == tuple(row["grid"])
        assert machine.rates["clock_hz"] == pytest.approx(row["clock_ghz"] * 1e9)
        cycles = machine.rates[f"tile_cycles_{row['fidelity'].lower()}"]
        products = row["m"] * row["k"] * row["n"] / 32**3
        assert row["ideal_cycles"] == pytest.approx(products * cycles / machine.unit_count)
