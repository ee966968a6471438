"""Numbers with units and prefixes."""

from __future__ import annotations

import pytest

from tilewright.arch.quantities import bits_text, label, quantity, shortened, told_apart, with_unit


@pytest.mark.parametrize(
    ("value", "metric", "text"),
    [
        (3.42e-6, "energy", "3.42 µJ"),
        (1e-3, "latency", "1 ms"),
        (0.999e-3, "latency", "999 µs"),
        (5.5e-4, "area", "550 mm²"),
        (48 * 1024 * 8, "sram_bits", "48 KiB"),
        (100, "sram_bits", "12.5 B"),
        (1234567, "cycles", "1,234,567 cycles"),
        (0, "energy", "0 J"),
        (0, "usage.Buffer", "0 B"),
        (0, "area", "0 mm²"),
        (1, "cycles", "1 cycle"),
        (0.4567, "utilization", "0.457"),
        (2e-25, "edp", "2e-25 J·s"),
        (0.5, "bert.latency / base.bert.latency", "0.5"),
    ],
)
def test_quantity(value, metric, text):
    assert quantity(value, metric) == text


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        ("edp", "energy-delay product"),
        ("operations_per_second", "operations per second"),
        ("edge_conv.leak_power", "edge_conv leakage power"),
        ("bound.cycles", "bound cycles"),
        ("usage.Local_Buffer", "usage.Local_Buffer"),
        ("edge_conv.usage.Buffer", "edge_conv.usage.Buffer"),
        (
            "edge_conv.latency / base.edge_conv.latency",
            "edge_conv.latency / base.edge_conv.latency",
        ),
    ],
)
def test_label(metric, text):
    assert label(metric) == text


def test_bits_are_exact_and_large_ones_also_in_bytes():
    assert bits_text(12) == "12 bits"
    assert bits_text(524288) == "524,288 bits (64 KiB)"
    assert bits_text(1605632.5) == "1,605,632.5 bits (196 KiB)"
    assert bits_text(float("inf")) == "inf bits"


def test_counts_are_shortened():
    assert [shortened(n) for n in (0, 7, 9120, 12_345, 8_388_608, 3.5e12)] == [
        "0", "7", "9,120", "12.35 k", "8.389 M", "3.5 T",
    ]  # fmt: skip


def test_values_that_differ_look_different():
    assert told_apart([1.93791e-4, 1.93799e-4], "energy") == ["193.79 µJ", "193.80 µJ"]
    assert told_apart([1.0, 2.0, 2.0], "energy") == ["1 J", "2 J", "2 J"]
    assert told_apart([8.0, 8.0 * 1024], "usage.Buffer") == ["1 B", "1 KiB"]
    assert told_apart([1.0, 1.0 + 1e-12], "energy") == ["1 J", "1 J"]  # nine digits are the most
    rounded = told_apart([1.024e-6, 1.024e-6 * (1 + 2e-16), 1.152e-6], "latency")
    assert rounded == ["1.02 µs", "1.02 µs", "1.15 µs"]


def test_more_digits_when_asked_for():
    assert with_unit(0.000590153, "J", 6) == "590.153 µJ"
    assert with_unit(0.1005, "s", 6) == "100.5 ms"
    assert with_unit(7440.0, "J", 6) == "7.44 kJ"
    assert with_unit(92.0, "s", 6, padded=True) == "92.0000 s"
    assert with_unit(12345.0, "cycles", 6) == "12,345 cycles"
