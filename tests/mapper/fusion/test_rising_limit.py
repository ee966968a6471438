"""The steps of a rising limit follow the growth of the work."""

from __future__ import annotations

import pytest

from tilewright.mapper.fusion.bounds.rising_limit import SMALLEST, RisingLimit


def steps(works: list[int]) -> list[float]:
    rising = RisingLimit(0.01)
    seen = [rising.step]
    for work in works:
        rising.advance(work)
        seen.append(rising.step)
    return seen


def test_work_that_doubles_keeps_the_step() -> None:
    assert steps([50, 100, 200, 400]) == [SMALLEST, *[pytest.approx(0.01)] * 4]


def test_the_step_follows_the_growth() -> None:
    assert steps([100, 100, 141])[-1] == pytest.approx(0.01 * 2.017, rel=1e-3)
    assert steps([100, 1000, 100000])[-1] == pytest.approx(0.005)  # steep: half as far
    assert steps([0] * 9)[-1] == float("inf")
