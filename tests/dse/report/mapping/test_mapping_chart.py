"""The chart of a front: pixels and ticks."""

from __future__ import annotations

import math

import pytest

from tilewright.dse.report.mapping.mapping_chart import HEIGHT, WIDTH, ChartAxis, front_chart


@pytest.mark.parametrize("factor", [1.5, 1e4])
def test_chart_keeps_order_and_ticks_inside(factor: float) -> None:
    points = [(1e-6, 2e-3 * factor), (1e-6 * math.sqrt(factor), 3e-3), (1e-6 * factor, 2e-3)]
    chart = front_chart(points, "energy", "latency")
    pixels = [(x, y) for x, y, _ in chart.points]
    assert pixels == sorted(pixels)  # energy grows to the right, latency falls downwards
    assert all(0 < x < WIDTH and 0 < y < HEIGHT for x, y in pixels)
    for axis, end in ((chart.x, WIDTH), (chart.y, HEIGHT)):
        ticks = [pixel for pixel, _ in axis.ticks()]
        assert len(ticks) >= 2
        assert all(0 < pixel < end for pixel in ticks)
        assert axis.logarithmic == (factor > 20)


def test_ticks_of_a_linear_and_of_a_logarithmic_axis() -> None:
    linear = ChartAxis("energy", 0.0, 6.0, logarithmic=False, start=100.0, length=60.0)
    assert linear.ticks() == [(100.0 + 10 * n, f"{n} J") for n in range(7)]
    decades = ChartAxis("latency", -6.0, -3.0, logarithmic=True, start=90.0, length=-30.0)
    assert decades.ticks() == [(90.0, "1 µs"), (80.0, "10 µs"), (70.0, "100 µs"), (60.0, "1 ms")]
    assert decades.title == "latency (logarithmic)"
    narrow = ChartAxis("latency", -6.0, -5.5, logarithmic=True, start=0.0, length=1.0)
    assert [text for _, text in narrow.ticks()] == ["1 µs", "2 µs"]  # 1, 2, 5 in each decade
    bits = ChartAxis("usage.Buffer", -100.0, 8 * 1024 * 5.5, False, 0.0, 1.0)
    assert [text for _, text in bits.ticks()] == [f"{n} KiB" if n else "0 B" for n in range(6)]
    assert ChartAxis("usage.Buffer", 0.0, 1.0, False, 0.0, 1.0).shown(64.0) == "8 B"


def test_one_point_has_a_margin_and_the_line_goes_to_the_right() -> None:
    chart = front_chart([(4.0, 1.0), (2.0, 3.0)], "energy", "cycles")
    assert (chart.x.low, chart.x.high) == pytest.approx((1.88, 4.12))
    first, second = chart.line.split(" ")
    assert float(first.split(",")[0]) < float(second.split(",")[0])
    assert chart.points[0][2] == "energy 4 J, cycles 1 cycle"
    single = front_chart([(2.0, 0.0)], "energy", "cycles")
    assert (single.x.low, single.x.high) == pytest.approx((1.88, 2.12))
    assert (single.y.low, single.y.high) == (-1.0, 1.0)
