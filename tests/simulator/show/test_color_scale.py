"""Color scales: the ends, the share between, ticks that stand apart, short numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.show.color_scale import BETWEEN, ColorScale, bar, short, tick_step


def test_the_scale_begins_at_zero_unless_all_values_are_above_half() -> None:
    assert ColorScale.of(np.array([[1.0, 4.0]])) == ColorScale(0.0, 4.0)
    assert ColorScale.of(np.array([[3.0, 4.0]])) == ColorScale(3.0, 4.0)
    assert ColorScale.of(np.array([[4.0, 4.0]])) == ColorScale(0.0, 4.0)


def test_colors_go_from_light_to_dark() -> None:
    scale = ColorScale(0.0, 10.0)
    assert [scale.share(value) for value in (0, 5, 10)] == [0.0, 0.5, 1.0]
    assert (scale.color(0.0), scale.color(10.0)) == ("#f7fbff", "#08306b")


def test_one_value_has_no_bar() -> None:
    assert bar(ColorScale(2.0, 2.0), 0) == ""
    assert bar(ColorScale(0.0, 2.0), 0).count("<rect") == 24


@pytest.mark.parametrize("pixels", [0.5, 1, 3, 7, 20, 40])
def test_ticks_are_round_and_stand_apart(pixels: float) -> None:
    step = tick_step(pixels)
    assert step * pixels >= BETWEEN
    assert str(step)[0] in "125"
    assert set(str(step)[1:]) <= {"0"}


@pytest.mark.parametrize(
    ("value", "text"), [(7, "7"), (1234567, "1.23M"), (2.5e9, "2.5G"), (0.125, "0.125")]
)
def test_short_numbers(value: float, text: str) -> None:
    assert short(value) == text
