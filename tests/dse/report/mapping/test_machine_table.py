"""The machine as a table of what a mapping makes of it."""

from __future__ import annotations

import pytest
from cascades import TWO_PRODUCTS

from tilewright.arch.flattening.arch_facts import arch_facts
from tilewright.arch.spec.load import load_arch
from tilewright.dse.report.mapping.machine_table import machine_rows
from tilewright.mapper import load_workload, search
from tilewright.studies import path_of


def test_every_component_has_a_row_with_its_shares() -> None:
    arch = load_arch(path_of("hardware", "edge_npu"))
    score = search(arch, TWO_PRODUCTS).best.score
    rows = {row.name: row for row in machine_rows(score, arch_facts(arch))}
    assert list(rows) == ["DRAM", "GlobalBuffer", "PEArray", "Register", "MAC"]
    assert sum(row.energy.share or 0.0 for row in rows.values()) == pytest.approx(1.0)
    register = rows["Register"]
    assert (register.instances, register.size) == ("× 256", "512 B")
    assert register.full.share == pytest.approx(float(score.capacity["Register"]) / 4096)
    assert rows["DRAM"].size == "unlimited"
    assert rows["DRAM"].full.share is None
    assert rows["PEArray"].busy.share is None
    assert [row.busy.share == pytest.approx(1.0) for row in rows.values() if row.limits]


def test_a_size_that_the_workload_decides_says_so() -> None:
    arch = load_arch(path_of("hardware", "tpu_v4i"))
    workload = load_workload(path_of("workloads", "mlp4"))
    score = search(arch, workload, fusion=False).best.score
    rows = {row.name: row.size for row in machine_rows(score, arch_facts(arch))}
    assert rows["Register"] == "depends on the Einsum"
