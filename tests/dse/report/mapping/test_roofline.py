"""The roofline of a mapping: rates that the model's own times give."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from cascades import TWO_PRODUCTS

from tilewright.arch.flattening.arch_facts import arch_facts
from tilewright.arch.spec.load import load_arch
from tilewright.dse.report.mapping.roofline import HEIGHT, WIDTH, roofline
from tilewright.mapper import search
from tilewright.mapper.mapping.score import Score
from tilewright.studies import path_of

ARCH = load_arch(path_of("hardware", "edge_npu"))
FACTS = arch_facts(ARCH)


@pytest.fixture(name="score", scope="module")
def scored() -> Score:
    return search(ARCH, TWO_PRODUCTS).best.score


def test_each_memory_that_takes_time_has_a_roof(score: Score) -> None:
    chart = roofline(score, FACTS)
    assert chart is not None
    assert [roof.name for roof in chart.roofs] == ["DRAM", "GlobalBuffer", "Register"]
    for roof in chart.roofs:
        x1, y1, x2, y2 = roof.line
        assert 0 <= x1 <= x2 <= WIDTH
        assert 0 <= y2 <= y1 <= HEIGHT
        assert roof.point[1] == chart.reached[0]
        assert chart.peak is not None
        assert y2 == pytest.approx(chart.peak[0])  # where it meets the roof of the Computes


def test_a_point_is_as_far_below_its_line_as_the_memory_is_idle(score: Score) -> None:
    chart = roofline(score, FACTS)
    assert chart is not None
    for roof in chart.roofs:
        busy = sum(v for k, v in score.latency_by.items() if k.endswith(f"/{roof.name}"))
        assert f"{busy / score.latency:.0%} of it is reached" in roof.text
        decade = abs(chart.x.length / (chart.x.high - chart.x.low))
        crossing = roof.line[0] + decade * (
            (roof.line[1] - chart.reached[0]) * (chart.y.high - chart.y.low) / -chart.y.length
        )
        decades_right = (roof.point[0] - crossing) / decade
        assert decades_right == pytest.approx(-math.log10(busy / score.latency), abs=0.02)


def test_the_peak_is_what_the_computes_allow(score: Score) -> None:
    chart = roofline(score, FACTS)
    assert chart is not None
    assert chart.peak is not None
    assert chart.peak[0] <= chart.reached[0]  # pixels grow downwards


def test_without_time_there_is_no_roofline(score: Score) -> None:
    assert roofline(replace(score, latency=0.0), FACTS) is None
    assert roofline(replace(score, latency_by={}), FACTS) is None
