"""The tables of a breakdown in words."""

from __future__ import annotations

from dataclasses import replace

from tilewright.mapper.evaluation.breakdown import breakdown
from tilewright.mapper.evaluation.breakdown_tables import BreakdownTable, cost_tables
from tilewright.mapper.mapping.score import Score

SCORE = Score(
    energy=10e-9, latency=4e-6, area=0.0, leak_power=0.0, dynamic_energy=9e-9, leak_energy=1e-9,
    actions={
        "Z/DRAM/A/read": 12_345, "Z/DRAM/Z/write": 8, "Z/DRAM/Z/read": 0, "Z/BUF/A/write": 7,
        "Z/MAC/None/compute": 8_000_000,
    },
    energy_by={
        "Z/DRAM/A/read": 5e-9, "Z/DRAM/Z/write": 1e-9, "Z/BUF/A/write": 1e-9,
        "Z/MAC/None/compute": 2e-9, "Z/DRAM/leak": 1e-9,
    },
    latency_by={"Z/DRAM": 4e-6, "Z/MAC": 1e-9},
    latency_of={"Z": 4e-6},
    memory_usage={"Z/BUF/A": 0.5}, memory_bits={"Z/BUF/A": 32}, capacity={"BUF": 32},
    area_by={"DRAM": 0.0, "BUF": 0.0, "MAC": 0.0},
)  # fmt: skip


def test_components_with_time_share_and_limit():
    component, tensor = cost_tables(breakdown(SCORE), SCORE)
    assert component.rows[0][:7] == ("DRAM", "7 nJ", "70 %", "1 nJ", "4 µs", "100 %", "yes")
    assert component.text()[0] == "By component"
    assert component.text()[2].split() == [
        "DRAM",
        "7",
        "nJ",
        "70",
        "%",
        "1",
        "nJ",
        "4",
        "µs",
        "100",
        "%",
        "yes",
        "12.35",
        "k",
        "8",
    ]
    assert component.rows[2][5] == "< 0.1 %"
    assert component.rows[1][-2:] == ("4 B", "50 %")
    assert component.rows[2][-3] == "8 M"
    assert tensor.title == "By tensor"


def test_columns_of_tensors_name_each_component_once():
    tensor = cost_tables(breakdown(SCORE), SCORE)[1]
    assert tensor.head == ("tensor", "energy", "share", "DRAM reads", "writes", "BUF writes")
    assert tensor.rows[0] == ("A", "6 nJ", "60 %", "12.35 k", "", "7")
    assert tensor.rows[-2:] == (
        ("(compute)", "2 nJ", "20 %", "", "", ""),
        ("(leakage)", "1 nJ", "10 %", "", "", ""),
    )


def test_einsums_are_shown_where_there_are_several_or_lanes_idle():
    assert len(cost_tables(breakdown(SCORE), SCORE)) == 2
    idle = replace(SCORE, spatial_usage={"Z/PE/X": 0.25, "Z/PE/Y": 1.0})
    einsum = cost_tables(breakdown(idle), idle)[2]
    assert einsum.rows == (("Z", "10 nJ", "100 %", "4 µs", "100 %", "DRAM", "PE.X 25 %"),)


def test_long_tables_are_cut_with_a_count():
    table = BreakdownTable("T", ("a",), "<", tuple((str(i),) for i in range(9)))
    assert table.text(5)[-2:] == ["  4", "  … 4 more with --json"]
    assert len(table.text(8)) == 11  # one row more than asked for is shown, not counted
