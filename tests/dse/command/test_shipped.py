"""The files that ship with Tilewright: found by name, listed, valid, and mappable."""

import importlib.util
import math
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from tilewright.arch.components.components import Component
from tilewright.arch.errors import SpecError
from tilewright.arch.files.several import load_documents
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.dse.command.shipped import find_file, find_files, studies_folder
from tilewright.mapper.searches.api import search
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

ROOT = Path(__file__).resolve().parents[3]
HARDWARE = sorted(path.stem for path in (studies_folder() / "hardware").glob("*.yaml"))
WORKLOADS = sorted(path.stem for path in (studies_folder() / "workloads").glob("*.yaml"))
WITHOUT_TIME = {  # components whose files say, or whose machine has it, that they take no time
    "tpu_v4i": {"LocalBuffer", "Register"},
    "wafer_grid": {"Host", "Fabric", "SRAM", "Scalar", "Engine"},
}
WHOLE_NETWORKS = {"mobilenet_v2": 64, "resnet18": 31, "resnet50": 72}
# Multiply-accumulates of the convolutions and projections as the papers count them, in billions.
PUBLISHED_MACS = {"mobilenet_v2": 0.300, "resnet18": 1.8, "resnet50": 4.1}


def gallery() -> ModuleType:
    """Return benchmarks/gallery.py as a module."""
    found = importlib.util.spec_from_file_location("gallery", ROOT / "benchmarks" / "gallery.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules["gallery"] = module
    found.loader.exec_module(module)
    return module


@cache
def arch_of(name: str) -> Arch:
    return load_arch(load_documents(find_files((name,), "hardware")))


@cache
def workload_of(name: str, stage: int | None = None) -> Workload:
    variables = {} if stage is None else {"STAGE": stage}
    files = find_files((name,), "workloads")
    return load_workload(load_documents(files, variables=variables))


def components_of(name: str) -> dict[str, Component]:
    scope = workload_of("mlp4").scope("H2")
    return {part.name: part for flat in flatten(arch_of(name), scope) for part in flat.components}


@pytest.mark.parametrize("name", HARDWARE)
def test_numbers_of_an_architecture_are_finite(name: str) -> None:
    parts = components_of(name)
    assert len(parts) >= 4
    for part in parts.values():
        assert math.isfinite(part.area)
        assert math.isfinite(part.leak_power)
        for action in part.actions:
            assert math.isfinite(action.energy)
            if part.name not in WITHOUT_TIME.get(name, set()):
                assert 0 < action.throughput < math.inf, (part.name, action.name)


@pytest.mark.parametrize("name", HARDWARE)
def test_an_architecture_accepts_every_einsum_of_every_workload(name: str) -> None:
    for workload in WORKLOADS:
        if workload in WHOLE_NETWORKS:
            continue
        loaded = workload_of(workload)
        for einsum in loaded.einsums:
            assert flatten(arch_of(name), loaded.scope(einsum.name)), (workload, einsum.name)


@pytest.mark.parametrize(("name", "einsums"), WHOLE_NETWORKS.items())
def test_a_whole_network_has_the_operations_of_its_paper(name: str, einsums: int) -> None:
    workload = workload_of(name)
    assert len(workload.einsums) == einsums
    operations = sum(
        einsum.operations
        for einsum in workload.einsums
        if any(access.tensor.startswith("W") for access in einsum.inputs)
    )
    assert operations == pytest.approx(PUBLISHED_MACS[name] * 1e9, rel=0.03)


def test_stages_of_a_block_have_the_sizes_of_the_table() -> None:
    module = gallery()
    for name, stages in module.STAGES.items():
        sizes = [str([e.bounds for e in workload_of(name, stage).einsums]) for stage in stages]
        assert len(set(sizes)) == len(sizes)
    assert workload_of("resnet50_bottleneck", 5).einsum("Expand").bounds["n"] == 2048
    assert workload_of("mobilenet_v2_block", 7).einsum("Project").bounds["k"] == 320


def test_the_page_lists_what_ships() -> None:
    text = (ROOT / "docs" / "shipped.md").read_text(encoding="utf-8")
    hardware, workloads = text.split("## Workloads")
    assert re.findall(r"^\| `(\w+)`", hardware, re.MULTILINE) == HARDWARE
    assert sorted(re.findall(r"^\| `(\w+)`", workloads, re.MULTILINE)) == WORKLOADS


def test_comments_of_the_gallery_name_their_sources() -> None:
    for path in (studies_folder() / "hardware").glob("*_like.yaml"):
        assert "# Sources." in path.read_text(encoding="utf-8"), path.name


def test_a_pair_has_a_mapping() -> None:
    workload = workload_of("resnet50_bottleneck", 5)
    found = search(arch_of("nvdla_like"), workload, objective="energy", fusion=False)
    # 218 million multiply-accumulates, on 2048 multipliers at 1 GHz
    operations = 7 * 7 * (2 * 2048 * 512 + 9 * 512 * 512)
    assert found.best.score.latency >= operations / 2048e9


def test_a_name_without_a_file_names_close_ones(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="eyeriss_like"):
        find_file("eyeris_like", "hardware", tmp_path)


def test_a_name_whose_file_lies_here_is_told_the_ending(tmp_path: Path) -> None:
    (tmp_path / "chip.yaml").write_text("arch: {}")
    with pytest.raises(SpecError) as caught:
        find_file("chip", "hardware", tmp_path)
    assert caught.value.instead == "chip.yaml, which is a file here"


def test_a_gallery_page_shows_answers_misses_and_what_was_not_run() -> None:
    module = gallery()
    cost = {
        "limit": 60.0,
        "seconds": 1.5,
        "cpu_seconds": 1.2,
        "megabytes": 140.0,
        "day": "2026-11-23",
    }
    first, second, third = module.pairs()[:3]
    rows = {
        first.name: module.Row(
            **cost, energy=2e-3, latency=0.0, edp=0.0, kind="bound", gap=0.031, on_chip=1
        ),
        second.name: module.Row(**cost, miss="no mapping of Z fits"),
    }
    text = module.page(rows, module.pairs(), 60.0)
    table = text.split(f"## {first.architecture}\n")[1].split("\n## ")[0]
    shown = {line.split(" | ")[0]: line for line in table.splitlines()}
    assert "best found, gap 3.1 %" in shown[f"| {first.title}"]
    assert "not modelled" in shown[f"| {first.title}"]
    assert "missed: no mapping of Z fits" in shown[f"| {second.title}"]
    assert "not run yet" in shown[f"| {third.title}"]
    assert "with an answer: 1;\nproven: 0; within 5 %: 1; missed: 1." in text


def test_gallery_pairs_are_all_of_them() -> None:
    module = gallery()
    every = module.pairs()
    assert len({pair.name for pair in every}) == len(every)
    assert {pair.architecture for pair in every} == set(HARDWARE)
    assert {pair.workload for pair in every} == set(WORKLOADS) - set(module.PROJECTIONS)
