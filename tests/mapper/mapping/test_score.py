"""Scores as values: metrics by name, and plain data that loses nothing."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

from tilewright.mapper.mapping.score import Score, number

SCORE = Score(
    energy=6.0,
    latency=0.5,
    area=2.0,
    leak_power=1.0,
    dynamic_energy=5.5,
    leak_energy=0.5,
    actions={"Z/BUF/A/read": Fraction(1, 3), "Z/BUF/B/read": Fraction(3, 2), "Z/BUF/Z/read": 7},
    energy_by={"Z/BUF/A/read": math.inf},
    capacity={"BUF": Fraction(48), "REG": 8},
)


def test_metrics_by_name() -> None:
    assert (SCORE.edp, SCORE.metric("edp"), SCORE.metric("area")) == (3.0, 3.0, 2.0)
    assert (SCORE.metric("usage.BUF"), SCORE.metric("usage.DRAM")) == (48.0, 0.0)
    with pytest.raises(AttributeError):
        SCORE.metric("speed")


def test_plain_data_keeps_exact_counts_beside_floats() -> None:
    data = SCORE.to_dict()
    assert data["actions"] == {"Z/BUF/A/read": 1 / 3, "Z/BUF/B/read": 1.5, "Z/BUF/Z/read": 7}
    assert data["exact"] == {"Z/BUF/A/read": "1/3"}  # 1.5 is a float, 7 an integer
    assert data["capacity"] == {"BUF": 48, "REG": 8}
    assert data["energy_by"] == {"Z/BUF/A/read": None}  # JSON has no infinity
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_counts_as_numbers() -> None:
    assert [number(count) for count in (5, Fraction(5), Fraction(5, 2))] == [5, 5, 2.5]
    assert type(number(Fraction(5))) is int
