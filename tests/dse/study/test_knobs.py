"""Knobs as people write them."""

from __future__ import annotations

import pytest

from tilewright.dse.study.knobs import knob_labels, knob_text


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("arch.Buffer.size", 2**16, "8 KiB"),
        ("arch.Buffer.actions.read.energy", 6.5e-12, "6.5 pJ"),
        ("arch.DRAM.actions.read.throughput", 3.2e9, "3.2 GHz"),
        ("arch.MAC.leak_power", 1e-6, "1 µW"),
        ("arch.variables.size", 2**16, "65,536"),
        ("machine.clock_hz", 0.85e9, "850 MHz"),
        ("machine.hop_cycles", 2, "2"),
        ("workload.rank_sizes.M", 4096, "4,096"),
        ("mapper.fusion", True, "true"),
        ("mapping.up.reduction", "chain", "chain"),
        ("arch.DRAM.size", "inf", "inf"),
    ],
)
def test_values_have_the_unit_of_their_field(path, value, text):
    assert knob_text(path, value) == text


def test_labels_are_as_short_as_they_can_be():
    paths = ["arch.A.size", "arch.B.size", "arch.variables.Lanes", "mapping.up.x", "mapping.down.x"]
    assert knob_labels(paths) == ["A.size", "B.size", "Lanes", "up.x", "down.x"]
