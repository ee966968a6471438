"""Costs by component, tensor and Einsum add up to the score, and name what limits."""

from __future__ import annotations

import json
from math import isclose

import pytest

from tilewright.mapper.evaluation.breakdown import breakdown, size_of
from tilewright.mapper.mapping.score import Score


@pytest.fixture(name="score")
def scored() -> Score:
    return Score(
        energy=25.0, latency=5.0, area=3.0, leak_power=1.0, dynamic_energy=20.0, leak_energy=5.0,
        actions={
            "Y/BUF/A/read": 6, "Y/DRAM/A/read": 2, "Z/BUF/A/read": 4, "Y/MAC/None/compute": 6,
            "Z/MAC/None/compute": 4,
        },
        energy_by={
            "Y/BUF/A/read": 6.0, "Y/DRAM/A/read": 4.0, "Z/BUF/A/read": 4.0,
            "Y/MAC/None/compute": 3.0, "Z/MAC/None/compute": 3.0, "Y/BUF/leak": 5.0,
        },
        latency_by={"Y/MAC": 3.0, "Y/BUF": 1.0, "Z/BUF": 2.0, "Z/MAC": 2.0},
        latency_of={"Y": 3.0, "Z": 2.0},
        memory_usage={"Y/BUF/A": 0.25, "Y/DRAM/A": 0.0},
        memory_bits={"Y/BUF/A": 16, "Y/DRAM/A": 64},
        capacity={"BUF": 32, "DRAM": 64},
        spatial_usage={"Y/PE/X": 0.5},
        area_by={"DRAM": 0.0, "BUF": 2.0, "MAC": 1.0},
    )  # fmt: skip


def test_all_three_ways_add_up(score):
    costs = breakdown(score)
    assert isclose(sum(each.energy for each in costs.components), score.energy)
    assert isclose(sum(each.energy for each in costs.einsums), score.energy)
    moved = sum(each.energy for each in costs.tensors)
    assert (moved, costs.compute_energy, costs.leak_energy) == (14.0, 6.0, 5.0)


def test_components_stand_as_in_the_architecture(score):
    dram, buffer, mac = breakdown(score).components
    assert [each.component for each in (dram, buffer, mac)] == ["DRAM", "BUF", "MAC"]
    assert (buffer.energy, buffer.leak_energy) == (15.0, 5.0)
    assert buffer.actions == {"read": 10}
    assert (buffer.seconds, buffer.utilization) == (3.0, 0.6)
    assert (buffer.size_bits, buffer.occupancy) == (64.0, 0.5)
    assert (dram.size_bits, dram.occupancy) == (None, None)
    assert (mac.limits, buffer.limits, dram.limits) == (("Y", "Z"), ("Z",), ())
    assert mac.area == 1.0
    assert size_of(score, "nowhere") is None


def test_einsums_name_what_limits_them(score):
    first, second = breakdown(score).einsums
    assert (first.einsum, first.latency, first.limited_by) == ("Y", 3.0, ("MAC",))
    assert first.lanes == {"PE/X": 0.5}
    assert second.limited_by == ("BUF", "MAC")


def test_tensors_know_the_calls_in_each_component(score):
    (tensor,) = breakdown(score).tensors
    assert tensor.actions == {"BUF": {"read": 10}, "DRAM": {"read": 2}}


def test_without_time_nothing_limits(score):
    untimed = Score(
        25.0, 0.0, 3.0, 1.0, 20.0, 5.0, latency_of={"Y": 0.0}, latency_by={"Y/MAC": 0.0}
    )
    costs = breakdown(untimed)
    assert costs.einsums[0].limited_by == ()
    assert [each.utilization for each in costs.components] == [None]


def test_the_document_is_json(score):
    document = json.loads(json.dumps(breakdown(score).to_dict()))
    assert set(document) == {"by_component", "by_tensor", "by_einsum"}
    assert document["by_component"][1]["occupancy"] == 0.5
